-- The relations of all open databases, and which of them are temporary.
-- The names are full, there is no call and no operator: whatever somebody defined, this statement says the truth.
SELECT table_name AS ppdm_name, temporary AS ppdm_temporary
FROM system.main.duckdb_tables()
UNION ALL
SELECT view_name, temporary
FROM system.main.duckdb_views()
WHERE NOT internal
