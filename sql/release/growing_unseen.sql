-- The rows of the source that are not out in this form: they are new, or they changed.
-- Stand-ins: quick (the rows of the source, with ppdm_quick, a number of the whole row), grown (every row that was ever
-- published, with the same number).
SELECT s.*
FROM quick AS s
WHERE NOT EXISTS (SELECT 1 FROM grown AS g WHERE g.ppdm_until IS NULL AND g.ppdm_quick = s.ppdm_quick)
