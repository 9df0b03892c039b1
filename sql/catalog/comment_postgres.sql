-- The comment on a relation; NULL where there is none.
-- Parameter: $relation (the relation's oid).
SELECT OBJ_DESCRIPTION(r.oid, 'pg_class') AS ppdm_comment
FROM pg_catalog.pg_class AS r
WHERE r.oid = $relation
