-- The rows that are out and that the source does not have in this form: they are gone, or they changed.
-- Stand-in: changes (what differs between the source and what is out).
SELECT
    c.ppdm_out0 AS ppdm_row0,
    c.ppdm_out1 AS ppdm_row1,
    c.ppdm_out_told AS ppdm_told,
    c.ppdm_out_cohort AS ppdm_cohort
FROM changes AS c
WHERE c.ppdm_quick IS NULL
