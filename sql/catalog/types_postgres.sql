-- What some types are: number, name, sort ('b' base, 'e' enum, 'c' composite, 'r' range) and schema.
-- Parameter: $types (their oids).
SELECT t.oid AS ppdm_oid,
       CAST(t.typname AS TEXT) AS ppdm_base,
       CAST(t.typtype AS TEXT) AS ppdm_sort,
       CAST(n.nspname AS TEXT) AS ppdm_schema
FROM pg_catalog.pg_type AS t
JOIN pg_catalog.pg_namespace AS n ON n.oid = t.typnamespace
WHERE t.oid = ANY(CAST($types AS BIGINT[]))
