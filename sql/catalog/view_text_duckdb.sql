-- The text of a view.  Parameters: $schema (NULL: temporary views, then the current schema), $relation.
SELECT sql
FROM duckdb_views()
WHERE LOWER(view_name) = LOWER($relation)
    AND (LOWER(schema_name) = LOWER($schema)
        OR ($schema IS NULL AND (temporary OR schema_name = CURRENT_SCHEMA())))
    AND database_name IN (CURRENT_DATABASE(), 'temp') AND NOT internal
ORDER BY temporary DESC
LIMIT 1
