-- Certificate of release loans_pseudo (02bbd9fe0f044b338704682331685bc6)
-- Re-derives from the released rows alone what the manifest promises:
--     duckdb < pseudo.csv.certificate.sql        (in the folder of the file)
-- It prints one row, the hash of the rows: it must be export.content_hash of the manifest.
-- Not promised: diversity: no k, l or t is claimed of pseudo-rows: their guarantee is that of the model they were made from
-- Not promised: pseudo: these rows were made from a model and describe nobody; nothing that holds of them need hold of people

CREATE OR REPLACE TEMPORARY VIEW "ppdm_release" AS
SELECT
  CAST("debt" AS BIGINT) AS "debt",
  "risk" AS "risk"
FROM READ_CSV('pseudo.csv', header := TRUE, all_varchar := TRUE, allow_quoted_nulls := FALSE);

-- the rows themselves: compare with export.content_hash in the manifest
SELECT
  SHA256(
    '["ppdm-content/1", ["debt", "risk"]' || ', ' || CAST(ppdm_rows AS TEXT) || ', ' || CAST(ppdm_first_sum AS TEXT) || ', ' || CAST(ppdm_second_sum AS TEXT) || ']'
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
          'ppdm-content/1|' || COALESCE(CAST(LENGTH(CAST("debt" AS TEXT)) AS TEXT) || ':' || CAST("debt" AS TEXT), '-') || COALESCE(CAST(LENGTH(CAST("risk" AS TEXT)) AS TEXT) || ':' || CAST("risk" AS TEXT), '-')
        ),
        1,
        15
      ) AS BIGINT) AS "ppdm_first",
      CAST('0x' || SUBSTRING(
        MD5(
          'ppdm-content/1|' || COALESCE(CAST(LENGTH(CAST("debt" AS TEXT)) AS TEXT) || ':' || CAST("debt" AS TEXT), '-') || COALESCE(CAST(LENGTH(CAST("risk" AS TEXT)) AS TEXT) || ':' || CAST("risk" AS TEXT), '-')
        ),
        16,
        15
      ) AS BIGINT) AS "ppdm_second"
    FROM "ppdm_release"
  ) AS source
) AS ppdm_lanes;
