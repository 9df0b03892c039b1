-- Equivalence classes whose risk, 1 / size, is above the limit, where the mean over all rows (classes / rows) is above
-- it, too.  No row returned = the mean risk of the relation is at most $limit_numerator / $limit_denominator.
-- Stand-ins: source, quasi.  Parameters: $limit_numerator, $limit_denominator.
WITH ppdm_class AS (
    SELECT quasi, COUNT(*) AS ppdm_size
    FROM source
    GROUP BY quasi
),

ppdm_whole AS (
    SELECT COUNT(*) AS ppdm_classes, SUM(ppdm_size) AS ppdm_rows
    FROM ppdm_class
)

SELECT ppdm_class.*
FROM ppdm_class
CROSS JOIN ppdm_whole
WHERE
    CAST(ppdm_whole.ppdm_classes AS DECIMAL(38, 0)) * $limit_denominator
    > CAST(ppdm_whole.ppdm_rows AS DECIMAL(38, 0)) * $limit_numerator
    AND CAST(ppdm_class.ppdm_size AS DECIMAL(38, 0)) * $limit_numerator < $limit_denominator
