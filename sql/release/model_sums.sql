-- Whether the counts of a model add up: per class, the children of a node have its rows, and the root has them all.
-- A file that is not there, or has no nodes, adds up to nothing, which is not what was measured.
-- Stand-in: counts (ppdm_number, ppdm_parent, ppdm_is_leaf, ppdm_class, ppdm_rows).  Parameter: $rows.
WITH ppdm_sums AS (
    SELECT p.ppdm_number, p.ppdm_class, MIN(p.ppdm_rows) AS ppdm_own, SUM(c.ppdm_rows) AS ppdm_below
    FROM counts AS p
    JOIN counts AS c ON c.ppdm_parent = p.ppdm_number AND c.ppdm_class = p.ppdm_class
    GROUP BY p.ppdm_number, p.ppdm_class
)
SELECT
    'counts add up to the rows it was learned from' AS requirement,
    CASE
        WHEN EXISTS (SELECT 1 FROM ppdm_sums WHERE ppdm_own IS DISTINCT FROM ppdm_below) THEN 'BREACHED'
        WHEN (SELECT SUM(ppdm_rows) FROM counts WHERE ppdm_is_leaf) IS DISTINCT FROM $rows THEN 'BREACHED'
        ELSE 'holds'
    END AS verdict
