-- Area under the ROC curve of one class, in whole numbers: twice the pairs of a row of the class and another row in
-- which the first is thought more likely (a tie is half a pair), and how many rows of both kinds there are.
-- source: per row ppdm_positive (1 for the class, else 0) and ppdm_probability.
WITH ppdm_scores AS (
    SELECT ppdm_probability, SUM(ppdm_positive) AS ppdm_in, SUM(1 - ppdm_positive) AS ppdm_out
    FROM source
    GROUP BY ppdm_probability
),
ppdm_placed AS (
    SELECT
        ppdm_in,
        ppdm_out,
        SUM(ppdm_out) OVER (
            ORDER BY ppdm_probability ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) - ppdm_out AS ppdm_below
    FROM ppdm_scores
)
SELECT
    COALESCE(SUM(ppdm_in * (2 * ppdm_below + ppdm_out)), 0) AS ppdm_pairs,
    COALESCE(SUM(ppdm_in), 0) AS ppdm_in,
    COALESCE(SUM(ppdm_out), 0) AS ppdm_out
FROM ppdm_placed
