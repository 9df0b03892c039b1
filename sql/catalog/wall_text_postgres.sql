-- What the function in front of a relation does and how: no row where there is none.
-- Parameter: $relation (the relation's oid).
SELECT CONCAT_WS(' ', l.lanname, CAST(f.prosecdef AS TEXT), CAST(f.proleakproof AS TEXT), CAST(f.provolatile AS TEXT),
                 CAST(f.proconfig AS TEXT), f.prosrc) AS ppdm_text
FROM pg_catalog.pg_class AS r
JOIN pg_catalog.pg_proc AS f ON f.pronamespace = r.relnamespace AND f.proname = r.relname AND f.pronargs = 0
JOIN pg_catalog.pg_language AS l ON l.oid = f.prolang
WHERE r.oid = $relation
