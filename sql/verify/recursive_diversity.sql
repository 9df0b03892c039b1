-- Recursive (c, l)-diversity: f1 < c * (f_l + ... + f_m), where f_i is how many rows of the class have its
-- i-th most frequent sensitive value.  A class of fewer than l values has nothing on the right: it breaks the rule.
-- With c = $numerator / $denominator and whole numbers only: head * denominator < tail * numerator.
-- Known values alone count, unless $null_is_value = 1 makes NULL a value; a class without one breaks the rule.
-- One row for every pair (head, tail) that occurs; ppdm_breach = 1 marks those that break the rule.
-- Figure: head / tail (ppdm_over / ppdm_under), at worst the greatest: every c above it holds; 1 / 0 without a
-- known value.
-- Stand-ins: source, quasi, sensitive.  Parameters: $l, $numerator, $denominator, $null_is_value.
WITH ppdm_value AS (
    SELECT
        quasi,
        sensitive,
        COUNT(*) AS ppdm_rows,
        CASE WHEN sensitive IS NULL AND $null_is_value = 0 THEN 0 ELSE COUNT(*) END AS ppdm_count
    FROM source
    GROUP BY quasi, sensitive
), ppdm_ranked AS (
    SELECT
        quasi,
        ppdm_rows,
        ppdm_count,
        ROW_NUMBER() OVER (PARTITION BY quasi ORDER BY ppdm_count DESC) AS ppdm_rank
    FROM ppdm_value
), ppdm_class AS (
    SELECT
        quasi,
        SUM(ppdm_rows) AS ppdm_size,
        CAST(MAX(ppdm_count) AS DECIMAL(38, 0)) AS ppdm_head,
        CAST(SUM(CASE WHEN ppdm_rank >= $l THEN ppdm_count ELSE 0 END) AS DECIMAL(38, 0)) AS ppdm_tail
    FROM ppdm_ranked
    GROUP BY quasi
)
SELECT
    CASE WHEN ppdm_head * $denominator < ppdm_tail * $numerator THEN 0 ELSE 1 END AS ppdm_breach,
    CASE WHEN ppdm_head = 0 THEN 1 ELSE ppdm_head END AS ppdm_over,
    ppdm_tail AS ppdm_under,
    COUNT(*) AS ppdm_classes,
    SUM(ppdm_size) AS ppdm_rows
FROM ppdm_class
GROUP BY ppdm_head, ppdm_tail
