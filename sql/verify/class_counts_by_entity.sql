-- How many classes have how many different entities: what an estimate of the unique people of a population goes by.
-- No row is marked here: the estimate is made in digits, and decides.
-- Stand-ins: source, quasi, entity.
WITH ppdm_class AS (
    SELECT quasi, COUNT(DISTINCT entity) AS ppdm_size, COUNT(*) AS ppdm_held
    FROM source
    GROUP BY quasi
)

SELECT
    0 AS ppdm_breach,
    ppdm_size AS ppdm_over,
    1 AS ppdm_under,
    COUNT(*) AS ppdm_classes,
    SUM(ppdm_held) AS ppdm_rows
FROM ppdm_class
GROUP BY ppdm_size
