-- The relations of a schema, or the one relation of a name, with their kind.
-- Parameters: $schema (NULL: temporary relations, then the current schema), $relation (NULL: all).
SELECT ppdm_name, ppdm_kind
FROM (
    SELECT schema_name AS ppdm_schema, table_name AS ppdm_name, 'table' AS ppdm_kind, temporary AS ppdm_temporary
    FROM duckdb_tables()
    WHERE database_name IN (CURRENT_DATABASE(), 'temp')
    UNION ALL
    SELECT schema_name, view_name, 'view', temporary
    FROM duckdb_views()
    WHERE database_name IN (CURRENT_DATABASE(), 'temp') AND NOT internal
) AS ppdm_relation
WHERE ($relation IS NULL OR LOWER(ppdm_name) = LOWER($relation))
    AND (LOWER(ppdm_schema) = LOWER($schema)
        OR ($schema IS NULL AND (ppdm_temporary OR ppdm_schema = CURRENT_SCHEMA())))
ORDER BY ppdm_temporary DESC, ppdm_name
