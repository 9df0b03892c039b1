-- Simple l-diversity: the most frequent sensitive value of a class has at most 1/l of its rows.
-- With l = $numerator / $denominator and whole numbers only: head * numerator <= size * denominator.
-- NULL is a value of its own.
-- One row for every pair (size, head) that occurs; ppdm_breach = 1 marks those that break the rule.
-- Figure: size / head (ppdm_over / ppdm_under), at worst the least: the greatest l that holds.
-- Stand-ins: source, quasi, sensitive.  Parameters: $numerator, $denominator.
WITH ppdm_value AS (
    SELECT quasi, sensitive, COUNT(*) AS ppdm_count
    FROM source
    GROUP BY quasi, sensitive
), ppdm_class AS (
    SELECT
        quasi,
        CAST(SUM(ppdm_count) AS DECIMAL(38, 0)) AS ppdm_size,
        CAST(MAX(ppdm_count) AS DECIMAL(38, 0)) AS ppdm_head
    FROM ppdm_value
    GROUP BY quasi
)
SELECT
    CASE WHEN ppdm_head * $numerator > ppdm_size * $denominator THEN 1 ELSE 0 END AS ppdm_breach,
    ppdm_size AS ppdm_over,
    ppdm_head AS ppdm_under,
    COUNT(*) AS ppdm_classes,
    SUM(ppdm_size) AS ppdm_rows
FROM ppdm_class
GROUP BY ppdm_size, ppdm_head
