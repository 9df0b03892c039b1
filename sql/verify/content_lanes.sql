-- What is stored, whatever its order: the number of rows and the sums of two 60-bit hashes of every row.
-- Equal rows count as often as they occur.  A sum of 10^9 such numbers has 28 digits of the 38 there are.
-- Stand-ins: source (ppdm_first, ppdm_second: the two halves of the md5 of a row; ppdm_count: how often it occurs).
SELECT
    CAST(COALESCE(SUM(ppdm_count), 0) AS BIGINT) AS ppdm_rows,
    COALESCE(SUM(CAST(ppdm_first AS DECIMAL(19, 0)) * ppdm_count), 0) AS ppdm_first_sum,
    COALESCE(SUM(CAST(ppdm_second AS DECIMAL(19, 0)) * ppdm_count), 0) AS ppdm_second_sum
FROM source
