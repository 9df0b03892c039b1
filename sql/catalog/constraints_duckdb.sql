-- The constraints of a table that a row can violate, as the catalog writes them.
-- Parameters: $schema (NULL: the current schema), $relation.
SELECT constraint_text
FROM duckdb_constraints()
WHERE database_name = CURRENT_DATABASE()
    AND LOWER(schema_name) = LOWER(COALESCE($schema, CURRENT_SCHEMA()))
    AND LOWER(table_name) = LOWER($relation)
    AND constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY', 'CHECK')
ORDER BY constraint_index
