-- Made from sql/checks/simple_diversity.sql by python -m integrations.generate
-- Equivalence classes in which the most frequent sensitive value has more than 1/l of the known ones.
-- No row returned = simple l-diverse: head * l <= known in every class, and some value is known.
-- Only known values count; with $null_is_value = 1 instead of 0 a NULL is a value of its own.
-- l is a fraction, so that nothing is rounded: for l = 2.5 give $l_numerator = 5 and $l_denominator = 2.
AUDIT (
  name ppdm_simple_l,
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
)
SELECT
  @EACH(@quasi, c -> c),
  SUM(ppdm_rows) AS ppdm_size,
  SUM(ppdm_count) AS ppdm_known,
  MAX(ppdm_count) AS ppdm_head
FROM ppdm_counts
GROUP BY
  @EACH(@quasi, c -> c)
HAVING
  MAX(ppdm_count) * @l_numerator > SUM(ppdm_count) * @l_denominator
  OR SUM(ppdm_count) = 0
;
