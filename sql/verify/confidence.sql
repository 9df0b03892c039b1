-- Confidence: nobody's sensitive value is told by the class with more than this share of its known ones.
-- With the limit = $numerator / $denominator and whole numbers only: head * denominator <= known * numerator.
-- Known values alone count, unless $null_is_value = 1 makes NULL a value; a class without one breaks the rule.
-- One row for every pair (head, known) that occurs; ppdm_breach = 1 marks those that break the rule.
-- Figure: head / known (ppdm_over / ppdm_under), at worst the greatest; 1 / 0 without a known value.
-- Stand-ins: source, quasi, sensitive.  Parameters: $numerator, $denominator, $null_is_value.
WITH ppdm_value AS (
    SELECT
        quasi,
        sensitive,
        COUNT(*) AS ppdm_rows,
        CASE WHEN sensitive IS NULL AND $null_is_value = 0 THEN 0 ELSE COUNT(*) END AS ppdm_count
    FROM source
    GROUP BY quasi, sensitive
), ppdm_class AS (
    SELECT
        quasi,
        SUM(ppdm_rows) AS ppdm_size,
        CAST(SUM(ppdm_count) AS DECIMAL(38, 0)) AS ppdm_known,
        CAST(MAX(ppdm_count) AS DECIMAL(38, 0)) AS ppdm_head
    FROM ppdm_value
    GROUP BY quasi
)
SELECT
    CASE WHEN ppdm_known = 0 OR ppdm_head * $denominator > ppdm_known * $numerator THEN 1 ELSE 0 END AS ppdm_breach,
    CASE WHEN ppdm_known = 0 THEN 1 ELSE ppdm_head END AS ppdm_over,
    ppdm_known AS ppdm_under,
    COUNT(*) AS ppdm_classes,
    SUM(ppdm_size) AS ppdm_rows
FROM ppdm_class
GROUP BY ppdm_known, ppdm_head
