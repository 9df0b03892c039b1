-- The rows that leave tonight, with the number of the part of their cohort that leaves.
-- Stand-ins: parts (ppdm_row0, ppdm_row1, ppdm_cohort, ppdm_how), decided (ppdm_cohort, ppdm_how, ppdm_number; ppdm_how
-- 3 is the whole cohort).
SELECT p.ppdm_row0, p.ppdm_row1, d.ppdm_how, d.ppdm_number
FROM parts AS p
JOIN decided AS d ON d.ppdm_cohort = p.ppdm_cohort AND (d.ppdm_how = p.ppdm_how OR d.ppdm_how = 3)
