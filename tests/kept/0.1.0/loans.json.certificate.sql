-- Certificate of model loans_model (a50ff3b6fdd94aca9d41675bd3dd7f28)
--     duckdb < loans.json.certificate.sql        (in the folder of the file)
-- Every row it prints must say 'holds'.
-- Columns that an attacker is taken to know: age, marital
-- Not promised: background: knowledge beyond the declared quasi-identifiers can narrow a class further
-- Not promised: homogeneity: k says nothing of what a group has in common: the class of everybody in a group of one class is known
-- Not promised: joint: somebody who also holds other data about the same people can combine it with this release
-- Not promised: membership: whether a given person is in the table is not hidden
-- Not promised: private tests: tests of private attributes tell how these are spread in a group; only sensitive columns are kept diverse
-- Not promised: refusals: who knows the method can conclude from a split that is not there that some part would have been small
-- Not promised: rows: k counts rows, not people: name an ENTITY when a person can have several rows

SELECT
  'the file is the one that was measured' AS requirement,
  CASE
    WHEN COUNT(*) = 1
    AND MIN(SHA256(content)) = 'e71207220537477d58f3bc94cf40694f137af3e9093ff8aee4573c1c3b4d3e68'
    THEN 'holds'
    ELSE 'BREACHED'
  END AS verdict
FROM READ_TEXT('loans.json');

CREATE OR REPLACE TEMPORARY TABLE "ppdm_counts" AS
WITH ppdm_listed AS (
  SELECT
    UNNEST(CAST(content -> '$.model.nodes' AS JSON[])) AS ppdm_node
  FROM READ_TEXT('loans.json')
), ppdm_split AS (
  SELECT
    CAST(ppdm_node -> '$.number' AS BIGINT) AS ppdm_number,
    CAST(ppdm_node -> '$.parent' AS BIGINT) AS ppdm_parent,
    (
      ppdm_node -> '$.split'
    ) IS NULL AS ppdm_is_leaf,
    CAST(ppdm_node -> '$.counts' AS BIGINT[]) AS ppdm_counts
  FROM ppdm_listed
)
SELECT
  ppdm_number,
  ppdm_parent,
  ppdm_is_leaf,
  UNNEST(RANGE(0, LENGTH(ppdm_counts))) AS ppdm_class,
  UNNEST(ppdm_counts) AS ppdm_rows
FROM ppdm_split;

WITH ppdm_sums AS (
  SELECT
    p.ppdm_number,
    p.ppdm_class,
    MIN(p.ppdm_rows) AS ppdm_own,
    SUM(c.ppdm_rows) AS ppdm_below
  FROM "ppdm_counts" AS p
  JOIN "ppdm_counts" AS c
    ON c.ppdm_parent = p.ppdm_number AND c.ppdm_class = p.ppdm_class
  GROUP BY
    p.ppdm_number,
    p.ppdm_class
)
SELECT
  'counts add up to the rows it was learned from' AS requirement,
  CASE
    WHEN EXISTS(
      SELECT
        1
      FROM ppdm_sums
      WHERE
        ppdm_own IS DISTINCT FROM ppdm_below
    )
    THEN 'BREACHED'
    WHEN (
      SELECT
        SUM(ppdm_rows)
      FROM "ppdm_counts"
      WHERE
        ppdm_is_leaf
    ) IS DISTINCT FROM 200
    THEN 'BREACHED'
    ELSE 'holds'
  END AS verdict;

CREATE OR REPLACE TEMPORARY TABLE "ppdm_groups" AS
SELECT
  CAST("ppdm_number" AS BIGINT) AS "ppdm_number",
  CAST("ppdm_group" AS BIGINT) AS "ppdm_group"
FROM (VALUES
  (1, 0),
  (2, 0)) AS "v"("ppdm_number", "ppdm_group");

CREATE OR REPLACE TEMPORARY TABLE "ppdm_release" AS
SELECT
  "ppdm_group",
  "ppdm_class"
FROM (
  SELECT
    "g"."ppdm_group",
    "c"."ppdm_class",
    UNNEST(RANGE("c"."ppdm_rows")) AS "ppdm_turn"
  FROM "ppdm_counts" AS "c"
  JOIN "ppdm_groups" AS "g"
    ON "g"."ppdm_number" = "c"."ppdm_number"
) AS p;

-- k = 10
SELECT
  'k = 10' AS "requirement",
  '' AS "column",
  COALESCE(SUM(CASE WHEN ppdm_breach = 1 THEN ppdm_classes END), 0) AS "breaching_classes",
  CASE
    WHEN COUNT(*) = 0
    THEN 'BREACHED: there are no rows'
    WHEN COALESCE(SUM(CASE WHEN ppdm_breach = 1 THEN ppdm_classes END), 0) > 0
    THEN 'BREACHED'
    ELSE 'holds'
  END AS "verdict"
FROM (
  WITH ppdm_class AS (
    SELECT
      "ppdm_q1",
      COUNT(*) AS ppdm_size
    FROM (
      SELECT
        "ppdm_group" AS "ppdm_q1"
      FROM "ppdm_release"
    ) AS source
    GROUP BY
      "ppdm_q1"
  )
  SELECT
    CASE WHEN ppdm_size < 10 THEN 1 ELSE 0 END AS ppdm_breach,
    ppdm_size AS ppdm_over,
    1 AS ppdm_under,
    COUNT(*) AS ppdm_classes,
    SUM(ppdm_size) AS ppdm_rows
  FROM ppdm_class
  GROUP BY
    ppdm_size
) AS ppdm_measured;
