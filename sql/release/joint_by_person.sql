-- The classes of two releases joined along the persons behind their rows, where their rows have no common key.
-- Of a person who is in several classes of both nobody can say which of his rows is in which pair: all pairs are
-- made, so that each has to be large enough, but he counts in none of them (ppdm_rows = 0).
-- A person that only one of them has forms classes of its own, because the other's holder sees it missing.
-- Stand-ins: left_link, right_link, each (ppdm_key0, ppdm_key1, ppdm_person, ppdm_part, ppdm_rows).
WITH ppdm_left AS (
    SELECT
        ppdm_person,
        ppdm_part,
        MIN(ppdm_key0) AS ppdm_key0,
        MIN(ppdm_key1) AS ppdm_key1,
        SUM(ppdm_rows) AS ppdm_rows,
        COUNT(*) OVER (PARTITION BY ppdm_person) AS ppdm_parts
    FROM left_link
    GROUP BY ppdm_person, ppdm_part
), ppdm_right AS (
    SELECT
        ppdm_person,
        ppdm_part,
        MIN(ppdm_key0) AS ppdm_key0,
        MIN(ppdm_key1) AS ppdm_key1,
        SUM(ppdm_rows) AS ppdm_rows,
        COUNT(*) OVER (PARTITION BY ppdm_person) AS ppdm_parts
    FROM right_link
    GROUP BY ppdm_person, ppdm_part
)
SELECT
    COALESCE(a.ppdm_key0, b.ppdm_key0) AS ppdm_key0,
    COALESCE(a.ppdm_key1, b.ppdm_key1) AS ppdm_key1,
    COALESCE(a.ppdm_person, b.ppdm_person) AS ppdm_person,
    DENSE_RANK() OVER (ORDER BY COALESCE(a.ppdm_part, -1), COALESCE(b.ppdm_part, -1)) AS ppdm_part,
    CASE
        WHEN a.ppdm_rows IS NULL THEN b.ppdm_rows
        WHEN b.ppdm_rows IS NULL THEN a.ppdm_rows
        WHEN a.ppdm_parts > 1 AND b.ppdm_parts > 1 THEN 0
        WHEN a.ppdm_rows < b.ppdm_rows THEN a.ppdm_rows
        ELSE b.ppdm_rows
    END AS ppdm_rows
FROM ppdm_left AS a
FULL JOIN ppdm_right AS b ON a.ppdm_person = b.ppdm_person
