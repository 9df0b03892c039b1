-- Evaluations, newest first: all with this fingerprint, or all of a release by its name.
-- Stand-in: naming (catalog/naming.sql).  Parameters: $fingerprint, $relation (NULL: not asked), $schema (NULL: the
-- current one).
SELECT e.evaluation_id, e.fingerprint, e.schema_name, e.relation_name, e.policy_text, e.methods, e.grid, e.protocol,
    e.learner, e.seed, e.points, e.rows, e.version, e.started_at
FROM ppdm.evaluation AS e
CROSS JOIN naming AS n
WHERE (CAST($fingerprint AS TEXT) IS NULL OR e.fingerprint = CAST($fingerprint AS TEXT))
    AND (
        CAST($relation AS TEXT) IS NULL
        OR (
            TRANSLATE(e.relation_name, n.capitals, n.smalls)
                = TRANSLATE(CAST($relation AS TEXT), n.capitals, n.smalls)
            AND TRANSLATE(e.schema_name, n.capitals, n.smalls)
                = TRANSLATE(COALESCE(CAST($schema AS TEXT), CURRENT_SCHEMA()), n.capitals, n.smalls)
        )
    )
ORDER BY e.seq DESC, e.started_at DESC, e.evaluation_id
