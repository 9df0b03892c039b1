-- Functions that PostgreSQL calls volatile: each call may give another value.
SELECT DISTINCT CAST(proname AS TEXT) AS ppdm_name
FROM pg_catalog.pg_proc
WHERE provolatile = 'v' AND prokind = 'f'
