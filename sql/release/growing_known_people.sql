-- The late rows of people who have no row in the release yet.
-- Stand-ins: late (with ppdm_person), grown (every row that was ever published).  Parameter: $nobody.
SELECT l.*
FROM late AS l
LEFT JOIN (SELECT DISTINCT ppdm_person FROM grown WHERE ppdm_person <> $nobody) AS g ON g.ppdm_person = l.ppdm_person
WHERE g.ppdm_person IS NULL OR l.ppdm_history > 0
