-- The values of some settings of the session; NULL where this version of PostgreSQL does not have one.
-- Parameter: $names.
SELECT n.ppdm_name, pg_catalog.current_setting(n.ppdm_name, TRUE) AS ppdm_value
FROM UNNEST(CAST($names AS TEXT[])) AS n(ppdm_name)
