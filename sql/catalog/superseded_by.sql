-- The names of the releases that a release superseded.  Parameter: $detail, what their events say of it.
SELECT DISTINCT r.relation_name
FROM ppdm.release_event AS e
JOIN ppdm.release AS r ON r.release_id = e.release_id
WHERE e.event = 'superseded' AND e.detail = $detail
ORDER BY r.relation_name
