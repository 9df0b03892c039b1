-- The query behind a view; NULL for anything else.
-- Parameter: $relation (the relation's oid).
SELECT CASE WHEN r.relkind IN ('v', 'm') THEN PG_GET_VIEWDEF(r.oid) END AS ppdm_text
FROM pg_catalog.pg_class AS r
WHERE r.oid = $relation
