-- The relations of a schema, or those of some names, with their kind and the schema they stand in
-- (NULL: the session's temporary schema).  The first row of a name is the one a query would find.
-- Materialized views and foreign tables hold rows of their own or of another server: 'table'.
-- A catalog whose first table this role may not read is not there for it.
-- Parameters: $schema (NULL: temporary relations, then the schemas of $path in order),
-- $names (NULL: all), $path (the schemas of the user's search path).
SELECT CAST(r.relname AS TEXT) AS ppdm_name,
       CASE WHEN r.relkind = 'v' THEN 'view' ELSE 'table' END AS ppdm_kind,
       CASE WHEN n.oid <> PG_MY_TEMP_SCHEMA() THEN CAST(n.nspname AS TEXT) END AS ppdm_schema,
       r.oid AS ppdm_oid
FROM pg_catalog.pg_class AS r
JOIN pg_catalog.pg_namespace AS n ON n.oid = r.relnamespace
WHERE r.relkind IN ('r', 'p', 'f', 'm', 'v')
    AND (n.nspname <> 'ppdm' OR HAS_SCHEMA_PRIVILEGE(n.oid, 'USAGE'))
    AND (n.nspname <> 'ppdm' OR r.relname <> 'migration' OR HAS_TABLE_PRIVILEGE(r.oid, 'SELECT'))
    AND (CAST($names AS TEXT[]) IS NULL OR r.relname = ANY(CAST($names AS TEXT[])))
    AND (n.nspname = CAST($schema AS TEXT)
        OR (CAST($schema AS TEXT) IS NULL
            AND (n.oid = PG_MY_TEMP_SCHEMA() OR n.nspname = ANY(CAST($path AS TEXT[])))))
ORDER BY n.oid = PG_MY_TEMP_SCHEMA() DESC,
         ARRAY_POSITION(CAST($path AS TEXT[]), CAST(n.nspname AS TEXT)),
         r.relname
