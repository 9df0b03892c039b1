-- The classes of two releases joined along the keys of their rows: what a holder of both can tell apart.
-- Of a key with n and m rows the smaller number is in both; the others are left over (joint_left_over.sql).
-- Where the rows of a key are in several classes of both nobody can say which pairs they form: all pairs are made, so
-- that each has to be large enough, and each has the rows that must be in it, however they are paired.
-- Stand-ins: left_side, right_side, each (ppdm_key0, ppdm_key1, ppdm_person, ppdm_part, ppdm_least, ppdm_most,
-- ppdm_all), the last one being the rows of the key in all its classes.
SELECT
    a.ppdm_key0,
    a.ppdm_key1,
    a.ppdm_person,
    a.ppdm_part AS ppdm_left_part,
    b.ppdm_part AS ppdm_right_part,
    GREATEST(a.ppdm_least + b.ppdm_least - GREATEST(a.ppdm_all, b.ppdm_all), 0) AS ppdm_least,
    LEAST(a.ppdm_most, b.ppdm_most) AS ppdm_most,
    LEAST(a.ppdm_all, b.ppdm_all) AS ppdm_all,
    0 AS ppdm_turn
FROM left_side AS a
JOIN right_side AS b ON a.ppdm_key0 = b.ppdm_key0 AND a.ppdm_key1 = b.ppdm_key1
