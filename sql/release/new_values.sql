-- The printed values that a relation holds more often than the one it was made from: none where rows were only left out.
-- before, after: ppdm_text, the value with its length in front (NULL has a form of its own).
WITH ppdm_was AS (
    SELECT ppdm_text, COUNT(*) AS ppdm_rows FROM before GROUP BY ppdm_text
),
ppdm_now AS (
    SELECT ppdm_text, COUNT(*) AS ppdm_rows FROM after GROUP BY ppdm_text
)
SELECT
    (SELECT COUNT(*) FROM ppdm_was) AS ppdm_before,
    COUNT(*) AS ppdm_after,
    COALESCE(SUM(CASE WHEN ppdm_now.ppdm_rows > COALESCE(ppdm_was.ppdm_rows, 0) THEN 1 ELSE 0 END), 0) AS ppdm_new
FROM ppdm_now LEFT JOIN ppdm_was ON ppdm_was.ppdm_text = ppdm_now.ppdm_text
