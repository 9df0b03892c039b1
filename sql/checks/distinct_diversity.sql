-- Equivalence classes with fewer than $l different sensitive values.  No row returned = distinct l-diverse.
-- Only known values count; with $null_is_value = 1 instead of 0 a NULL is a value of its own.
-- Stand-ins: source, quasi, sensitive.  Parameters: $l, $null_is_value.
WITH ppdm_counts AS (
    SELECT quasi, COUNT(*) AS ppdm_rows,
           CASE WHEN sensitive IS NOT NULL OR $null_is_value = 1 THEN COUNT(*) ELSE 0 END AS ppdm_count
    FROM source
    GROUP BY quasi, sensitive
)
SELECT quasi, SUM(ppdm_rows) AS ppdm_size, COUNT(NULLIF(ppdm_count, 0)) AS ppdm_distinct
FROM ppdm_counts
GROUP BY quasi
HAVING COUNT(NULLIF(ppdm_count, 0)) < $l
