-- Equivalence classes with fewer than $l different sensitive values.  No row returned = distinct l-diverse.
-- NULL is a value of its own; COUNT(DISTINCT ...) would not see it, so the values are counted as groups.
-- Stand-ins: source, quasi, sensitive.  Parameter: $l.
WITH ppdm_counts AS (
    SELECT quasi, COUNT(*) AS ppdm_count
    FROM source
    GROUP BY quasi, sensitive
)
SELECT quasi, SUM(ppdm_count) AS ppdm_size, COUNT(*) AS ppdm_distinct
FROM ppdm_counts
GROUP BY quasi
HAVING COUNT(*) < $l
