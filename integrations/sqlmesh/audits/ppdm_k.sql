-- Made from sql/checks/undersized_classes.sql by python -m integrations.generate
-- Equivalence classes of fewer than $k rows.  No row returned = the relation is k-anonymous.
-- NULL is a value of its own: GROUP BY puts the NULLs of a column together.
AUDIT (
  name ppdm_k,
  dialect duckdb
);
SELECT
  @EACH(@quasi, c -> c),
  COUNT(*) AS ppdm_size
FROM (SELECT @EACH(@quasi, c -> c) FROM @this_model) AS ppdm_source
GROUP BY
  @EACH(@quasi, c -> c)
HAVING
  COUNT(*) < @k
;
