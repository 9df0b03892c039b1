-- What a database file holds that somebody made: kind, schema and name.
-- Parameter: $database, the name it is attached as.
SELECT 'table' AS ppdm_kind, schema_name AS ppdm_schema, table_name AS ppdm_name
FROM system.main.duckdb_tables()
WHERE database_name = $database
UNION ALL
SELECT 'view', schema_name, view_name
FROM system.main.duckdb_views()
WHERE database_name = $database AND NOT internal
UNION ALL
SELECT 'macro', schema_name, function_name
FROM system.main.duckdb_functions()
WHERE database_name = $database AND NOT internal
UNION ALL
SELECT 'type', schema_name, type_name
FROM system.main.duckdb_types()
WHERE database_name = $database AND NOT internal
UNION ALL
SELECT 'sequence', schema_name, sequence_name
FROM system.main.duckdb_sequences()
WHERE database_name = $database
UNION ALL
SELECT 'schema', schema_name, schema_name
FROM system.main.duckdb_schemas()
WHERE database_name = $database AND NOT internal
