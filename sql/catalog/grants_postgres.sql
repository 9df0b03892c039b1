-- The roles that may read a relation, its owner excepted; 'public' stands for everybody.
-- Parameter: $relation (the relation's oid).
SELECT CASE WHEN g.grantee = 0 THEN 'public' ELSE CAST(PG_GET_USERBYID(g.grantee) AS TEXT) END AS ppdm_role
FROM pg_catalog.pg_class AS r
CROSS JOIN LATERAL ACLEXPLODE(r.relacl) AS g
WHERE r.oid = $relation AND g.privilege_type = 'SELECT' AND g.grantee <> r.relowner
ORDER BY 1
