-- Confidence: nobody's sensitive value is told by the class with more than this share of its rows.
-- With the limit = $numerator / $denominator and whole numbers only: head * denominator <= size * numerator.
-- NULL is a value of its own.
-- One row for every pair (head, size) that occurs; ppdm_breach = 1 marks those that break the rule.
-- Figure: head / size (ppdm_over / ppdm_under), at worst the greatest.
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
    CASE WHEN ppdm_head * $denominator > ppdm_size * $numerator THEN 1 ELSE 0 END AS ppdm_breach,
    ppdm_head AS ppdm_over,
    ppdm_size AS ppdm_under,
    COUNT(*) AS ppdm_classes,
    SUM(ppdm_size) AS ppdm_rows
FROM ppdm_class
GROUP BY ppdm_size, ppdm_head
