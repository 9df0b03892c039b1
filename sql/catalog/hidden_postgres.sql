-- Whether there is a catalog of which this role may not read the first table.
SELECT 1 AS ppdm_hidden
FROM pg_catalog.pg_class AS r
JOIN pg_catalog.pg_namespace AS n ON n.oid = r.relnamespace
WHERE n.nspname = 'ppdm' AND r.relname = 'migration'
    AND NOT (HAS_SCHEMA_PRIVILEGE(n.oid, 'USAGE') AND HAS_TABLE_PRIVILEGE(r.oid, 'SELECT'))
