-- Equivalence classes that tell a sensitive value with more than the allowed confidence: the most frequent
-- value has more than this share of the rows.  No row returned = the limit is kept.  NULL is a value of its own.
-- The limit is a fraction, so that nothing is rounded: for 85 % give $limit_numerator = 85, $limit_denominator = 100.
-- Stand-ins: source, quasi, sensitive.  Parameters: $limit_numerator, $limit_denominator.
WITH ppdm_counts AS (
    SELECT quasi, COUNT(*) AS ppdm_count
    FROM source
    GROUP BY quasi, sensitive
)
SELECT quasi, SUM(ppdm_count) AS ppdm_size, MAX(ppdm_count) AS ppdm_head
FROM ppdm_counts
GROUP BY quasi
HAVING MAX(ppdm_count) * $limit_denominator > SUM(ppdm_count) * $limit_numerator
