-- The classes of two sides joined along the persons behind their rows, where their rows have no common key.
-- All pairs of classes are made that a person's rows can form, so that each has to be large enough; each has the rows
-- that must be in it, however they are paired.  Where one side has more rows of him, some are in that side only.
-- A person that only one side has forms classes of its own (-1 on the other side), because the other's holder sees it
-- missing; so do the rows of one person that is not to be joined ($alone).
-- Rows that were paired by person no longer have a key of their own: (person, -1) stands for it.
-- Stand-ins: left_side, right_side, each (ppdm_key0, ppdm_key1, ppdm_person, ppdm_part, ppdm_least, ppdm_most,
-- ppdm_all), the last one being the rows of the key in all its classes.
-- Parameter: $alone.
WITH ppdm_left AS (
    SELECT
        ppdm_person,
        ppdm_part,
        CAST(SUM(ppdm_least) AS BIGINT) AS ppdm_least,
        CAST(SUM(ppdm_most) AS BIGINT) AS ppdm_most
    FROM left_side
    GROUP BY ppdm_person, ppdm_part
), ppdm_right AS (
    SELECT
        ppdm_person,
        ppdm_part,
        CAST(SUM(ppdm_least) AS BIGINT) AS ppdm_least,
        CAST(SUM(ppdm_most) AS BIGINT) AS ppdm_most
    FROM right_side
    GROUP BY ppdm_person, ppdm_part
), ppdm_both AS (
    SELECT
        l.ppdm_person,
        l.ppdm_all AS ppdm_left_all,
        r.ppdm_all AS ppdm_right_all,
        GREATEST(l.ppdm_all, r.ppdm_all) AS ppdm_all
    FROM (
        SELECT ppdm_person, CAST(SUM(ppdm_all) AS BIGINT) AS ppdm_all
        FROM (SELECT DISTINCT ppdm_person, ppdm_key0, ppdm_key1, ppdm_all FROM left_side) AS ppdm_keys
        GROUP BY ppdm_person
    ) AS l
    JOIN (
        SELECT ppdm_person, CAST(SUM(ppdm_all) AS BIGINT) AS ppdm_all
        FROM (SELECT DISTINCT ppdm_person, ppdm_key0, ppdm_key1, ppdm_all FROM right_side) AS ppdm_keys
        GROUP BY ppdm_person
    ) AS r ON l.ppdm_person = r.ppdm_person
    WHERE l.ppdm_person <> $alone
)
SELECT
    p.ppdm_person AS ppdm_key0,
    -1 AS ppdm_key1,
    p.ppdm_person,
    a.ppdm_part AS ppdm_left_part,
    b.ppdm_part AS ppdm_right_part,
    GREATEST(a.ppdm_least + b.ppdm_least - p.ppdm_all, 0) AS ppdm_least,
    LEAST(a.ppdm_most, b.ppdm_most) AS ppdm_most,
    p.ppdm_all,
    1 AS ppdm_turn
FROM ppdm_both AS p
JOIN ppdm_left AS a ON a.ppdm_person = p.ppdm_person
JOIN ppdm_right AS b ON b.ppdm_person = p.ppdm_person
UNION ALL
SELECT p.ppdm_person, -1, p.ppdm_person, a.ppdm_part, -1, GREATEST(a.ppdm_least - p.ppdm_right_all, 0),
    LEAST(a.ppdm_most, p.ppdm_left_all - p.ppdm_right_all), p.ppdm_all, 1
FROM ppdm_both AS p
JOIN ppdm_left AS a ON a.ppdm_person = p.ppdm_person
WHERE p.ppdm_left_all > p.ppdm_right_all
UNION ALL
SELECT p.ppdm_person, -1, p.ppdm_person, -1, b.ppdm_part, GREATEST(b.ppdm_least - p.ppdm_left_all, 0),
    LEAST(b.ppdm_most, p.ppdm_right_all - p.ppdm_left_all), p.ppdm_all, 1
FROM ppdm_both AS p
JOIN ppdm_right AS b ON b.ppdm_person = p.ppdm_person
WHERE p.ppdm_right_all > p.ppdm_left_all
UNION ALL
SELECT a.ppdm_key0, a.ppdm_key1, a.ppdm_person, a.ppdm_part, -1, a.ppdm_least, a.ppdm_most, a.ppdm_all, 1
FROM left_side AS a
LEFT JOIN ppdm_both AS p ON p.ppdm_person = a.ppdm_person
WHERE p.ppdm_person IS NULL
UNION ALL
SELECT b.ppdm_key0, b.ppdm_key1, b.ppdm_person, -1, b.ppdm_part, b.ppdm_least, b.ppdm_most, b.ppdm_all, 1
FROM right_side AS b
LEFT JOIN ppdm_both AS p ON p.ppdm_person = b.ppdm_person
WHERE p.ppdm_person IS NULL
