-- Whether this session may read a relation.
-- Parameter: $relation (its oid).
SELECT HAS_TABLE_PRIVILEGE(r.oid, 'SELECT') AS ppdm_can_read
FROM pg_catalog.pg_class AS r
WHERE r.oid = $relation
