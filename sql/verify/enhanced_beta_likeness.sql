-- Enhanced beta-likeness: no value has a share q in a class that exceeds its share p in the whole relation by more than
-- the smaller of beta and -ln(p), times p: (q - p) / p <= min(beta, -ln(p)) (Cao and Karras 2012).
-- q / p of a value is here * total / (known * everywhere); with beta = $numerator / $denominator a class breaks the
-- first limit if here * total * denominator > known * everywhere * (numerator + denominator) for one of its values.
-- -ln(p) = ln(total) - ln(everywhere) is rounded: a value is clearly above it, clearly below, or too near to tell, and
-- then its counts (here, known, everywhere, total) are returned, and ppdm_sql/verify/exponential.py decides.  "Too near"
-- is a millionth of a millionth of the larger side, far more than the rounding of the steps.  A value that all rows
-- have (p = 1) has q = 1 and is at no limit.
-- Known values alone count, unless $null_is_value = 1 makes NULL a value; a class without one breaks the rule.
-- One row for classes that are alike: ppdm_breach = 1 where a limit is broken (NULL where it is too near to tell),
-- ppdm_above = 1 where it is a logarithm, the counts of values near a logarithm, and for the classes with the greatest excess their figure q / p - 1
-- (ppdm_over / ppdm_under); 1 / 0 without a known value.
-- Stand-ins: source, quasi, sensitive.  Parameters: $numerator, $denominator, $null_is_value.
WITH ppdm_value AS (
    SELECT
        quasi,
        sensitive,
        CASE WHEN sensitive IS NULL AND $null_is_value = 0 THEN 0 ELSE COUNT(*) END AS ppdm_count,
        SUM(COUNT(*)) OVER (PARTITION BY quasi) AS ppdm_size
    FROM source
    GROUP BY quasi, sensitive
), ppdm_counted AS (
    SELECT
        quasi,
        ppdm_size,
        CAST(ppdm_count AS DECIMAL(38, 0)) AS ppdm_count,
        CAST(SUM(ppdm_count) OVER () AS DECIMAL(38, 0)) AS ppdm_total,
        CAST(SUM(ppdm_count) OVER (PARTITION BY quasi) AS DECIMAL(38, 0)) AS ppdm_known,
        CAST(SUM(ppdm_count) OVER (PARTITION BY sensitive) AS DECIMAL(38, 0)) AS ppdm_everywhere
    FROM ppdm_value
), ppdm_compared AS (
    SELECT
        quasi,
        ppdm_size,
        ppdm_count,
        ppdm_total,
        ppdm_known,
        ppdm_everywhere,
        ppdm_count * ppdm_total AS ppdm_here,
        ppdm_known * ppdm_everywhere AS ppdm_expected,
        CAST(ppdm_count * ppdm_total AS DOUBLE) / CAST(NULLIF(ppdm_known * ppdm_everywhere, 0) AS DOUBLE) AS ppdm_ratio,
        CASE
            WHEN ppdm_everywhere < ppdm_total
                THEN 1 + LN(CAST(ppdm_total AS DOUBLE)) - LN(CAST(NULLIF(ppdm_everywhere, 0) AS DOUBLE))
        END AS ppdm_most
    FROM ppdm_counted
), ppdm_worst AS (
    SELECT
        quasi,
        ppdm_size,
        ppdm_known,
        ppdm_here,
        ppdm_expected,
        ppdm_ratio,
        MAX(ppdm_ratio) OVER () AS ppdm_greatest,
        CASE
            WHEN ppdm_known = 0 OR ppdm_here * $denominator > ppdm_expected * (CAST($numerator AS DECIMAL(38, 0)) + $denominator) THEN 1
            ELSE 0
        END AS ppdm_breaks,
        CASE WHEN ppdm_ratio > ppdm_most * (1 + 1e-12) THEN 1 ELSE 0 END AS ppdm_is_above,
        CASE
            WHEN ABS(ppdm_ratio - ppdm_most) <= 1e-12 * ppdm_most
                THEN CAST(ppdm_count AS VARCHAR) || ' ' || CAST(ppdm_known AS VARCHAR) || ' '
                     || CAST(ppdm_everywhere AS VARCHAR) || ' ' || CAST(ppdm_total AS VARCHAR)
        END AS ppdm_cell
    FROM ppdm_compared
), ppdm_class AS (
    SELECT
        quasi,
        MAX(ppdm_size) AS ppdm_size,
        MAX(ppdm_known) AS ppdm_known,
        MAX(ppdm_breaks) AS ppdm_breach,
        MAX(ppdm_is_above) AS ppdm_above,
        STRING_AGG(ppdm_cell, ',') AS ppdm_near,
        -- Floating point only narrows down which values may have the greatest ratio; exact figures leave for one of
        -- them in each class: within a class those that remain differ by less than it shows.
        MAX(CASE WHEN ppdm_ratio >= ppdm_greatest * 0.999999999999 THEN ppdm_here - ppdm_expected END) AS ppdm_over,
        MAX(CASE WHEN ppdm_ratio >= ppdm_greatest * 0.999999999999 THEN ppdm_expected END) AS ppdm_under
    FROM ppdm_worst
    GROUP BY quasi
)
SELECT
    CASE WHEN ppdm_breach = 1 OR ppdm_above = 1 THEN 1 WHEN ppdm_near IS NULL THEN 0 END AS ppdm_breach,
    ppdm_above,
    ppdm_near,
    CASE WHEN ppdm_known = 0 THEN 1 ELSE ppdm_over END AS ppdm_over,
    CASE WHEN ppdm_known = 0 THEN 0 ELSE ppdm_under END AS ppdm_under,
    COUNT(*) AS ppdm_classes,
    SUM(ppdm_size) AS ppdm_rows
FROM ppdm_class
GROUP BY ppdm_breach, ppdm_above, ppdm_near, ppdm_known, ppdm_over, ppdm_under
