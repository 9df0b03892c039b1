-- Re-identification risk where rows stand for several people of a population: one row of figures.
-- The people of a class are the sum of its weights, and the risk of a row is 1 / that sum.
-- ppdm_found: the sum of the risks of all rows, how many of them are found.
-- Stand-ins: source with its weights as ppdm_weight, quasi.
WITH ppdm_class AS (
    SELECT quasi, COUNT(*) AS ppdm_size, SUM(ppdm_weight) AS ppdm_people
    FROM source
    GROUP BY quasi
)
SELECT
    SUM(ppdm_size) AS ppdm_rows,
    COUNT(*) AS ppdm_classes,
    MIN(ppdm_size) AS ppdm_smallest,
    MIN(ppdm_people) AS ppdm_fewest,
    SUM(ppdm_people) AS ppdm_population,
    SUM(CAST(ppdm_size AS DOUBLE) / CAST(ppdm_people AS DOUBLE)) AS ppdm_found
FROM ppdm_class
