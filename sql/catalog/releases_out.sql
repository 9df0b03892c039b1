-- The releases that somebody may still hold, and which of them are live under a name.
-- Stand-in: naming (catalog/naming.sql).  Parameters: $schema (NULL: the current one), $relation (NULL: no name).
SELECT r.release_id, s.state, s.seq,
    s.state = 'live' AND CAST($relation AS TEXT) IS NOT NULL
        AND TRANSLATE(r.relation_name, n.capitals, n.smalls) = TRANSLATE(CAST($relation AS TEXT), n.capitals, n.smalls)
        AND TRANSLATE(r.schema_name, n.capitals, n.smalls)
            = TRANSLATE(COALESCE(CAST($schema AS TEXT), CURRENT_SCHEMA()), n.capitals, n.smalls) AS is_named
FROM ppdm.release AS r
JOIN ppdm.release_state AS s ON s.release_id = r.release_id
CROSS JOIN naming AS n
WHERE s.is_out
