-- The share of different entities that are alone in their class is at most the limit.
-- One row for every size that occurs; where the share is above the limit, ppdm_breach = 1 marks the classes of one.
-- Figure: the share (ppdm_over / ppdm_under), the same in every row.
-- Stand-ins: source, quasi, entity.  Parameters: $numerator, $denominator.
WITH ppdm_class AS (
    SELECT quasi, COUNT(DISTINCT entity) AS ppdm_size, COUNT(*) AS ppdm_held
    FROM source
    GROUP BY quasi
),

ppdm_whole AS (
    SELECT
        CAST(SUM(CASE WHEN ppdm_size <= 1 THEN 1 ELSE 0 END) AS DECIMAL(38, 0)) AS ppdm_over,
        CAST(SUM(CASE WHEN ppdm_size <= 1 THEN 1 ELSE ppdm_size END) AS DECIMAL(38, 0)) AS ppdm_under
    FROM ppdm_class
)

SELECT
    CASE
        WHEN ppdm_size <= 1 AND ppdm_over * $denominator > ppdm_under * $numerator THEN 1
        ELSE 0
    END AS ppdm_breach,
    ppdm_over,
    ppdm_under,
    COUNT(*) AS ppdm_classes,
    SUM(ppdm_held) AS ppdm_rows
FROM ppdm_class
CROSS JOIN ppdm_whole
GROUP BY ppdm_size, ppdm_over, ppdm_under
