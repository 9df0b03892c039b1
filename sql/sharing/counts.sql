-- The rows of a site by class and value of one attribute: the one pass over the table that an attribute costs.
-- A statement of a round is these for all attributes with UNION ALL between them.
-- Stand-in: source, the rows with two columns: ppdm_class and ppdm_value.
SELECT ppdm_class, ppdm_value, COUNT(*) AS ppdm_rows
FROM source
GROUP BY ppdm_class, ppdm_value
