-- The names that showed a release until this one superseded it.  Parameter: $detail, what their events say of it.
SELECT DISTINCT r.relation_name
FROM ppdm.release_event AS e
JOIN ppdm.release AS r ON r.release_id = e.release_id
WHERE e.event = 'superseded' AND e.detail = $detail AND NOT EXISTS (
    SELECT 1
    FROM ppdm.release_event AS x
    WHERE x.release_id = e.release_id AND x.event IN ('dropped', 'replaced')
)
ORDER BY r.relation_name
