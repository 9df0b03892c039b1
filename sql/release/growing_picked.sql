-- The keys of the rows that could be published tonight, with the cohort that each left for it (0: it was never out).
-- Stand-ins: keyed (the rows of the source by their keys), fresh (ppdm_row0, ppdm_row1, ppdm_since of rows that were
-- never out), leaving (ppdm_row0, ppdm_row1, ppdm_number of rows that leave their cohort to be published again).
SELECT k.*, p.ppdm_history
FROM keyed AS k
JOIN (
    SELECT ppdm_row0, ppdm_row1, 0 AS ppdm_history FROM fresh
    UNION ALL
    SELECT ppdm_row0, ppdm_row1, ppdm_number AS ppdm_history FROM leaving WHERE ppdm_how = 2
) AS p ON p.ppdm_row0 = k.ppdm_row0 AND p.ppdm_row1 = k.ppdm_row1
