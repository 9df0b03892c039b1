-- The keys of rows that are in the source and were never published, with the night on which each was first seen.
-- Stand-ins: keyed (ppdm_row0, ppdm_row1: the rows of the source that are not out in this form), known (those of them
-- that were ever published), waiting (the rows that wait, with ppdm_since).  Parameter: $night.
SELECT k.ppdm_row0, k.ppdm_row1, COALESCE(w.ppdm_since, $night) AS ppdm_since
FROM keyed AS k
LEFT JOIN waiting AS w ON w.ppdm_row0 = k.ppdm_row0 AND w.ppdm_row1 = k.ppdm_row1
WHERE NOT EXISTS (SELECT 1 FROM known AS g WHERE g.ppdm_row0 = k.ppdm_row0 AND g.ppdm_row1 = k.ppdm_row1)
