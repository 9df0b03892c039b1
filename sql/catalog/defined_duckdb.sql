-- The functions, types and relations that somebody defined in the open databases; which relations are temporary.
-- The names are full, there is no call and no operator: whatever somebody defined, this statement says the truth.
SELECT function_name AS ppdm_name, 'function' AS ppdm_kind, FALSE AS ppdm_temporary
FROM system.main.duckdb_functions()
WHERE NOT internal
UNION ALL
SELECT type_name, 'type', FALSE
FROM system.main.duckdb_types()
WHERE NOT internal
UNION ALL
SELECT table_name, 'relation', temporary
FROM system.main.duckdb_tables()
UNION ALL
SELECT view_name, 'relation', temporary
FROM system.main.duckdb_views()
WHERE NOT internal
