-- Whether a model of opened counts keeps what its manifest says: its hash, k rows in every class, in every printed cell
-- and in every pool, and pools spread evenly, so that no cell of a pool can be read off.
-- Parameters: $model and $manifest, the two files; $sha256 of the model.  For a recipient's DuckDB.
WITH ppdm_model AS (
    SELECT CAST(content AS JSON) AS body, SHA256(content) AS hash FROM READ_TEXT($model)
), ppdm_manifest AS (
    SELECT CAST(content AS JSON) AS body FROM READ_TEXT($manifest)
), ppdm_k AS (
    SELECT CAST(body ->> '$.k' AS BIGINT) AS k, body ->> '$.model.sha256' AS hash FROM ppdm_manifest
), ppdm_rows AS (
    SELECT UNNEST(CAST(body -> '$.model.priors' AS BIGINT[])) AS n FROM ppdm_model
), ppdm_attributes AS (
    SELECT UNNEST(CAST(body -> '$.model.attributes' AS JSON[])) AS body,
           UNNEST(RANGE(CAST(JSON_ARRAY_LENGTH(body, '$.model.attributes') AS BIGINT))) AS attribute
    FROM ppdm_model
), ppdm_codes AS (
    SELECT attribute, UNNEST(CAST(body -> '$.counted.counts' AS BIGINT[][])) AS counts,
           UNNEST(RANGE(CAST(JSON_ARRAY_LENGTH(body, '$.counted.counts') AS BIGINT))) AS code,
           JSON_ARRAY_LENGTH(body, '$.counted.counts') AS codes,
           JSON_EXISTS(body, '$.counted.categories') AS named
    FROM ppdm_attributes
), ppdm_cells AS (
    SELECT attribute, code, UNNEST(counts) AS n, UNNEST(RANGE(LEN(counts))) AS class
    FROM ppdm_codes
    WHERE NOT (named AND code = codes - 1 AND LIST_SUM(counts) = 0)  -- no value is unnamed
), ppdm_pools AS (
    SELECT CAST(pool ->> '$.attribute' AS BIGINT) AS attribute, CAST(pool ->> '$.class' AS BIGINT) AS class,
           CAST(pool -> '$.codes' AS BIGINT[]) AS codes, CAST(pool ->> '$.rows' AS BIGINT) AS n
    FROM (SELECT UNNEST(CAST(body -> '$.pools' AS JSON[])) AS pool FROM ppdm_manifest)
), ppdm_pooled AS (
    SELECT c.n, p.n AS pool_rows, LEN(p.codes) AS pool_cells
    FROM ppdm_cells AS c
    LEFT JOIN ppdm_pools AS p ON p.attribute = c.attribute AND p.class = c.class AND LIST_CONTAINS(p.codes, c.code)
)
SELECT 'the file is the one of the manifest' AS ppdm_check,
       CASE WHEN m.hash = k.hash AND m.hash = $sha256 THEN 'holds' ELSE 'BREACHED' END AS ppdm_verdict
FROM ppdm_model AS m CROSS JOIN ppdm_k AS k
UNION ALL
SELECT 'every class has k rows', CASE WHEN MIN(r.n) >= MIN(k.k) THEN 'holds' ELSE 'BREACHED' END
FROM ppdm_rows AS r CROSS JOIN ppdm_k AS k
UNION ALL
SELECT 'every cell outside of a pool has k rows',
       CASE WHEN COALESCE(MIN(c.n) FILTER (WHERE c.pool_rows IS NULL), MIN(k.k)) >= MIN(k.k) THEN 'holds' ELSE 'BREACHED' END
FROM ppdm_pooled AS c CROSS JOIN ppdm_k AS k
UNION ALL
SELECT 'every pool has k rows and at least two cells',
       CASE WHEN COUNT(*) FILTER (WHERE p.n < k.k OR LEN(p.codes) < 2) = 0 THEN 'holds' ELSE 'BREACHED' END
FROM ppdm_pools AS p CROSS JOIN ppdm_k AS k
UNION ALL
SELECT 'every pool is spread evenly over its cells',
       CASE WHEN COUNT(*) FILTER (WHERE ABS(c.n * c.pool_cells - c.pool_rows) >= c.pool_cells) = 0 THEN 'holds' ELSE 'BREACHED' END
FROM ppdm_pooled AS c
WHERE c.pool_rows IS NOT NULL
