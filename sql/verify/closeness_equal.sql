-- t-closeness, equal distance: every pair of different values is at distance 1.
-- The distance of a class (size rows, here of them with a value) from the whole relation (total, everywhere)
-- is the share of rows that would have to change their value: the sum of here / size - everywhere / total over
-- the values that are too frequent in the class.  Times size * total these are whole numbers.
-- With t = $numerator / $denominator: excess * denominator <= size * total * numerator.
-- NULL is a value of its own.
-- One row for the classes that hold, one for those that do not (ppdm_breach = 1), and of these the classes
-- farthest away apart, with their figure excess / (size * total) (ppdm_over / ppdm_under).
-- Stand-ins: source, quasi, sensitive.  Parameters: $numerator, $denominator.
WITH ppdm_value AS (
    SELECT quasi, sensitive, COUNT(*) AS ppdm_count
    FROM source
    GROUP BY quasi, sensitive
), ppdm_compared AS (
    SELECT
        quasi,
        CAST(ppdm_count AS DECIMAL(38, 0)) AS ppdm_here,
        CAST(SUM(ppdm_count) OVER (PARTITION BY quasi) AS DECIMAL(38, 0)) AS ppdm_size,
        CAST(SUM(ppdm_count) OVER (PARTITION BY sensitive) AS DECIMAL(38, 0)) AS ppdm_everywhere,
        CAST(SUM(ppdm_count) OVER () AS DECIMAL(38, 0)) AS ppdm_total
    FROM ppdm_value
), ppdm_class AS (
    SELECT
        quasi,
        MAX(ppdm_size) AS ppdm_size,
        MAX(ppdm_size) * MAX(ppdm_total) AS ppdm_whole,
        SUM(
            CASE
                WHEN ppdm_here * ppdm_total > ppdm_everywhere * ppdm_size
                    THEN ppdm_here * ppdm_total - ppdm_everywhere * ppdm_size
                ELSE 0
            END
        ) AS ppdm_excess
    FROM ppdm_compared
    GROUP BY quasi
), ppdm_judged AS (
    SELECT
        ppdm_size,
        ppdm_excess,
        ppdm_whole,
        CASE WHEN ppdm_excess * $denominator > ppdm_whole * $numerator THEN 1 ELSE 0 END AS ppdm_breach,
        CAST(ppdm_excess AS DOUBLE) / CAST(ppdm_size AS DOUBLE) AS ppdm_distance,
        MAX(CAST(ppdm_excess AS DOUBLE) / CAST(ppdm_size AS DOUBLE)) OVER () AS ppdm_farthest
    FROM ppdm_class
), ppdm_summed AS (
    SELECT
        ppdm_breach,
        ppdm_size,
        -- Floating point only narrows down which classes may be the farthest; exact figures leave for them all.
        CASE WHEN ppdm_distance >= ppdm_farthest * 0.999999999999 THEN ppdm_excess END AS ppdm_over,
        CASE WHEN ppdm_distance >= ppdm_farthest * 0.999999999999 THEN ppdm_whole END AS ppdm_under
    FROM ppdm_judged
)
SELECT ppdm_breach, ppdm_over, ppdm_under, COUNT(*) AS ppdm_classes, SUM(ppdm_size) AS ppdm_rows
FROM ppdm_summed
GROUP BY ppdm_breach, ppdm_over, ppdm_under
