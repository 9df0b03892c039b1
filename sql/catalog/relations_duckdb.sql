-- Relations with their kind, the schema they stand in, whether a query finds them without it, and the text of views.
-- The rows of a name come in the order in which a query looks for it: a temporary relation, then the current schema.
-- Parameters: $schema (NULL: temporary relations and the current schema; with $names: every schema),
-- $names (NULL: all; in small letters).
SELECT ppdm_name, ppdm_kind, ppdm_schema, ppdm_temporary OR ppdm_schema = CURRENT_SCHEMA() AS ppdm_found, ppdm_text
FROM (
    SELECT schema_name AS ppdm_schema, table_name AS ppdm_name, 'table' AS ppdm_kind, temporary AS ppdm_temporary,
        NULL AS ppdm_text
    FROM duckdb_tables()
    WHERE database_name IN (CURRENT_DATABASE(), 'temp')
    UNION ALL
    SELECT schema_name, view_name, 'view', temporary, sql
    FROM duckdb_views()
    WHERE database_name IN (CURRENT_DATABASE(), 'temp') AND NOT internal
) AS ppdm_relation
WHERE ($names IS NULL OR LOWER(ppdm_name) = ANY($names))
    AND (LOWER(ppdm_schema) = LOWER($schema)
        OR ($schema IS NULL AND ($names IS NOT NULL OR ppdm_temporary OR ppdm_schema = CURRENT_SCHEMA())))
ORDER BY ppdm_temporary DESC, ppdm_name
