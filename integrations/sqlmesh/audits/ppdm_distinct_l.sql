-- Made from sql/checks/distinct_diversity.sql by python -m integrations.generate
-- Equivalence classes with fewer than $l different sensitive values.  No row returned = distinct l-diverse.
-- Only known values count; with $null_is_value = 1 instead of 0 a NULL is a value of its own.
AUDIT (
  name ppdm_distinct_l,
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
  COUNT(NULLIF(ppdm_count, 0)) AS ppdm_distinct
FROM ppdm_counts
GROUP BY
  @EACH(@quasi, c -> c)
HAVING
  COUNT(NULLIF(ppdm_count, 0)) < @l
;
