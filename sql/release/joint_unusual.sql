-- How many rows of either release have raw quasi-identifiers that no other row of it has, and how many of these
-- combinations are unusual in both.
-- Stand-ins: left_link, right_link, each with ppdm_quasi, ppdm_rows.
WITH ppdm_left AS (
    SELECT ppdm_quasi FROM left_link GROUP BY ppdm_quasi HAVING SUM(ppdm_rows) = 1
), ppdm_right AS (
    SELECT ppdm_quasi FROM right_link GROUP BY ppdm_quasi HAVING SUM(ppdm_rows) = 1
)
SELECT
    (SELECT COUNT(*) FROM ppdm_left) AS ppdm_left_rows,
    (SELECT COUNT(*) FROM ppdm_right) AS ppdm_right_rows,
    (SELECT COUNT(*) FROM ppdm_left AS a JOIN ppdm_right AS b ON a.ppdm_quasi = b.ppdm_quasi) AS ppdm_both
