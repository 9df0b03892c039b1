-- A table or view of an attached database, with the file or place that the database is kept in.
-- Parameters: $database, $schema (NULL: where the database looks first), $relation.
SELECT ppdm_database.database_name AS ppdm_name, ppdm_database.path AS ppdm_path, ppdm_database.type AS ppdm_type,
    ppdm_relation.ppdm_schema, ppdm_relation.ppdm_table, ppdm_relation.ppdm_kind
FROM duckdb_databases() AS ppdm_database
JOIN (
    SELECT database_name, schema_name AS ppdm_schema, table_name AS ppdm_table, 'table' AS ppdm_kind
    FROM duckdb_tables()
    UNION ALL
    SELECT database_name, schema_name, view_name, 'view'
    FROM duckdb_views()
    WHERE NOT internal
) AS ppdm_relation USING (database_name)
WHERE NOT ppdm_database.internal
    AND database_name <> CURRENT_DATABASE()
    AND LOWER(database_name) = LOWER($database)
    AND LOWER(ppdm_relation.ppdm_schema)
        = LOWER(COALESCE($schema, CASE ppdm_database.type WHEN 'postgres' THEN 'public' ELSE 'main' END))
    AND LOWER(ppdm_relation.ppdm_table) = LOWER($relation)
