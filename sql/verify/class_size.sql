-- k-anonymity: every class has at least $k rows.
-- One row for every size that occurs; ppdm_breach = 1 marks the sizes that are too small.
-- Figure: the size (ppdm_over / ppdm_under), at worst the least.
-- Stand-ins: source, quasi.  Parameter: $k.
WITH ppdm_class AS (
    SELECT quasi, COUNT(*) AS ppdm_size
    FROM source
    GROUP BY quasi
)
SELECT
    CASE WHEN ppdm_size < $k THEN 1 ELSE 0 END AS ppdm_breach,
    ppdm_size AS ppdm_over,
    1 AS ppdm_under,
    COUNT(*) AS ppdm_classes,
    SUM(ppdm_size) AS ppdm_rows
FROM ppdm_class
GROUP BY ppdm_size
