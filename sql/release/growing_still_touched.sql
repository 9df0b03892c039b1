-- How many rows are still out although the source has them no longer (ppdm_how = 1) or with other values (2).
-- Stand-ins: touched (ppdm_row0, ppdm_row1, ppdm_cohort, ppdm_how: before tonight), grown.
SELECT t.ppdm_how, COUNT(*) AS ppdm_rows
FROM touched AS t
JOIN grown AS g
    ON g.ppdm_row0 = t.ppdm_row0 AND g.ppdm_row1 = t.ppdm_row1 AND g.ppdm_cohort = t.ppdm_cohort AND g.ppdm_until IS NULL
GROUP BY t.ppdm_how
