-- Entropy l-diversity: the entropy of the sensitive values of every class is at least ln(l).
-- Entropy of a class of n known values, n_i of them value i: ln(n) - (n_1 ln(n_1) + ... + n_m ln(n_m)) / n.
-- Floating point gets a class that is exactly at the bound wrong (three equal values, l = 3), so there are
-- three answers: 1 clearly below the bound, 0 clearly above it, NULL too near to tell.  For the last the
-- counts themselves are returned, and ppdm_sql/verify/entropy.py decides them in whole numbers.
-- "Too near" is wider than the rounding errors of the m + 4 steps can be (each at most 1.2e-16 of ln(n)).
-- Known values alone count, unless $null_is_value = 1 makes NULL a value; a class without one breaks the rule.
-- One row for every answer (and list of counts); ppdm_entropy is a lower bound for all of its classes,
-- NULL for those without a known value.
-- Stand-ins: source, quasi, sensitive.  Parameters: $bound = ln(l), $null_is_value.
WITH ppdm_value AS (
    SELECT
        quasi,
        sensitive,
        COUNT(*) AS ppdm_rows,
        CASE WHEN sensitive IS NULL AND $null_is_value = 0 THEN 0 ELSE COUNT(*) END AS ppdm_count
    FROM source
    GROUP BY quasi, sensitive
), ppdm_class AS (
    SELECT
        quasi,
        SUM(ppdm_rows) AS ppdm_size,
        SUM(ppdm_count) AS ppdm_known,
        LN(CAST(NULLIF(SUM(ppdm_count), 0) AS DOUBLE)) AS ppdm_most,
        SUM(ppdm_count * LN(CAST(NULLIF(ppdm_count, 0) AS DOUBLE)))
            / CAST(NULLIF(SUM(ppdm_count), 0) AS DOUBLE) AS ppdm_told,
        1e-15 * (COUNT(*) + 10) AS ppdm_steps,
        STRING_AGG(CAST(NULLIF(ppdm_count, 0) AS VARCHAR), ' ') AS ppdm_counts
    FROM ppdm_value
    GROUP BY quasi
), ppdm_measured AS (
    SELECT
        ppdm_size,
        ppdm_known,
        ppdm_counts,
        ppdm_most - ppdm_told AS ppdm_entropy,
        ppdm_most - ppdm_told - $bound AS ppdm_margin,
        ppdm_steps * (1 + ppdm_most) AS ppdm_error
    FROM ppdm_class
), ppdm_answered AS (
    SELECT
        ppdm_size,
        ppdm_entropy - ppdm_error AS ppdm_entropy,
        CASE WHEN ppdm_known = 0 THEN 1 ELSE 0 END AS ppdm_unknown,
        CASE
            WHEN ppdm_known = 0 OR ppdm_margin < -ppdm_error THEN 1
            WHEN ppdm_margin > ppdm_error THEN 0
        END AS ppdm_breach,
        CASE WHEN ppdm_margin BETWEEN -ppdm_error AND ppdm_error THEN ppdm_counts END AS ppdm_counts
    FROM ppdm_measured
)
SELECT
    ppdm_breach,
    ppdm_counts,
    MIN(ppdm_entropy) AS ppdm_entropy,
    COUNT(*) AS ppdm_classes,
    SUM(ppdm_size) AS ppdm_rows
FROM ppdm_answered
GROUP BY ppdm_breach, ppdm_counts, ppdm_unknown
