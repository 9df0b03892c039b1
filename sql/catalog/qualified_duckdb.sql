-- Schema and name of a relation as they are stored.
-- Parameters: $schema (NULL: temporary relations, then the current schema), $relation.
SELECT schema_name, table_name
FROM duckdb_tables()
WHERE LOWER(table_name) = LOWER($relation)
    AND (LOWER(schema_name) = LOWER($schema)
        OR ($schema IS NULL AND (temporary OR schema_name = CURRENT_SCHEMA())))
    AND database_name IN (CURRENT_DATABASE(), 'temp')
ORDER BY temporary DESC
LIMIT 1
