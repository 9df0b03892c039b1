-- The tables whose row-level security applies to this role.
-- Parameter: $names (with their schemas).
SELECT CAST(n.nspname AS TEXT) || '.' || CAST(r.relname AS TEXT) AS ppdm_table
FROM pg_catalog.pg_class AS r
JOIN pg_catalog.pg_namespace AS n ON n.oid = r.relnamespace
WHERE CAST(n.nspname AS TEXT) || '.' || CAST(r.relname AS TEXT) = ANY(CAST($names AS TEXT[]))
    AND ROW_SECURITY_ACTIVE(r.oid)
ORDER BY ppdm_table
