-- The functions, operators, macros and types of all open databases, and whether DuckDB itself made them.
-- The names are full, there is no call and no operator: whatever somebody defined, this statement says the truth.
SELECT function_name AS ppdm_name, internal AS ppdm_internal, 'function' AS ppdm_kind
FROM system.main.duckdb_functions()
UNION ALL
SELECT type_name, internal, 'type'
FROM system.main.duckdb_types()
