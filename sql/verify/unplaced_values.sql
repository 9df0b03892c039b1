-- How many sensitive values have no place in their hierarchy.  They would fall out of the measure unseen.
-- Stand-ins: source, sensitive (as text), path (ppdm_leaf: '=' and the value).
SELECT COUNT(*) AS ppdm_values
FROM (
    SELECT DISTINCT COALESCE('=' || sensitive, '') AS ppdm_leaf FROM source
) AS ppdm_value
LEFT JOIN (
    SELECT DISTINCT ppdm_leaf AS ppdm_known FROM path
) AS ppdm_path ON ppdm_path.ppdm_known = ppdm_value.ppdm_leaf
WHERE ppdm_path.ppdm_known IS NULL
