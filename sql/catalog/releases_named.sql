-- The releases of a name; with $live only those that are out under it.
-- Stand-in: naming (catalog/naming.sql).  Parameters: $schema (NULL: the current one), $relation, $live.
SELECT r.release_id, s.state, s.seq, TRUE AS is_named
FROM ppdm.release AS r
JOIN ppdm.release_state AS s ON s.release_id = r.release_id
CROSS JOIN naming AS n
WHERE TRANSLATE(r.relation_name, n.capitals, n.smalls) = TRANSLATE(CAST($relation AS TEXT), n.capitals, n.smalls)
    AND TRANSLATE(r.schema_name, n.capitals, n.smalls)
        = TRANSLATE(COALESCE(CAST($schema AS TEXT), CURRENT_SCHEMA()), n.capitals, n.smalls)
    AND (s.state = 'live' OR NOT CAST($live AS BOOLEAN))
