-- Whether there is a schema that this role may use.  Parameter: $schema.
SELECT 1 AS ppdm_there
FROM information_schema.schemata
WHERE schema_name = $schema
