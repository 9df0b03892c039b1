-- Made from sql/checks/recursive_diversity.sql by python -m integrations.generate
-- Equivalence classes that break recursive (c, l)-diversity.  No row returned = satisfied.
-- Machanavajjhala et al. 2007: f1 < c * (f_l + ... + f_m), f_i = i-th most frequent sensitive value.
-- Counts stand in for frequencies: both sides have the same divisor.
-- Only known values count; with $null_is_value = 1 instead of 0 a NULL is a value of its own.
-- A class of fewer than l values has an empty tail and fails for every c.
-- c is a fraction, so that nothing is rounded: for c = 2.5 give $c_numerator = 5 and $c_denominator = 2.
AUDIT (
  name ppdm_recursive_l,
  dialect duckdb,
  defaults (null_is_value = 0)
);
WITH ppdm_counts AS (
  SELECT
    @EACH(@quasi, c -> c),
    COUNT(*) AS ppdm_rows,
    CASE WHEN NOT ppdm_sensitive IS NULL OR @null_is_value = 1 THEN COUNT(*) ELSE 0 END AS ppdm_count
  FROM (SELECT @EACH(@quasi, c -> c), @sensitive AS ppdm_sensitive FROM @this_model) AS ppdm_source
  GROUP BY
    @EACH(@quasi, c -> c),
    ppdm_sensitive
), ppdm_ranked AS (
  SELECT
    @EACH(@quasi, c -> c),
    ppdm_rows,
    ppdm_count,
    ROW_NUMBER() OVER (PARTITION BY @EACH(@quasi, c -> c) ORDER BY ppdm_count DESC) AS ppdm_position
  FROM ppdm_counts
)
SELECT
  @EACH(@quasi, c -> c),
  SUM(ppdm_rows) AS ppdm_size,
  MAX(ppdm_count) AS ppdm_head,
  SUM(CASE WHEN ppdm_position >= @l THEN ppdm_count ELSE 0 END) AS ppdm_tail
FROM ppdm_ranked
GROUP BY
  @EACH(@quasi, c -> c)
HAVING
  MAX(ppdm_count) * @c_denominator >= SUM(CASE WHEN ppdm_position >= @l THEN ppdm_count ELSE 0 END) * @c_numerator
;
