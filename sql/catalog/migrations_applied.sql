-- The migrations this database has seen.
SELECT number, name, sha256, applied_at, version
FROM ppdm.migration
ORDER BY number
