-- Equivalence classes in which the most frequent sensitive value has more than 1/l of the known ones.
-- No row returned = simple l-diverse: head * l <= known in every class, and some value is known.
-- Only known values count; with $null_is_value = 1 instead of 0 a NULL is a value of its own.
-- l is a fraction, so that nothing is rounded: for l = 2.5 give $l_numerator = 5 and $l_denominator = 2.
-- Stand-ins: source, quasi, sensitive.  Parameters: $l_numerator, $l_denominator, $null_is_value.
WITH ppdm_counts AS (
    SELECT quasi, COUNT(*) AS ppdm_rows,
           CASE WHEN sensitive IS NOT NULL OR $null_is_value = 1 THEN COUNT(*) ELSE 0 END AS ppdm_count
    FROM source
    GROUP BY quasi, sensitive
)
SELECT quasi, SUM(ppdm_rows) AS ppdm_size, SUM(ppdm_count) AS ppdm_known, MAX(ppdm_count) AS ppdm_head
FROM ppdm_counts
GROUP BY quasi
HAVING MAX(ppdm_count) * $l_numerator > SUM(ppdm_count) * $l_denominator OR SUM(ppdm_count) = 0
