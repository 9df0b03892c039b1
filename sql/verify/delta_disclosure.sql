-- Delta-disclosure privacy: every value of the relation is in every class, and |ln(q / p)| < delta, q and p being its
-- shares in the class and in the whole relation (Brickell and Shmatikov 2008).
-- q / p is here * total / (known * everywhere).  e^delta is irrational, so no ratio equals it, and the greatest fraction
-- below it that a table can have, $numerator / $denominator, decides in whole numbers (both are given as texts).
-- Known values alone count, unless $null_is_value = 1 makes NULL a value; a class without one breaks the rule.
-- One row for every pair of a verdict and a figure of the class that is farthest from the relation: the greater of
-- q / p and p / q (ppdm_over / ppdm_under); 1 / 0 where a value is missing.
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
        sensitive,
        ppdm_size,
        ppdm_count,
        CAST(ppdm_count AS DECIMAL(38, 0)) * CAST(SUM(ppdm_count) OVER () AS DECIMAL(38, 0)) AS ppdm_here,
        CAST(SUM(ppdm_count) OVER (PARTITION BY quasi) AS DECIMAL(38, 0))
            * CAST(SUM(ppdm_count) OVER (PARTITION BY sensitive) AS DECIMAL(38, 0)) AS ppdm_expected
    FROM ppdm_value
), ppdm_all AS (
    SELECT COUNT(*) AS ppdm_values
    FROM (SELECT sensitive FROM ppdm_compared WHERE ppdm_count > 0 GROUP BY sensitive) AS ppdm_listed
), ppdm_apart AS (
    SELECT
        quasi,
        ppdm_size,
        CASE WHEN ppdm_here >= ppdm_expected THEN ppdm_here ELSE ppdm_expected END AS ppdm_over,
        CASE WHEN ppdm_here >= ppdm_expected THEN ppdm_expected ELSE ppdm_here END AS ppdm_under,
        CASE WHEN ppdm_count > 0 THEN 1 ELSE 0 END AS ppdm_present
    FROM ppdm_compared
), ppdm_judged AS (
    SELECT
        quasi,
        ppdm_size,
        ppdm_present,
        ppdm_over,
        ppdm_under,
        CASE
            WHEN ppdm_present = 1 AND ppdm_over * CAST($denominator AS DECIMAL(38, 0))
                > ppdm_under * CAST($numerator AS DECIMAL(38, 0)) THEN 1
            ELSE 0
        END AS ppdm_breaks,
        CASE WHEN ppdm_present = 1 THEN CAST(ppdm_over AS DOUBLE) / CAST(ppdm_under AS DOUBLE) END AS ppdm_ratio,
        MAX(CASE WHEN ppdm_present = 1 THEN CAST(ppdm_over AS DOUBLE) / CAST(ppdm_under AS DOUBLE) END) OVER ()
            AS ppdm_greatest
    FROM ppdm_apart
), ppdm_class AS (
    SELECT
        quasi,
        MAX(ppdm_size) AS ppdm_size,
        SUM(ppdm_present) AS ppdm_present,
        MAX(ppdm_breaks) AS ppdm_breaks,
        MAX(CASE WHEN ppdm_ratio >= ppdm_greatest * 0.999999999999 THEN ppdm_over END) AS ppdm_over,
        MAX(CASE WHEN ppdm_ratio >= ppdm_greatest * 0.999999999999 THEN ppdm_under END) AS ppdm_under
    FROM ppdm_judged
    GROUP BY quasi
), ppdm_told AS (
    SELECT
        CASE WHEN ppdm_present = 0 OR ppdm_present < ppdm_values THEN 1 ELSE ppdm_breaks END AS ppdm_breach,
        CASE WHEN ppdm_present = 0 OR ppdm_present < ppdm_values THEN 1 ELSE ppdm_over END AS ppdm_over,
        CASE WHEN ppdm_present = 0 OR ppdm_present < ppdm_values THEN 0 ELSE ppdm_under END AS ppdm_under,
        ppdm_size
    FROM ppdm_class CROSS JOIN ppdm_all
)
SELECT ppdm_breach, ppdm_over, ppdm_under, COUNT(*) AS ppdm_classes, SUM(ppdm_size) AS ppdm_rows
FROM ppdm_told
GROUP BY ppdm_breach, ppdm_over, ppdm_under
