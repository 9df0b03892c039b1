-- The columns of a relation in order: name, declared type, and the type its values really have once
-- every domain is followed down to what it stands on (typtype 'b' base, 'e' enum, 'c' composite, ...),
-- and whether somebody defined a function that casts it.
-- Parameter: $relation (the relation's oid).
WITH RECURSIVE ppdm_type AS (
    SELECT DISTINCT a.atttypid AS ppdm_declared, a.atttypid AS ppdm_base
    FROM pg_catalog.pg_attribute AS a
    WHERE a.attrelid = $relation AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT d.ppdm_declared, t.typbasetype
    FROM ppdm_type AS d
    JOIN pg_catalog.pg_type AS t ON t.oid = d.ppdm_base
    WHERE t.typtype = 'd'
)
SELECT CAST(a.attname AS TEXT) AS ppdm_name,
       FORMAT_TYPE(a.atttypid, a.atttypmod) AS ppdm_type,
       CAST(b.typname AS TEXT) AS ppdm_base,
       CAST(b.typtype AS TEXT) AS ppdm_sort,
       CAST(n.nspname AS TEXT) AS ppdm_schema,
       EXISTS (SELECT 1 FROM pg_catalog.pg_cast AS c WHERE c.castsource = b.oid AND c.castmethod = 'f') AS ppdm_recast
FROM pg_catalog.pg_attribute AS a
JOIN ppdm_type AS d ON d.ppdm_declared = a.atttypid
JOIN pg_catalog.pg_type AS b ON b.oid = d.ppdm_base AND b.typtype <> 'd'
JOIN pg_catalog.pg_namespace AS n ON n.oid = b.typnamespace
WHERE a.attrelid = $relation AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
