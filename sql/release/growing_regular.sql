-- Whether every row of the source is there once: how many rows the source has and how many of them are unseen, how many
-- rows are out and how many of them are missing, and how many unseen ones have the key of a row that is not missing.
-- Stand-ins: quick (the rows of the source), unseen, missing, known (keys, with ppdm_out), grown.
SELECT
    (SELECT COUNT(*) FROM quick) AS ppdm_rows,
    (SELECT COUNT(*) FROM unseen) AS ppdm_unseen,
    (SELECT COUNT(*) FROM grown AS g WHERE g.ppdm_until IS NULL) AS ppdm_grown,
    (SELECT COUNT(*) FROM missing) AS ppdm_missing,
    (
        SELECT COUNT(*)
        FROM known AS k
        LEFT JOIN missing AS m ON m.ppdm_row0 = k.ppdm_row0 AND m.ppdm_row1 = k.ppdm_row1
        WHERE k.ppdm_out = 1 AND m.ppdm_row0 IS NULL
    ) AS ppdm_twice
