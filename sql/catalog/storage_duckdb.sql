-- The least DuckDB that can read the database that is open; NULL for one in memory.
SELECT CAST(MAX(tags['storage_version']) AS TEXT) AS ppdm_version
FROM duckdb_databases()
WHERE database_name = current_database()
