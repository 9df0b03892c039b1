-- Distinct l-diversity: every class has at least $l different sensitive values.
-- COUNT(DISTINCT sensitive) would leave NULL out; NULL is a value of its own, so values are grouped first.
-- One row for every number of values that occurs; ppdm_breach = 1 marks those that are too small.
-- Figure: the number of values (ppdm_over / ppdm_under), at worst the least.
-- Stand-ins: source, quasi, sensitive.  Parameter: $l.
WITH ppdm_value AS (
    SELECT quasi, sensitive, COUNT(*) AS ppdm_count
    FROM source
    GROUP BY quasi, sensitive
), ppdm_class AS (
    SELECT quasi, COUNT(*) AS ppdm_values, SUM(ppdm_count) AS ppdm_size
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
