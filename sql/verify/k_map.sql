-- k-map: every class has the labels of at least $k people of the population.
-- One row for every number of people that occurs; ppdm_breach = 1 marks those that are too small.
-- Figure: the number of people (ppdm_over / ppdm_under), at worst the least.
-- Stand-ins: source, quasi, population (quasi and ppdm_people: how many have these labels).  Parameter: $k.
WITH ppdm_everybody AS (
    SELECT quasi, 1 AS ppdm_here, 0 AS ppdm_there FROM source
    UNION ALL
    SELECT quasi, 0 AS ppdm_here, ppdm_people AS ppdm_there FROM population
), ppdm_class AS (
    SELECT quasi, SUM(ppdm_here) AS ppdm_size, SUM(ppdm_there) AS ppdm_held
    FROM ppdm_everybody
    GROUP BY quasi
)
SELECT
    CASE WHEN ppdm_held < $k THEN 1 ELSE 0 END AS ppdm_breach,
    ppdm_held AS ppdm_over,
    1 AS ppdm_under,
    COUNT(*) AS ppdm_classes,
    SUM(ppdm_size) AS ppdm_rows
FROM ppdm_class
WHERE ppdm_size > 0
GROUP BY ppdm_held
