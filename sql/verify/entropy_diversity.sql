-- Entropy l-diversity: the entropy of the sensitive values of every class is at least ln(l).
-- Entropy of a class of n rows, n_i of them with value i: ln(n) - (n_1 ln(n_1) + ... + n_m ln(n_m)) / n.
-- Floating point gets a class that is exactly at the bound wrong (three equal values, l = 3), so there are
-- three answers: 1 clearly below the bound, 0 clearly above it, NULL too near to tell.  For the last the
-- counts themselves are returned, and ppdm_sql/verify/entropy.py decides them in whole numbers.
-- "Too near" is wider than the rounding errors of the m + 4 steps can be (each at most 1.2e-16 of ln(n)).
-- NULL is a value of its own.
-- One row for every answer (and list of counts); ppdm_entropy is a lower bound for all of its classes.
-- Stand-ins: source, quasi, sensitive.  Parameter: $bound = ln(l).
WITH ppdm_value AS (
    SELECT quasi, sensitive, COUNT(*) AS ppdm_count
    FROM source
    GROUP BY quasi, sensitive
), ppdm_class AS (
    SELECT
        quasi,
        SUM(ppdm_count) AS ppdm_size,
        LN(CAST(SUM(ppdm_count) AS DOUBLE)) AS ppdm_most,
        SUM(ppdm_count * LN(CAST(ppdm_count AS DOUBLE))) / CAST(SUM(ppdm_count) AS DOUBLE) AS ppdm_told,
        1e-15 * (COUNT(*) + 10) AS ppdm_steps,
        STRING_AGG(CAST(ppdm_count AS VARCHAR), ' ') AS ppdm_counts
    FROM ppdm_value
    GROUP BY quasi
), ppdm_measured AS (
    SELECT
        ppdm_size,
        ppdm_counts,
        ppdm_most - ppdm_told AS ppdm_entropy,
        ppdm_most - ppdm_told - $bound AS ppdm_margin,
        ppdm_steps * (1 + ppdm_most) AS ppdm_error
    FROM ppdm_class
), ppdm_answered AS (
    SELECT
        ppdm_size,
        ppdm_entropy - ppdm_error AS ppdm_entropy,
        CASE WHEN ppdm_margin < -ppdm_error THEN 1 WHEN ppdm_margin > ppdm_error THEN 0 END AS ppdm_breach,
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
GROUP BY ppdm_breach, ppdm_counts
