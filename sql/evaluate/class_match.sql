-- How many rows two models answered, and on how many of them they said the same.
-- first, second: per row ppdm_row, its number, and ppdm_text, the predicted class (NULL is one).
SELECT
    COUNT(*) AS ppdm_rows,
    COALESCE(SUM(CASE
        WHEN first.ppdm_text = second.ppdm_text OR (first.ppdm_text IS NULL AND second.ppdm_text IS NULL) THEN 1
        ELSE 0
    END), 0) AS ppdm_same
FROM first JOIN second ON first.ppdm_row = second.ppdm_row
