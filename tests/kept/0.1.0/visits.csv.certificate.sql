-- Certificate of release visits_open (b654257aa70a482b8033649637767921)
-- Re-derives from the released rows alone what the manifest promises:
--     duckdb < visits.csv.certificate.sql        (in the folder of the file)
-- Every row it prints must say 'holds', and the last be export.content_hash of the manifest.
-- Quasi-identifiers: age, ward
-- k was measured by persons; the rows here can only show that it holds by rows, too.
-- Not promised: background: knowledge beyond the declared quasi-identifiers can narrow a class further
-- Not promised: downcoding: a region's boundaries say where a further cut was not possible, which can narrow single values
-- Not promised: joint: somebody who also holds other data about the same people can combine it with this release
-- Not promised: joint_values: together with other releases k alone is judged: l, t and confidence can be less
-- Not promised: membership: whether a given person is in the table is not hidden
-- Not promised: minimality: who knows the method can sometimes tell more than the classes say: every cut that could be made was made

CREATE OR REPLACE TEMPORARY VIEW "ppdm_release" AS
SELECT
  "age" AS "age",
  "ward" AS "ward",
  "ill" AS "ill"
FROM READ_CSV('visits.csv', header := TRUE, all_varchar := TRUE, allow_quoted_nulls := FALSE);

-- k = 4
SELECT
  'k = 4' AS "requirement",
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
      "ppdm_q2",
      COUNT(*) AS ppdm_size
    FROM (
      SELECT
        CAST(CAST("age" AS TEXT) AS TEXT) COLLATE "C" AS "ppdm_q1",
        CAST(CAST("ward" AS TEXT) AS TEXT) COLLATE "C" AS "ppdm_q2"
      FROM "ppdm_release"
    ) AS source
    GROUP BY
      "ppdm_q1",
      "ppdm_q2"
  )
  SELECT
    CASE WHEN ppdm_size < 4 THEN 1 ELSE 0 END AS ppdm_breach,
    ppdm_size AS ppdm_over,
    1 AS ppdm_under,
    COUNT(*) AS ppdm_classes,
    SUM(ppdm_size) AS ppdm_rows
  FROM ppdm_class
  GROUP BY
    ppdm_size
) AS ppdm_measured;

-- simple_l = 1.2 on ill
SELECT
  'simple_l = 1.2' AS "requirement",
  'ill' AS "column",
  COALESCE(SUM(CASE WHEN ppdm_breach = 1 THEN ppdm_classes END), 0) AS "breaching_classes",
  CASE
    WHEN COUNT(*) = 0
    THEN 'BREACHED: there are no rows'
    WHEN COALESCE(SUM(CASE WHEN ppdm_breach = 1 THEN ppdm_classes END), 0) > 0
    THEN 'BREACHED'
    ELSE 'holds'
  END AS "verdict"
FROM (
  WITH ppdm_value AS (
    SELECT
      "ppdm_q1",
      "ppdm_q2",
      sensitive,
      COUNT(*) AS ppdm_rows,
      CASE WHEN sensitive IS NULL AND 0 = 0 THEN 0 ELSE COUNT(*) END AS ppdm_count
    FROM (
      SELECT
        CAST(CAST("age" AS TEXT) AS TEXT) COLLATE "C" AS "ppdm_q1",
        CAST(CAST("ward" AS TEXT) AS TEXT) COLLATE "C" AS "ppdm_q2",
        CAST(CAST("ill" AS TEXT) AS TEXT) COLLATE "C" AS "sensitive"
      FROM "ppdm_release"
    ) AS source
    GROUP BY
      "ppdm_q1",
      "ppdm_q2",
      sensitive
  ), ppdm_class AS (
    SELECT
      "ppdm_q1",
      "ppdm_q2",
      SUM(ppdm_rows) AS ppdm_size,
      CAST(SUM(ppdm_count) AS DECIMAL(38, 0)) AS ppdm_known,
      CAST(MAX(ppdm_count) AS DECIMAL(38, 0)) AS ppdm_head
    FROM ppdm_value
    GROUP BY
      "ppdm_q1",
      "ppdm_q2"
  )
  SELECT
    CASE WHEN ppdm_known = 0 OR ppdm_head * 6 > ppdm_known * 5 THEN 1 ELSE 0 END AS ppdm_breach,
    ppdm_known AS ppdm_over,
    ppdm_head AS ppdm_under,
    COUNT(*) AS ppdm_classes,
    SUM(ppdm_size) AS ppdm_rows
  FROM ppdm_class
  GROUP BY
    ppdm_known,
    ppdm_head
) AS ppdm_measured;

-- the rows themselves: compare with export.content_hash in the manifest
SELECT
  SHA256(
    '["ppdm-content/1", ["age", "ward", "ill"]' || ', ' || CAST(ppdm_rows AS TEXT) || ', ' || CAST(ppdm_first_sum AS TEXT) || ', ' || CAST(ppdm_second_sum AS TEXT) || ']'
  ) AS "content_hash"
FROM (
  SELECT
    COUNT(*) AS ppdm_rows,
    COALESCE(SUM(CAST(ppdm_first AS DECIMAL(38, 0))), 0) AS ppdm_first_sum,
    COALESCE(SUM(CAST(ppdm_second AS DECIMAL(38, 0))), 0) AS ppdm_second_sum
  FROM (
    SELECT
      CAST('0x' || SUBSTRING(
        MD5(
          'ppdm-content/1|' || COALESCE(CAST(LENGTH(CAST("age" AS TEXT)) AS TEXT) || ':' || CAST("age" AS TEXT), '-') || COALESCE(CAST(LENGTH(CAST("ward" AS TEXT)) AS TEXT) || ':' || CAST("ward" AS TEXT), '-') || COALESCE(CAST(LENGTH(CAST("ill" AS TEXT)) AS TEXT) || ':' || CAST("ill" AS TEXT), '-')
        ),
        1,
        15
      ) AS BIGINT) AS "ppdm_first",
      CAST('0x' || SUBSTRING(
        MD5(
          'ppdm-content/1|' || COALESCE(CAST(LENGTH(CAST("age" AS TEXT)) AS TEXT) || ':' || CAST("age" AS TEXT), '-') || COALESCE(CAST(LENGTH(CAST("ward" AS TEXT)) AS TEXT) || ':' || CAST("ward" AS TEXT), '-') || COALESCE(CAST(LENGTH(CAST("ill" AS TEXT)) AS TEXT) || ':' || CAST("ill" AS TEXT), '-')
        ),
        16,
        15
      ) AS BIGINT) AS "ppdm_second"
    FROM "ppdm_release"
  ) AS source
) AS ppdm_lanes;
