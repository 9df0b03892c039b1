-- In how far two releases say another thing of another person: keys that have not the same rows in both, and classes
-- that the other release parts.  Both are 0 when one of them reveals nothing about the other.
-- Stand-ins: left_link, right_link, each (ppdm_key0, ppdm_key1, ppdm_person, ppdm_part, ppdm_rows).
WITH ppdm_left AS (
    SELECT ppdm_key0, ppdm_key1, ppdm_person, SUM(ppdm_rows) AS ppdm_rows
    FROM left_link
    GROUP BY ppdm_key0, ppdm_key1, ppdm_person
), ppdm_right AS (
    SELECT ppdm_key0, ppdm_key1, ppdm_person, SUM(ppdm_rows) AS ppdm_rows
    FROM right_link
    GROUP BY ppdm_key0, ppdm_key1, ppdm_person
), ppdm_same AS (
    SELECT a.ppdm_key0
    FROM ppdm_left AS a
    JOIN ppdm_right AS b ON a.ppdm_key0 = b.ppdm_key0 AND a.ppdm_key1 = b.ppdm_key1
        AND a.ppdm_person = b.ppdm_person AND a.ppdm_rows = b.ppdm_rows
), ppdm_pair AS (
    SELECT DISTINCT a.ppdm_part AS ppdm_left_part, b.ppdm_part AS ppdm_right_part
    FROM left_link AS a
    JOIN right_link AS b ON a.ppdm_key0 = b.ppdm_key0 AND a.ppdm_key1 = b.ppdm_key1
)
SELECT
    (SELECT COUNT(*) FROM ppdm_left) + (SELECT COUNT(*) FROM ppdm_right)
        - 2 * (SELECT COUNT(*) FROM ppdm_same) AS ppdm_keys,
    2 * COUNT(*) - COUNT(DISTINCT ppdm_left_part) - COUNT(DISTINCT ppdm_right_part) AS ppdm_parts
FROM ppdm_pair
