-- The rows that are out and that the source no longer has (gone) or has with other values (changed).
-- Stand-ins: keyed (ppdm_row0, ppdm_row1, ppdm_told: the rows of the source that are not out in this form), missing (the
-- same of the rows that are out and not in the source in this form, with ppdm_cohort).
SELECT
    m.ppdm_row0,
    m.ppdm_row1,
    m.ppdm_cohort,
    CASE WHEN k.ppdm_row0 IS NULL THEN 1 ELSE 2 END AS ppdm_how
FROM missing AS m
LEFT JOIN keyed AS k ON m.ppdm_row0 = k.ppdm_row0 AND m.ppdm_row1 = k.ppdm_row1
WHERE k.ppdm_row0 IS NULL OR k.ppdm_told <> m.ppdm_told
