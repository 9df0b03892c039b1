-- What a prediction of a number leaves open, and what the mean alone leaves open.
-- source: per row ppdm_truth and ppdm_told as numbers; rows in which one is NULL, NaN or infinite are not asked
-- (what is neither is nothing when it is taken from itself).
WITH ppdm_known AS (
    SELECT ppdm_truth, ppdm_told FROM source WHERE ppdm_truth - ppdm_truth = 0 AND ppdm_told - ppdm_told = 0
),
ppdm_middle AS (
    SELECT AVG(ppdm_truth) AS ppdm_mean FROM ppdm_known
)
SELECT
    COUNT(*) AS ppdm_rows,
    SUM((ppdm_truth - ppdm_told) * (ppdm_truth - ppdm_told)) AS ppdm_left,
    SUM((ppdm_truth - ppdm_mean) * (ppdm_truth - ppdm_mean)) AS ppdm_whole
FROM ppdm_known CROSS JOIN ppdm_middle
