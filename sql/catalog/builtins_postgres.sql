-- What somebody put among PostgreSQL's own functions, operators and casts, so that a statement could find it in their
-- place.  Objects below 16384 were made with the cluster: their first 1,000 transactions are initdb's.
-- A function or operator in any other schema is not found: the session's search path does not name it.
SELECT CAST(f.proname AS TEXT) AS ppdm_name
FROM pg_catalog.pg_proc AS f
JOIN pg_catalog.pg_namespace AS n ON n.oid = f.pronamespace
JOIN pg_catalog.pg_language AS l ON l.oid = f.prolang
WHERE n.nspname = 'pg_catalog'
    AND (f.oid >= 16384
            AND EXISTS (SELECT 1 FROM pg_catalog.pg_proc AS b
                        WHERE b.proname = f.proname AND b.pronamespace = f.pronamespace AND b.oid < 16384)
        OR f.oid < 16384 AND l.lanname NOT IN ('internal', 'c', 'sql')
        OR f.oid < 16384 AND l.lanname = 'sql' AND CAST(CAST(f.xmin AS TEXT) AS BIGINT) >= 1000)
UNION
SELECT CAST(o.oprname AS TEXT)
FROM pg_catalog.pg_operator AS o
JOIN pg_catalog.pg_namespace AS n ON n.oid = o.oprnamespace
WHERE n.nspname = 'pg_catalog' AND o.oid >= 16384
UNION
SELECT CONCAT('CAST (', FORMAT_TYPE(c.castsource, NULL), ' AS ', FORMAT_TYPE(c.casttarget, NULL), ')')
FROM pg_catalog.pg_cast AS c
WHERE c.oid >= 16384 AND c.castsource < 16384 AND c.casttarget < 16384
ORDER BY 1
