-- The mean risk: classes / rows, a class counting in each of them what it holds, is at most the limit.
-- One row for every size that occurs; where the mean is above the limit, ppdm_breach = 1 marks the sizes whose own
-- risk, 1 / size, is above it.  Figure: the mean (ppdm_over / ppdm_under), the same in every row.
-- Stand-ins: source, quasi.  Parameters: $numerator, $denominator.
WITH ppdm_class AS (
    SELECT quasi, COUNT(*) AS ppdm_size, COUNT(*) AS ppdm_held
    FROM source
    GROUP BY quasi
),

ppdm_whole AS (
    SELECT
        CAST(COUNT(*) AS DECIMAL(38, 0)) AS ppdm_over,
        CAST(SUM(ppdm_size) AS DECIMAL(38, 0)) AS ppdm_under
    FROM ppdm_class
)

SELECT
    CASE
        WHEN
            ppdm_over * $denominator > ppdm_under * $numerator
            AND CAST(ppdm_size AS DECIMAL(38, 0)) * $numerator < $denominator
            THEN 1
        ELSE 0
    END AS ppdm_breach,
    ppdm_over,
    ppdm_under,
    COUNT(*) AS ppdm_classes,
    SUM(ppdm_held) AS ppdm_rows
FROM ppdm_class
CROSS JOIN ppdm_whole
GROUP BY ppdm_size, ppdm_over, ppdm_under
