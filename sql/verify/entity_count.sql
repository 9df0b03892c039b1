-- k-anonymity by person: every class has at least $k different entities, however many rows each has.
-- COUNT(DISTINCT ...) leaves NULL out: rows of nobody in particular protect nobody.
-- One row for every number of entities that occurs; ppdm_breach = 1 marks those that are too small.
-- Figure: the number of entities (ppdm_over / ppdm_under), at worst the least.
-- Stand-ins: source, quasi, entity.  Parameter: $k.
WITH ppdm_class AS (
    SELECT quasi, COUNT(DISTINCT entity) AS ppdm_entities, COUNT(*) AS ppdm_size
    FROM source
    GROUP BY quasi
)
SELECT
    CASE WHEN ppdm_entities < $k THEN 1 ELSE 0 END AS ppdm_breach,
    ppdm_entities AS ppdm_over,
    1 AS ppdm_under,
    COUNT(*) AS ppdm_classes,
    SUM(ppdm_size) AS ppdm_rows
FROM ppdm_class
GROUP BY ppdm_entities
