-- The tables that a plan scans, schema first, as the ledger names them.
-- Parameter: $tables (as a plan writes them: database, schema and name with dots between).
SELECT schema_name || '.' || table_name AS ppdm_name
FROM duckdb_tables()
WHERE LIST_CONTAINS($tables, database_name || '.' || schema_name || '.' || table_name)
