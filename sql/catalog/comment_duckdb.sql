-- The comment on a relation.
-- Parameters: $schema (NULL: temporary relations, then the current schema), $relation.
SELECT ppdm_comment
FROM (
    SELECT schema_name AS ppdm_schema, table_name AS ppdm_name, comment AS ppdm_comment, temporary AS ppdm_temporary
    FROM duckdb_tables()
    WHERE database_name IN (CURRENT_DATABASE(), 'temp')
    UNION ALL
    SELECT schema_name, view_name, comment, temporary
    FROM duckdb_views()
    WHERE database_name IN (CURRENT_DATABASE(), 'temp') AND NOT internal
) AS ppdm_relation
WHERE LOWER(ppdm_name) = LOWER($relation)
    AND (LOWER(ppdm_schema) = LOWER($schema)
        OR ($schema IS NULL AND (ppdm_temporary OR ppdm_schema = CURRENT_SCHEMA())))
ORDER BY ppdm_temporary DESC
LIMIT 1
