-- Made from sql/checks/beta_likeness.sql by python -m integrations.generate
-- Equivalence classes in which some sensitive value is too much more frequent than in the whole relation.
-- No row returned = basic beta-likeness (Cao and Karras 2012): (q - p) / p <= beta for every value, q being its share
-- among the known values of the class and p among those of the relation.  A class without a known value is returned.
-- q / p = count * rows / (known * everywhere), so with beta = numerator / denominator whole numbers decide.
-- Only known values count; with $null_is_value = 1 instead of 0 a NULL is a value of its own.
AUDIT (
  name ppdm_beta,
  dialect duckdb,
  defaults (null_is_value = 0)
);
WITH ppdm_cells AS (
  SELECT
    @EACH(@quasi, c -> c),
    ppdm_sensitive AS ppdm_value,
    SUM(COUNT(*)) OVER (PARTITION BY @EACH(@quasi, c -> c)) AS ppdm_size,
    CASE WHEN NOT ppdm_sensitive IS NULL OR @null_is_value = 1 THEN COUNT(*) ELSE 0 END AS ppdm_count
  FROM (SELECT @EACH(@quasi, c -> c), @sensitive AS ppdm_sensitive FROM @this_model) AS ppdm_source
  GROUP BY
    @EACH(@quasi, c -> c),
    ppdm_sensitive
), ppdm_shares AS (
  SELECT
    @EACH(@quasi, c -> c),
    ppdm_size,
    CAST(ppdm_count AS DECIMAL(38, 0)) AS ppdm_count,
    CAST(SUM(ppdm_count) OVER (PARTITION BY @EACH(@quasi, c -> c)) AS DECIMAL(38, 0)) AS ppdm_known,
    CAST(SUM(ppdm_count) OVER (PARTITION BY ppdm_value) AS DECIMAL(38, 0)) AS ppdm_everywhere,
    CAST(SUM(ppdm_count) OVER () AS DECIMAL(38, 0)) AS ppdm_rows
  FROM ppdm_cells
)
SELECT
  @EACH(@quasi, c -> c),
  MAX(ppdm_size) AS ppdm_size,
  MAX(ppdm_known) AS ppdm_known
FROM ppdm_shares
GROUP BY
  @EACH(@quasi, c -> c)
HAVING
  MAX(
    CASE
      WHEN ppdm_count * ppdm_rows * @beta_denominator > ppdm_known * ppdm_everywhere * (
        CAST(@beta_numerator AS DECIMAL(38, 0)) + @beta_denominator
      )
      THEN 1
      ELSE 0
    END
  ) = 1
  OR MAX(ppdm_known) = 0
;
