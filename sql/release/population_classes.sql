-- How many classes have how many rows here, and how many people of a population with the same quasi-identifiers.
-- Labels that nobody has here are returned with 0 rows.
-- Stand-ins: source and population, both with the columns quasi.
WITH ppdm_everybody AS (
    SELECT quasi, 1 AS ppdm_here, 0 AS ppdm_there FROM source
    UNION ALL
    SELECT quasi, 0 AS ppdm_here, 1 AS ppdm_there FROM population
), ppdm_class AS (
    SELECT quasi, SUM(ppdm_here) AS ppdm_size, SUM(ppdm_there) AS ppdm_people
    FROM ppdm_everybody
    GROUP BY quasi
)
SELECT ppdm_size, ppdm_people, COUNT(*) AS ppdm_classes
FROM ppdm_class
GROUP BY ppdm_size, ppdm_people
