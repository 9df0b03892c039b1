-- Equivalence classes that break recursive (c, l)-diversity.  No row returned = satisfied.
-- Machanavajjhala et al. 2007: f1 < c * (f_l + ... + f_m), f_i = i-th most frequent sensitive value.
-- Counts stand in for frequencies: both sides have the same divisor.
-- Only known values count; with $null_is_value = 1 instead of 0 a NULL is a value of its own.
-- A class of fewer than l values has an empty tail and fails for every c.
-- c is a fraction, so that nothing is rounded: for c = 2.5 give $c_numerator = 5 and $c_denominator = 2.
-- Stand-ins: source, quasi, sensitive.  Parameters: $c_numerator, $c_denominator, $l, $null_is_value.
WITH ppdm_counts AS (
    SELECT quasi, COUNT(*) AS ppdm_rows,
           CASE WHEN sensitive IS NOT NULL OR $null_is_value = 1 THEN COUNT(*) ELSE 0 END AS ppdm_count
    FROM source
    GROUP BY quasi, sensitive
), ppdm_ranked AS (
    SELECT quasi, ppdm_rows, ppdm_count,
           ROW_NUMBER() OVER (PARTITION BY quasi ORDER BY ppdm_count DESC) AS ppdm_position
    FROM ppdm_counts
)
SELECT quasi, SUM(ppdm_rows) AS ppdm_size, MAX(ppdm_count) AS ppdm_head,
       SUM(CASE WHEN ppdm_position >= $l THEN ppdm_count ELSE 0 END) AS ppdm_tail
FROM ppdm_ranked
GROUP BY quasi
HAVING MAX(ppdm_count) * $c_denominator
       >= SUM(CASE WHEN ppdm_position >= $l THEN ppdm_count ELSE 0 END) * $c_numerator
