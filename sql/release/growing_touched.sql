-- The rows that are out and that the source no longer has (gone) or has with other values (changed).
-- Stand-ins: keyed (ppdm_row0, ppdm_row1, ppdm_told: the rows of the source), grown (the same of the rows that are out,
-- with ppdm_cohort).
SELECT
    g.ppdm_row0,
    g.ppdm_row1,
    g.ppdm_cohort,
    CASE WHEN k.ppdm_row0 IS NULL THEN 1 ELSE 2 END AS ppdm_how
FROM grown AS g
LEFT JOIN keyed AS k ON g.ppdm_row0 = k.ppdm_row0 AND g.ppdm_row1 = k.ppdm_row1
WHERE g.ppdm_until IS NULL AND (k.ppdm_row0 IS NULL OR k.ppdm_told <> g.ppdm_told)
