-- Made from sql/checks/confidence_limit.sql by python -m integrations.generate
-- Equivalence classes that tell a sensitive value with more than the allowed confidence: the most frequent
-- value has more than this share of the known ones, or none is known.  No row returned = the limit is kept.
-- Only known values count; with $null_is_value = 1 instead of 0 a NULL is a value of its own.
-- The limit is a fraction, so that nothing is rounded: for 85 % give $limit_numerator = 85, $limit_denominator = 100.
AUDIT (
  name ppdm_confidence,
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
  MAX(ppdm_count) * @limit_denominator > SUM(ppdm_count) * @limit_numerator
  OR SUM(ppdm_count) = 0
;
