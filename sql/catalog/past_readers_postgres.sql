-- Every role besides the owner that can read a release, or could before its right was taken away; 'public' stands for
-- everybody.  A release is its relation, what lies behind it in schema ppdm (named after its id), and every view over
-- one of these.
-- PostgreSQL sets relacl at the first GRANT or REVOKE and never back to NULL: an owner alone in it means that a right was
-- taken away.  Columns leave no such trace.  An owner other than that of the link table came later.
-- 1259, 2618: pg_class and pg_rewrite.  Parameters: $relation (its oid or NULL), $parts (a LIKE pattern).
WITH RECURSIVE ppdm_shown AS (
    SELECT c.oid AS ppdm_relation
    FROM pg_catalog.pg_class AS c
    JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.oid = CAST($relation AS OID) OR (n.nspname = 'ppdm' AND c.relname LIKE CAST($parts AS TEXT))
    UNION
    SELECT w.ev_class
    FROM ppdm_shown AS s
    JOIN pg_catalog.pg_depend AS d ON d.refobjid = s.ppdm_relation AND d.refclassid = 1259 AND d.classid = 2618
    JOIN pg_catalog.pg_rewrite AS w ON w.oid = d.objid
), ppdm_right AS (
    SELECT g.grantee AS ppdm_grantee
    FROM ppdm_shown AS s
    JOIN pg_catalog.pg_class AS c ON c.oid = s.ppdm_relation
    CROSS JOIN LATERAL ACLEXPLODE(c.relacl) AS g
    WHERE g.privilege_type = 'SELECT' AND g.grantee <> c.relowner
    UNION
    SELECT g.grantee
    FROM ppdm_shown AS s
    JOIN pg_catalog.pg_class AS c ON c.oid = s.ppdm_relation
    JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid
    CROSS JOIN LATERAL ACLEXPLODE(a.attacl) AS g
    WHERE g.privilege_type = 'SELECT' AND g.grantee <> c.relowner
    UNION
    SELECT g.grantee
    FROM pg_catalog.pg_proc AS p
    JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace
    CROSS JOIN LATERAL ACLEXPLODE(p.proacl) AS g
    WHERE n.nspname = 'ppdm' AND p.proname LIKE CAST($parts AS TEXT) AND g.grantee <> p.proowner
    UNION
    SELECT c.relowner
    FROM pg_catalog.pg_class AS c
    JOIN pg_catalog.pg_class AS l ON l.relname LIKE CAST($parts AS TEXT) AND LEFT(CAST(l.relname AS TEXT), 10) = 'ppdm_link_'
    WHERE c.oid = CAST($relation AS OID) AND c.relowner <> l.relowner
)
SELECT CASE WHEN ppdm_grantee = 0 THEN 'public' ELSE CAST(PG_GET_USERBYID(ppdm_grantee) AS TEXT) END AS ppdm_role
FROM ppdm_right
UNION
SELECT '(taken away)'
FROM ppdm_shown AS s
JOIN pg_catalog.pg_class AS c ON c.oid = s.ppdm_relation
WHERE c.relacl IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ppdm_right)
ORDER BY 1
