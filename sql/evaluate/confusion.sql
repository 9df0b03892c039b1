-- How often each class was taken for which.
-- source: per row ppdm_truth and ppdm_told, the numbers of two classes.
SELECT ppdm_truth, ppdm_told, COUNT(*) AS ppdm_rows
FROM source
GROUP BY ppdm_truth, ppdm_told
