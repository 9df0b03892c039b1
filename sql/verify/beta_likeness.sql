-- Basic beta-likeness: no value has a share in a class that exceeds its share in the whole relation by more than beta
-- times the latter: (q - p) / p <= beta (Cao and Karras 2012).
-- q / p of a value is here * total / (known * everywhere); with beta = $numerator / $denominator a class breaks the
-- rule if here * total * denominator > known * everywhere * (numerator + denominator) for one of its values.
-- Known values alone count, unless $null_is_value = 1 makes NULL a value; a class without one breaks the rule.
-- One row for the classes that hold, one for those that do not (ppdm_breach = 1), and of these the classes with the
-- greatest excess apart, with their figure q / p - 1 (ppdm_over / ppdm_under); 1 / 0 without a known value.
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
        CAST(ppdm_count AS DECIMAL(38, 0)) * CAST(SUM(ppdm_count) OVER () AS DECIMAL(38, 0)) AS ppdm_here,
        CAST(SUM(ppdm_count) OVER (PARTITION BY quasi) AS DECIMAL(38, 0)) AS ppdm_known,
        CAST(SUM(ppdm_count) OVER (PARTITION BY quasi) AS DECIMAL(38, 0))
            * CAST(SUM(ppdm_count) OVER (PARTITION BY sensitive) AS DECIMAL(38, 0)) AS ppdm_expected
    FROM ppdm_value
), ppdm_worst AS (
    SELECT
        quasi,
        ppdm_size,
        ppdm_known,
        ppdm_here,
        ppdm_expected,
        CASE
            WHEN ppdm_known = 0 OR ppdm_here * $denominator > ppdm_expected * (CAST($numerator AS DECIMAL(38, 0)) + $denominator) THEN 1
            ELSE 0
        END AS ppdm_breaks,
        CAST(ppdm_here AS DOUBLE) / CAST(NULLIF(ppdm_expected, 0) AS DOUBLE) AS ppdm_ratio,
        MAX(CAST(ppdm_here AS DOUBLE) / CAST(NULLIF(ppdm_expected, 0) AS DOUBLE)) OVER () AS ppdm_greatest
    FROM ppdm_compared
), ppdm_class AS (
    SELECT
        quasi,
        MAX(ppdm_size) AS ppdm_size,
        MAX(ppdm_known) AS ppdm_known,
        MAX(ppdm_breaks) AS ppdm_breach,
        -- Floating point only narrows down which values may have the greatest ratio; exact figures leave for one of
        -- them in each class: within a class those that remain differ by less than it shows.
        MAX(CASE WHEN ppdm_ratio >= ppdm_greatest * 0.999999999999 THEN ppdm_here - ppdm_expected END) AS ppdm_over,
        MAX(CASE WHEN ppdm_ratio >= ppdm_greatest * 0.999999999999 THEN ppdm_expected END) AS ppdm_under
    FROM ppdm_worst
    GROUP BY quasi
)
SELECT
    ppdm_breach,
    CASE WHEN ppdm_known = 0 THEN 1 ELSE ppdm_over END AS ppdm_over,
    CASE WHEN ppdm_known = 0 THEN 0 ELSE ppdm_under END AS ppdm_under,
    COUNT(*) AS ppdm_classes,
    SUM(ppdm_size) AS ppdm_rows
FROM ppdm_class
GROUP BY ppdm_breach, ppdm_known, ppdm_over, ppdm_under
