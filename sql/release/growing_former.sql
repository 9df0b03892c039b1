-- The rows that are published again tonight, as often as they were published before: with the number of the part that
-- leaves, and the place of each version of the row (1: the first one).
-- Stand-ins: leaving (ppdm_row0, ppdm_row1, ppdm_how, ppdm_number), grown (every row that was ever published).
SELECT
    g.*,
    l.ppdm_number,
    ROW_NUMBER() OVER (PARTITION BY g.ppdm_row0, g.ppdm_row1 ORDER BY g.ppdm_since, g.ppdm_cohort) AS ppdm_version
FROM leaving AS l
JOIN grown AS g ON g.ppdm_row0 = l.ppdm_row0 AND g.ppdm_row1 = l.ppdm_row1
WHERE l.ppdm_how = 2
