-- How many joint classes hold fewer than $k different persons, and how many persons these are.
-- A person of whom it is not certain that he is in the class (ppdm_rows = 0) does not make it larger.
-- Stand-in: joint (ppdm_key0, ppdm_key1, ppdm_person, ppdm_part, ppdm_rows).  Parameter: $k.
SELECT COUNT(*) AS ppdm_classes, SUM(ppdm_size) AS ppdm_rows
FROM (
    SELECT ppdm_part, COUNT(DISTINCT ppdm_person) AS ppdm_size
    FROM joint
    GROUP BY ppdm_part
    HAVING COUNT(DISTINCT CASE WHEN ppdm_rows > 0 THEN ppdm_person END) < $k
) AS ppdm_small
