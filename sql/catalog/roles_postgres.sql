-- Those of the named roles that exist.
-- Parameter: $names.
SELECT CAST(r.rolname AS TEXT) AS ppdm_role
FROM pg_catalog.pg_roles AS r
WHERE r.rolname = ANY(CAST($names AS TEXT[]))
