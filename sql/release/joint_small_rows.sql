-- How many joint classes hold fewer than $k rows, and how many rows these are.
-- Stand-in: joint (ppdm_key0, ppdm_key1, ppdm_person, ppdm_part, ppdm_rows).  Parameter: $k.
SELECT COUNT(*) AS ppdm_classes, SUM(ppdm_size) AS ppdm_rows
FROM (
    SELECT ppdm_part, SUM(ppdm_rows) AS ppdm_size
    FROM joint
    GROUP BY ppdm_part
    HAVING SUM(ppdm_rows) < $k
) AS ppdm_small
