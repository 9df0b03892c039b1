-- t-closeness, equal distance: every pair of different values is at distance 1.
-- The distance of a class (known values, here of them this one) from the whole relation (total, everywhere)
-- is the share of rows that would have to change their value: the sum of here / known - everywhere / total over
-- the values that are too frequent in the class.  Times known * total these are whole numbers.
-- With t = $numerator / $denominator: excess * denominator <= known * total * numerator.
-- Known values alone count, unless $null_is_value = 1 makes NULL a value; a class without one breaks the rule.
-- One row for the classes that hold, one for those that do not (ppdm_breach = 1), and of these the classes
-- farthest away apart, with their figure excess / (known * total) (ppdm_over / ppdm_under); 1 / 0 without a known
-- value.
-- Stand-ins: source, quasi, sensitive.  Parameters: $numerator, $denominator, $null_is_value.
WITH ppdm_value AS (
    SELECT
        quasi,
        sensitive,
        CASE WHEN sensitive IS NULL AND $null_is_value = 0 THEN 0 ELSE COUNT(*) END AS ppdm_count,
        SUM(COUNT(*)) OVER (PARTITION BY quasi) AS ppdm_size
    FROM source
    GROUP BY quasi, sensitive
), ppdm_compared AS (
    SELECT
        quasi,
        ppdm_size,
        CAST(ppdm_count AS DECIMAL(38, 0)) AS ppdm_here,
        CAST(SUM(ppdm_count) OVER (PARTITION BY quasi) AS DECIMAL(38, 0)) AS ppdm_known,
        CAST(SUM(ppdm_count) OVER (PARTITION BY sensitive) AS DECIMAL(38, 0)) AS ppdm_everywhere,
        CAST(SUM(ppdm_count) OVER () AS DECIMAL(38, 0)) AS ppdm_total
    FROM ppdm_value
), ppdm_class AS (
    SELECT
        quasi,
        MAX(ppdm_size) AS ppdm_size,
        MAX(ppdm_known) AS ppdm_known,
        MAX(ppdm_known) * MAX(ppdm_total) AS ppdm_whole,
        SUM(
            CASE
                WHEN ppdm_here * ppdm_total > ppdm_everywhere * ppdm_known
                    THEN ppdm_here * ppdm_total - ppdm_everywhere * ppdm_known
                ELSE 0
            END
        ) AS ppdm_excess
    FROM ppdm_compared
    GROUP BY quasi
), ppdm_judged AS (
    SELECT
        ppdm_size,
        ppdm_known,
        ppdm_excess,
        ppdm_whole,
        CASE WHEN ppdm_known = 0 OR ppdm_excess * $denominator > ppdm_whole * $numerator THEN 1 ELSE 0 END AS ppdm_breach,
        CAST(ppdm_excess AS DOUBLE) / CAST(NULLIF(ppdm_known, 0) AS DOUBLE) AS ppdm_distance,
        MAX(CAST(ppdm_excess AS DOUBLE) / CAST(NULLIF(ppdm_known, 0) AS DOUBLE)) OVER () AS ppdm_farthest
    FROM ppdm_class
), ppdm_summed AS (
    SELECT
        ppdm_breach,
        ppdm_size,
        -- Floating point only narrows down which classes may be the farthest; exact figures leave for them all.
        CASE
            WHEN ppdm_known = 0 THEN 1
            WHEN ppdm_distance >= ppdm_farthest * 0.999999999999 THEN ppdm_excess
        END AS ppdm_over,
        CASE WHEN ppdm_known = 0 OR ppdm_distance >= ppdm_farthest * 0.999999999999 THEN ppdm_whole END AS ppdm_under
    FROM ppdm_judged
)
SELECT ppdm_breach, ppdm_over, ppdm_under, COUNT(*) AS ppdm_classes, SUM(ppdm_size) AS ppdm_rows
FROM ppdm_summed
GROUP BY ppdm_breach, ppdm_over, ppdm_under
