-- The rows that are out and that the source does not have in this form: they are gone, or they changed.
-- Stand-ins: quick (the rows of the source, with ppdm_quick, a number of the whole row), grown (every row that was ever
-- published, with the same number).
SELECT g.ppdm_row0, g.ppdm_row1, g.ppdm_told, g.ppdm_cohort, g.ppdm_until
FROM grown AS g
WHERE g.ppdm_until IS NULL AND NOT EXISTS (SELECT 1 FROM quick AS s WHERE s.ppdm_quick = g.ppdm_quick)
