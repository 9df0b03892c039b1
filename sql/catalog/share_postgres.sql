-- The statements that let a role publish with the catalog of this database, as a member of a group of publishers.
-- What a publisher makes in schema ppdm is readable for the others: the ledger is checked with it.
-- Parameters: $group_name, $role_name.
WITH wanted AS (
    SELECT CAST($group_name AS TEXT) AS group_name, CAST($role_name AS TEXT) AS role_name
)
SELECT FORMAT('CREATE ROLE %I NOLOGIN', w.group_name) AS ppdm_text, 1 AS ppdm_turn
FROM wanted AS w
WHERE NOT EXISTS (SELECT 1 FROM pg_catalog.pg_roles AS r WHERE r.rolname = w.group_name)
UNION ALL
SELECT FORMAT('GRANT USAGE, CREATE ON SCHEMA ppdm TO %I', w.group_name), 2 FROM wanted AS w
UNION ALL
SELECT FORMAT('GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA ppdm TO %I', w.group_name), 3 FROM wanted AS w
UNION ALL
SELECT FORMAT('GRANT UPDATE ON TABLE ppdm.ledger TO %I', w.group_name), 4 FROM wanted AS w
UNION ALL
SELECT FORMAT('ALTER DEFAULT PRIVILEGES IN SCHEMA ppdm GRANT SELECT ON TABLES TO %I', w.group_name), 5 FROM wanted AS w
UNION ALL
SELECT FORMAT('ALTER DEFAULT PRIVILEGES FOR ROLE %I IN SCHEMA ppdm GRANT SELECT ON TABLES TO %I', w.role_name, w.group_name), 6
FROM wanted AS w
UNION ALL
SELECT FORMAT('GRANT %I TO %I', w.group_name, w.role_name), 7 FROM wanted AS w
ORDER BY ppdm_turn
