-- Audit of model loans_model (a50ff3b6fdd94aca9d41675bd3dd7f28)
-- For somebody who has the source: the groups that the model lets an attacker form among its people.
-- Make the rows that were asked for readable as ppdm_source, with the columns age, marital, risk.
-- Every SELECT returns the groups that break a requirement: no row means that it holds.  It writes nothing.

-- k = 10
WITH "ppdm_spans" AS (
  SELECT
    '0 ' || (
      '1 ' || '2 '
    ) AS "ppdm_span",
    CAST(CAST("r"."risk" AS TEXT) AS TEXT) COLLATE "C" AS "ppdm_sensitive_0"
  FROM "ppdm_source" AS "r"
)
SELECT
  "ppdm_span",
  COUNT(*) AS ppdm_size
FROM (
  SELECT
    CAST("ppdm_span" AS TEXT) COLLATE "C" AS "ppdm_span"
  FROM "ppdm_spans"
) AS "ppdm_source"
GROUP BY
  "ppdm_span"
HAVING
  COUNT(*) < 10;
