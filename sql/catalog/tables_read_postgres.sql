-- The tables that a view reads, the views between them followed, schema first as the ledger names them.
-- What a rule of a relation needs stands in pg_depend; 2618 is pg_rewrite and 1259 is pg_class in every database.
-- Parameter: $relation (the oid of the view).
WITH RECURSIVE ppdm_read AS (
    SELECT CAST($relation AS BIGINT) AS ppdm_oid
    UNION
    SELECT CAST(d.refobjid AS BIGINT)
    FROM ppdm_read AS v
    JOIN pg_catalog.pg_rewrite AS w ON CAST(w.ev_class AS BIGINT) = v.ppdm_oid
    JOIN pg_catalog.pg_depend AS d ON d.objid = w.oid
    WHERE CAST(d.classid AS BIGINT) = 2618 AND CAST(d.refclassid AS BIGINT) = 1259
)
SELECT DISTINCT
    CASE WHEN n.oid = PG_MY_TEMP_SCHEMA() THEN 'pg_temp' ELSE CAST(n.nspname AS TEXT) END || '.' || CAST(r.relname AS TEXT)
        AS ppdm_name
FROM ppdm_read AS v
JOIN pg_catalog.pg_class AS r ON CAST(r.oid AS BIGINT) = v.ppdm_oid
JOIN pg_catalog.pg_namespace AS n ON n.oid = r.relnamespace
WHERE r.relkind IN ('r', 'p', 'f')
