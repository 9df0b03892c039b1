-- The how-manieth model of its name the next one is.  Parameter: $ppdm_name, that of the row it becomes a part of.
SELECT COALESCE(MAX(generation), 0) + 1 AS ppdm_next
FROM ppdm.model
WHERE name = $ppdm_name
