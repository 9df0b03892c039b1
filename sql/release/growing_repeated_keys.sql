-- How many rows a source has, how many of them lack a key, and how many share one with another row.
-- Stand-in: keyed (ppdm_row0, ppdm_row1: the hash of a row's key, ppdm_lacking: 1 where the key has a NULL).
SELECT
    CAST(COALESCE(SUM(k.ppdm_rows), 0) AS BIGINT) AS ppdm_all,
    CAST(COALESCE(SUM(CASE WHEN k.ppdm_lacking > 0 THEN k.ppdm_rows ELSE 0 END), 0) AS BIGINT) AS ppdm_without,
    CAST(COALESCE(SUM(CASE WHEN k.ppdm_rows > 1 THEN k.ppdm_rows ELSE 0 END), 0) AS BIGINT) AS ppdm_repeated
FROM (
    SELECT ppdm_row0, ppdm_row1, MAX(ppdm_lacking) AS ppdm_lacking, COUNT(*) AS ppdm_rows
    FROM keyed
    GROUP BY ppdm_row0, ppdm_row1
) AS k
