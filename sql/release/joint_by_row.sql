-- The classes of two releases joined along the keys of their rows: what a holder of both can tell apart.
-- A row that only one of them has forms classes of its own, because the other's holder sees it missing.
-- Stand-ins: left_link, right_link, each (ppdm_key0, ppdm_key1, ppdm_person, ppdm_part, ppdm_rows).
SELECT
    COALESCE(a.ppdm_key0, b.ppdm_key0) AS ppdm_key0,
    COALESCE(a.ppdm_key1, b.ppdm_key1) AS ppdm_key1,
    COALESCE(a.ppdm_person, b.ppdm_person) AS ppdm_person,
    DENSE_RANK() OVER (ORDER BY COALESCE(a.ppdm_part, -1), COALESCE(b.ppdm_part, -1)) AS ppdm_part,
    CASE
        WHEN a.ppdm_rows IS NULL THEN b.ppdm_rows
        WHEN b.ppdm_rows IS NULL THEN a.ppdm_rows
        WHEN a.ppdm_rows < b.ppdm_rows THEN a.ppdm_rows
        ELSE b.ppdm_rows
    END AS ppdm_rows
FROM left_link AS a
FULL JOIN right_link AS b ON a.ppdm_key0 = b.ppdm_key0 AND a.ppdm_key1 = b.ppdm_key1
