-- Equivalence classes in which the most frequent sensitive value has more than 1/l of the rows.
-- No row returned = simple l-diverse: head * l <= size in every class.  NULL is a value of its own.
-- l is a fraction, so that nothing is rounded: for l = 2.5 give $l_numerator = 5 and $l_denominator = 2.
-- Stand-ins: source, quasi, sensitive.  Parameters: $l_numerator, $l_denominator.
WITH ppdm_counts AS (
    SELECT quasi, COUNT(*) AS ppdm_count
    FROM source
    GROUP BY quasi, sensitive
)
SELECT quasi, SUM(ppdm_count) AS ppdm_size, MAX(ppdm_count) AS ppdm_head
FROM ppdm_counts
GROUP BY quasi
HAVING MAX(ppdm_count) * $l_numerator > SUM(ppdm_count) * $l_denominator
