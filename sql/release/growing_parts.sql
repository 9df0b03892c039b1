-- The rows of every cohort that some would leave, each with how it leaves; 0: it stays.
-- Stand-ins: grown (the rows that were ever published), touched (ppdm_row0, ppdm_row1, ppdm_cohort, ppdm_how).
SELECT g.*, COALESCE(t.ppdm_how, 0) AS ppdm_how
FROM grown AS g
JOIN (SELECT DISTINCT ppdm_cohort FROM touched) AS c ON c.ppdm_cohort = g.ppdm_cohort
LEFT JOIN touched AS t ON t.ppdm_row0 = g.ppdm_row0 AND t.ppdm_row1 = g.ppdm_row1
WHERE g.ppdm_until IS NULL
