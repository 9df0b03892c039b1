-- The how-manieth release of its name the next one is.
-- Parameters: $ppdm_schema_name, $ppdm_relation_name, those of the row it becomes a part of.
SELECT COALESCE(MAX(generation), 0) + 1 AS ppdm_next
FROM ppdm.release
WHERE schema_name = $ppdm_schema_name AND relation_name = $ppdm_relation_name
