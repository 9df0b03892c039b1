-- What somebody added to PostgreSQL's own functions, aggregates, operators, casts and types, or changed among them, so
-- that a statement could find it in their place.
-- Objects below 16384 were made with the cluster, those below 10000 have the same number in every cluster.  A row of
-- such an object is changed when a transaction behind those of initdb wrote it.  The newest text search dictionary and
-- the newest view of initdb say where these end: the lesser of both, because an administrator may have replaced one.
-- GRANT and REVOKE write the row of a function, too.  A function of language internal with privileges of its own is
-- therefore accepted: PostgreSQL calls what was compiled for its number, whatever the row says.  That does not hold for
-- functions that PostgreSQL itself has in language sql, which are listed, nor for one with a planner's support function.
-- A function or operator in any other schema is not found: the session's search path does not name it.
WITH ppdm_initdb AS (
    SELECT LEAST(
        (SELECT MAX(CAST(CAST(d.xmin AS TEXT) AS BIGINT)) FROM pg_catalog.pg_ts_dict AS d WHERE d.oid < 16384),
        (SELECT MAX(CAST(CAST(r.xmin AS TEXT) AS BIGINT)) FROM pg_catalog.pg_rewrite AS r WHERE r.oid < 16384)
    ) AS ppdm_last
)
SELECT CAST(f.proname AS TEXT) AS ppdm_name
FROM pg_catalog.pg_proc AS f
JOIN pg_catalog.pg_namespace AS n ON n.oid = f.pronamespace
JOIN pg_catalog.pg_language AS l ON l.oid = f.prolang
CROSS JOIN ppdm_initdb AS i
WHERE f.oid >= 16384 AND n.nspname = 'pg_catalog'
        AND EXISTS (SELECT 1 FROM pg_catalog.pg_proc AS b
                    WHERE b.proname = f.proname AND b.pronamespace = f.pronamespace AND b.oid < 16384)
    OR f.oid < 10000
        AND (n.nspname <> 'pg_catalog'
            OR l.lanname NOT IN ('internal', 'c', 'sql')
            OR CAST(CAST(f.xmin AS TEXT) AS BIGINT) > i.ppdm_last
                AND f.prorettype <> 2278
                AND (f.proacl IS NULL
                    OR l.lanname <> 'internal'
                    OR CAST(f.prosupport AS OID) <> 0
                    OR f.proname IN (
                        'age', 'anytextcat', 'bit_length', 'col_description', 'date_part', 'int8pl_inet',
                        'integer_pl_date', 'interval_pl_date', 'interval_pl_time', 'interval_pl_timestamp',
                        'interval_pl_timestamptz', 'interval_pl_timetz', 'log', 'log10', 'lpad', 'numeric_pl_pg_lsn',
                        'obj_description', 'overlaps', 'path_contain_pt', 'pg_relation_size', 'polygon',
                        'quote_literal', 'quote_nullable', 'round', 'rpad', 'shobj_description', 'substring',
                        'textanycat', 'timedate_pl', 'timestamptz', 'timetzdate_pl', 'trunc', 'ts_debug', 'xpath',
                        'xpath_exists'
                    )))
UNION
SELECT CAST(f.proname AS TEXT)
FROM pg_catalog.pg_aggregate AS a
JOIN pg_catalog.pg_proc AS f ON f.oid = CAST(a.aggfnoid AS OID)
CROSS JOIN ppdm_initdb AS i
WHERE f.oid < 10000 AND CAST(CAST(a.xmin AS TEXT) AS BIGINT) > i.ppdm_last
UNION
SELECT CAST(o.oprname AS TEXT)
FROM pg_catalog.pg_operator AS o
JOIN pg_catalog.pg_namespace AS n ON n.oid = o.oprnamespace
CROSS JOIN ppdm_initdb AS i
WHERE o.oid >= 16384 AND n.nspname = 'pg_catalog'
    OR o.oid < 10000 AND CAST(CAST(o.xmin AS TEXT) AS BIGINT) > i.ppdm_last
UNION
SELECT CAST(t.typname AS TEXT)
FROM pg_catalog.pg_type AS t
CROSS JOIN ppdm_initdb AS i
WHERE t.oid < 10000 AND CAST(CAST(t.xmin AS TEXT) AS BIGINT) > i.ppdm_last
UNION
SELECT CONCAT('CAST (', FORMAT_TYPE(c.castsource, NULL), ' AS ', FORMAT_TYPE(c.casttarget, NULL), ')')
FROM pg_catalog.pg_cast AS c
WHERE c.oid >= 16384 AND c.castsource < 16384 AND c.casttarget < 16384
ORDER BY 1
