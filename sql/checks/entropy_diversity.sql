-- Equivalence classes whose sensitive values have an entropy below ln(l).  No row returned = entropy l-diverse.
-- Entropy of n rows with counts c: ln(n) - sum(c * ln(c)) / n.  NULL is a value of its own.
-- A class of equally frequent values has entropy ln(number of values) exactly, and is decided by that number.
-- For others logarithms are rounded: a class nearer to ln(l) than $tolerance passes; give 1e-9.  (Python's
-- ppdm_sql.checks.breaches gives a negative tolerance and decides the few classes in doubt by ppdm_counts,
-- in whole numbers.)
-- l is a fraction: for l = 2.5 give $l_numerator = 5 and $l_denominator = 2.
-- Stand-ins: source, quasi, sensitive.  Parameters: $l_numerator, $l_denominator, $tolerance.
WITH ppdm_cells AS (
    SELECT quasi, COUNT(*) AS ppdm_count
    FROM source
    GROUP BY quasi, sensitive
)
SELECT quasi, SUM(ppdm_count) AS ppdm_size,
       STRING_AGG(CAST(ppdm_count AS VARCHAR), ',') AS ppdm_counts,
       LN(CAST(SUM(ppdm_count) AS DOUBLE))
           - SUM(ppdm_count * LN(CAST(ppdm_count AS DOUBLE))) / CAST(SUM(ppdm_count) AS DOUBLE) AS ppdm_entropy
FROM ppdm_cells
GROUP BY quasi
HAVING CASE
           WHEN COUNT(*) * MAX(ppdm_count) = SUM(ppdm_count) THEN COUNT(*) * $l_denominator < $l_numerator
           ELSE LN(CAST(SUM(ppdm_count) AS DOUBLE))
                    - SUM(ppdm_count * LN(CAST(ppdm_count AS DOUBLE))) / CAST(SUM(ppdm_count) AS DOUBLE)
                < LN(CAST($l_numerator AS DOUBLE) / CAST($l_denominator AS DOUBLE)) - CAST($tolerance AS DOUBLE)
       END
