-- Pairs of classes as the classes of one side again, so that the next release can be joined to it.
-- A key's rows are those that were paired along it and those that were left over.
-- Stand-in: pairs (ppdm_key0, ppdm_key1, ppdm_person, ppdm_left_part, ppdm_right_part, ppdm_least, ppdm_most, ppdm_all,
-- ppdm_turn), the turn 0 for rows paired along their key, 1 for all others.
SELECT
    ppdm_key0,
    ppdm_key1,
    ppdm_person,
    DENSE_RANK() OVER (ORDER BY ppdm_left_part, ppdm_right_part) AS ppdm_part,
    ppdm_least,
    ppdm_most,
    MAX(CASE WHEN ppdm_turn = 0 THEN ppdm_all ELSE 0 END) OVER (PARTITION BY ppdm_key0, ppdm_key1)
        + MAX(CASE WHEN ppdm_turn = 1 THEN ppdm_all ELSE 0 END) OVER (PARTITION BY ppdm_key0, ppdm_key1) AS ppdm_all
FROM pairs
