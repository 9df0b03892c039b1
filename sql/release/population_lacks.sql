-- How many people of the source a population lacks: combinations of quasi-identifiers that more people of the source
-- have than of the population.
-- Stand-ins: source and population, both with the columns quasi.
WITH ppdm_everybody AS (
    SELECT quasi, 1 AS ppdm_here, 0 AS ppdm_there FROM source
    UNION ALL
    SELECT quasi, 0 AS ppdm_here, 1 AS ppdm_there FROM population
), ppdm_group AS (
    SELECT quasi, SUM(ppdm_here) AS ppdm_here, SUM(ppdm_there) AS ppdm_there
    FROM ppdm_everybody
    GROUP BY quasi
)
SELECT COALESCE(SUM(ppdm_here - ppdm_there), 0) AS ppdm_lacking
FROM ppdm_group
WHERE ppdm_here > ppdm_there
