-- Rows that are alone in their class, where their share of all rows is above the limit.
-- No row returned = at most $limit_numerator / $limit_denominator of the rows are alone.
-- Stand-ins: source, quasi.  Parameters: $limit_numerator, $limit_denominator.
WITH ppdm_class AS (
    SELECT quasi, COUNT(*) AS ppdm_size
    FROM source
    GROUP BY quasi
),

ppdm_whole AS (
    SELECT
        SUM(CASE WHEN ppdm_size = 1 THEN 1 ELSE 0 END) AS ppdm_alone,
        SUM(ppdm_size) AS ppdm_rows
    FROM ppdm_class
)

SELECT ppdm_class.*
FROM ppdm_class
CROSS JOIN ppdm_whole
WHERE
    ppdm_class.ppdm_size = 1
    AND CAST(ppdm_whole.ppdm_alone AS DECIMAL(38, 0)) * $limit_denominator
    > CAST(ppdm_whole.ppdm_rows AS DECIMAL(38, 0)) * $limit_numerator
