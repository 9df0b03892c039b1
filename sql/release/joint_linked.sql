-- A link table as one side of a joint check: how many rows of a key are in a class at least and at most (the same
-- here), and how many rows the key has in all.
-- Stand-in: link (ppdm_key0, ppdm_key1, ppdm_person, ppdm_part, ppdm_rows).
SELECT
    ppdm_key0,
    ppdm_key1,
    ppdm_person,
    ppdm_part,
    CAST(ppdm_rows AS BIGINT) AS ppdm_least,
    CAST(ppdm_rows AS BIGINT) AS ppdm_most,
    CAST(SUM(ppdm_rows) OVER (PARTITION BY ppdm_key0, ppdm_key1) AS BIGINT) AS ppdm_all
FROM link
