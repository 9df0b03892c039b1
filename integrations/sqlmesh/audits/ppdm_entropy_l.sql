-- Made from sql/checks/entropy_diversity.sql by python -m integrations.generate
-- Equivalence classes whose sensitive values have an entropy below ln(l).  No row returned = entropy l-diverse.
-- Entropy of n known values with counts c: ln(n) - sum(c * ln(c)) / n; a class without a known value is returned.
-- Only known values count; with $null_is_value = 1 instead of 0 a NULL is a value of its own.
-- A class of equally frequent values has entropy ln(number of values) exactly, and is decided by that number; so is
-- a class without a known value, which has 0 of them.
-- For others logarithms are rounded: a class nearer to ln(l) than $tolerance passes; give 1e-9.  (Python's
-- ppdm_sql.checks.breaches gives a negative tolerance and decides the few classes in doubt by ppdm_counts,
-- in whole numbers.)
-- l is a fraction: for l = 2.5 give $l_numerator = 5 and $l_denominator = 2.
-- $null_is_value.
AUDIT (
  name ppdm_entropy_l,
  dialect duckdb,
  defaults (tolerance = 1e-9, null_is_value = 0)
);
WITH ppdm_cells AS (
  SELECT
    @EACH(@quasi, c -> c),
    COUNT(*) AS ppdm_rows,
    CASE WHEN NOT ppdm_sensitive IS NULL OR @null_is_value = 1 THEN COUNT(*) ELSE 0 END AS ppdm_count
  FROM (SELECT @EACH(@quasi, c -> c), @sensitive AS ppdm_sensitive FROM @this_model) AS ppdm_source
  GROUP BY
    @EACH(@quasi, c -> c),
    ppdm_sensitive
)
SELECT
  @EACH(@quasi, c -> c),
  SUM(ppdm_rows) AS ppdm_size,
  LISTAGG(CAST(NULLIF(ppdm_count, 0) AS TEXT), ',') AS ppdm_counts,
  LN(CAST(NULLIF(SUM(ppdm_count), 0) AS DOUBLE)) - SUM(ppdm_count * LN(CAST(NULLIF(ppdm_count, 0) AS DOUBLE))) / CAST(NULLIF(SUM(ppdm_count), 0) AS DOUBLE) AS ppdm_entropy
FROM ppdm_cells
GROUP BY
  @EACH(@quasi, c -> c)
HAVING
  CASE
    WHEN COUNT(NULLIF(ppdm_count, 0)) * MAX(ppdm_count) = SUM(ppdm_count)
    THEN COUNT(NULLIF(ppdm_count, 0)) * @l_denominator < @l_numerator
    ELSE LN(CAST(SUM(ppdm_count) AS DOUBLE)) - SUM(ppdm_count * LN(CAST(NULLIF(ppdm_count, 0) AS DOUBLE))) / CAST(SUM(ppdm_count) AS DOUBLE) < LN(CAST(@l_numerator AS DOUBLE) / CAST(@l_denominator AS DOUBLE)) - CAST(@tolerance AS DOUBLE)
  END
;
