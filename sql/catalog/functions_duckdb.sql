-- DuckDB's own functions, operators, macros and types.
-- The names are full, there is no call and no operator: whatever somebody defined, this statement says the truth.
SELECT function_name AS ppdm_name, 'function' AS ppdm_kind
FROM system.main.duckdb_functions()
WHERE internal
UNION ALL
SELECT type_name, 'type'
FROM system.main.duckdb_types()
WHERE internal
