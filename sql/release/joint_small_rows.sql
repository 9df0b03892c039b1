-- How many joint classes hold fewer than $k rows for certain, and how many rows these are at most.
-- Stand-in: joint (ppdm_part, ppdm_least, ppdm_most).  Parameter: $k.
SELECT COUNT(*) AS ppdm_classes, SUM(ppdm_size) AS ppdm_rows
FROM (
    SELECT ppdm_part, SUM(ppdm_most) AS ppdm_size
    FROM joint
    GROUP BY ppdm_part
    HAVING SUM(ppdm_least) < $k
) AS ppdm_small
