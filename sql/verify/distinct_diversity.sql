-- Distinct l-diversity: every class has at least $l different sensitive values.
-- Known values alone count, unless $null_is_value = 1 makes NULL a value.
-- One row for every number of values that occurs; ppdm_breach = 1 marks those that are too small.
-- Figure: the number of values (ppdm_over / ppdm_under), at worst the least.
-- Stand-ins: source, quasi, sensitive.  Parameters: $l, $null_is_value.
WITH ppdm_value AS (
    SELECT
        quasi,
        sensitive,
        COUNT(*) AS ppdm_rows,
        CASE WHEN sensitive IS NULL AND $null_is_value = 0 THEN 0 ELSE COUNT(*) END AS ppdm_count
    FROM source
    GROUP BY quasi, sensitive
), ppdm_class AS (
    SELECT quasi, SUM(CASE WHEN ppdm_count > 0 THEN 1 ELSE 0 END) AS ppdm_values, SUM(ppdm_rows) AS ppdm_size
    FROM ppdm_value
    GROUP BY quasi
)
SELECT
    CASE WHEN ppdm_values < $l THEN 1 ELSE 0 END AS ppdm_breach,
    ppdm_values AS ppdm_over,
    1 AS ppdm_under,
    COUNT(*) AS ppdm_classes,
    SUM(ppdm_size) AS ppdm_rows
FROM ppdm_class
GROUP BY ppdm_values
