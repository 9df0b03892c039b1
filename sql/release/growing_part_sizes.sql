-- How many persons (or rows) of a cohort are in which of its parts: 1 those that stay, 2 those that are gone, 4 those
-- that changed, and sums of these for a person with rows in several parts.
-- Stand-ins: parts (ppdm_cohort, ppdm_how, ppdm_person), unit (the columns of a person or of a row).
-- Parameter: $nobody, which stands for a person that is not known.
SELECT p.ppdm_cohort, p.ppdm_where, COUNT(*) AS ppdm_units
FROM (
    SELECT
        ppdm_cohort,
        MAX(CASE WHEN ppdm_how = 0 THEN 1 ELSE 0 END)
        + MAX(CASE WHEN ppdm_how = 1 THEN 2 ELSE 0 END)
        + MAX(CASE WHEN ppdm_how = 2 THEN 4 ELSE 0 END) AS ppdm_where
    FROM parts
    WHERE ppdm_person <> $nobody
    GROUP BY ppdm_cohort, unit
) AS p
GROUP BY p.ppdm_cohort, p.ppdm_where
