-- How many joint classes hold fewer than $k different persons, and how many persons these are (unknown ones as one).
-- A person of whom it is not certain that he is in the class (ppdm_least = 0) does not make it larger, nor does an
-- unknown one ($nobody): as in a release by itself, rows of nobody in particular protect nobody.
-- Stand-in: joint (ppdm_person, ppdm_part, ppdm_least).  Parameters: $k, $nobody.
SELECT COUNT(*) AS ppdm_classes, SUM(ppdm_size) AS ppdm_rows
FROM (
    SELECT ppdm_part, COUNT(DISTINCT ppdm_person) AS ppdm_size
    FROM joint
    GROUP BY ppdm_part
    HAVING COUNT(DISTINCT CASE WHEN ppdm_least > 0 AND ppdm_person <> $nobody THEN ppdm_person END) < $k
) AS ppdm_small
