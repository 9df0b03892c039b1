-- What differs between the source and what is out: rows of the source that are not out in this form (they are new, or
-- they changed), and rows that are out and that the source does not have in this form (they are gone, or they changed).
-- Both are read once.  A row of the source has NULL in the columns of the other side, and the other way round.
-- Stand-ins: quick (the rows of the source, with ppdm_quick, a number of the whole row), grown (every row that was ever
-- published, with the same number).
SELECT s.*, g.ppdm_out0, g.ppdm_out1, g.ppdm_out_told, g.ppdm_out_cohort
FROM quick AS s
FULL JOIN (
    SELECT
        ppdm_quick AS ppdm_out_quick,
        ppdm_row0 AS ppdm_out0,
        ppdm_row1 AS ppdm_out1,
        ppdm_told AS ppdm_out_told,
        ppdm_cohort AS ppdm_out_cohort
    FROM grown
    WHERE ppdm_until IS NULL
) AS g ON g.ppdm_out_quick = s.ppdm_quick
WHERE s.ppdm_quick IS NULL OR g.ppdm_out_quick IS NULL
