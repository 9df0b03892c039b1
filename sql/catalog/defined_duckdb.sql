-- The functions, types and relations that somebody defined in the open databases, which relations are temporary, the
-- text of views, and (kind 'here') the schema in which a relation without a schema is looked for.
-- The names are full, there is no operator: whatever somebody defined, this statement says the truth.
SELECT database_name AS ppdm_database, schema_name AS ppdm_schema, function_name AS ppdm_name,
    'function' AS ppdm_kind, FALSE AS ppdm_temporary, NULL AS ppdm_text
FROM system.main.duckdb_functions()
WHERE NOT internal
UNION ALL
SELECT database_name, schema_name, type_name, 'type', FALSE, NULL
FROM system.main.duckdb_types()
WHERE NOT internal
UNION ALL
SELECT database_name, schema_name, table_name, 'table', temporary, NULL
FROM system.main.duckdb_tables()
UNION ALL
SELECT database_name, schema_name, view_name, 'view', temporary, sql
FROM system.main.duckdb_views()
WHERE NOT internal
UNION ALL
SELECT system.main.current_database(), system.main.current_schema(), '', 'here', FALSE, NULL
