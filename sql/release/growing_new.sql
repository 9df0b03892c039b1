-- The keys of rows that are in the source and were never published, with the night on which each was first seen.
-- Stand-ins: keyed (ppdm_row0, ppdm_row1: the rows of the source), grown (the same of every row that was ever
-- published), waiting (the same of rows that wait, with ppdm_since).  Parameter: $night.
SELECT k.ppdm_row0, k.ppdm_row1, COALESCE(w.ppdm_since, $night) AS ppdm_since
FROM keyed AS k
LEFT JOIN grown AS g ON g.ppdm_row0 = k.ppdm_row0 AND g.ppdm_row1 = k.ppdm_row1
LEFT JOIN waiting AS w ON w.ppdm_row0 = k.ppdm_row0 AND w.ppdm_row1 = k.ppdm_row1
WHERE g.ppdm_row0 IS NULL
