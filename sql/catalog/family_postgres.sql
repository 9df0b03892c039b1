-- Some tables, with the partitions and children whose rows they show, and with $ancestors those that show their rows.
-- Parameters: $names (schema.table), $ancestors.
WITH RECURSIVE ppdm_table AS (
    SELECT r.oid AS ppdm_oid,
           CONCAT(CASE WHEN n.oid = PG_MY_TEMP_SCHEMA() THEN 'pg_temp' ELSE CAST(n.nspname AS TEXT) END, '.',
                  r.relname) AS ppdm_name
    FROM pg_catalog.pg_class AS r
    JOIN pg_catalog.pg_namespace AS n ON n.oid = r.relnamespace
    WHERE r.relkind IN ('r', 'p', 'f')
), ppdm_below AS (
    SELECT t.ppdm_oid FROM ppdm_table AS t WHERE t.ppdm_name = ANY(CAST($names AS TEXT[]))
    UNION
    SELECT i.inhrelid FROM ppdm_below AS b JOIN pg_catalog.pg_inherits AS i ON i.inhparent = b.ppdm_oid
), ppdm_above AS (
    SELECT t.ppdm_oid FROM ppdm_table AS t WHERE t.ppdm_name = ANY(CAST($names AS TEXT[]))
    UNION
    SELECT i.inhparent FROM ppdm_above AS a JOIN pg_catalog.pg_inherits AS i ON i.inhrelid = a.ppdm_oid
    WHERE CAST($ancestors AS BOOLEAN)
)
SELECT t.ppdm_name
FROM ppdm_table AS t
WHERE t.ppdm_oid IN (SELECT b.ppdm_oid FROM ppdm_below AS b) OR t.ppdm_oid IN (SELECT a.ppdm_oid FROM ppdm_above AS a)
ORDER BY 1
