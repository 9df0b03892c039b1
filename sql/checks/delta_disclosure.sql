-- Equivalence classes in which some sensitive value of the relation is missing, too frequent or too rare.
-- No row returned = delta-disclosure privacy (Brickell and Shmatikov 2008): |ln(q / p)| < delta for every value of the
-- relation, q being its share among the known values of the class and p among those of the relation.
-- A class without a known value is returned.  q / p = count * rows / (known * everywhere) is never exactly e^delta, so
-- the largest fraction below e^delta, $limit_numerator / $limit_denominator, decides in whole numbers (given as texts).
-- Only known values count; with $null_is_value = 1 instead of 0 a NULL is a value of its own.
-- Stand-ins: source, quasi, sensitive.  Parameters: $limit_numerator, $limit_denominator, $null_is_value.
WITH ppdm_cells AS (
    SELECT quasi, sensitive AS ppdm_value, SUM(COUNT(*)) OVER (PARTITION BY quasi) AS ppdm_size,
           CASE WHEN sensitive IS NOT NULL OR $null_is_value = 1 THEN COUNT(*) ELSE 0 END AS ppdm_count
    FROM source
    GROUP BY quasi, sensitive
), ppdm_shares AS (
    SELECT quasi, ppdm_value, ppdm_size, CAST(ppdm_count AS DECIMAL(38, 0)) AS ppdm_count,
           CAST(SUM(ppdm_count) OVER (PARTITION BY quasi) AS DECIMAL(38, 0)) AS ppdm_known,
           CAST(SUM(ppdm_count) OVER (PARTITION BY ppdm_value) AS DECIMAL(38, 0)) AS ppdm_everywhere,
           CAST(SUM(ppdm_count) OVER () AS DECIMAL(38, 0)) AS ppdm_rows
    FROM ppdm_cells
), ppdm_ratios AS (
    SELECT quasi, ppdm_size, ppdm_known, ppdm_count * ppdm_rows AS ppdm_here,
           ppdm_known * ppdm_everywhere AS ppdm_expected,
           CASE WHEN ppdm_count > 0 THEN 1 ELSE 0 END AS ppdm_counts
    FROM ppdm_shares
), ppdm_classes AS (
    SELECT quasi, MAX(ppdm_size) AS ppdm_size, MAX(ppdm_known) AS ppdm_known, SUM(ppdm_counts) AS ppdm_values,
           MAX(
               CASE
                   WHEN ppdm_counts = 1
                        AND (ppdm_here * CAST($limit_denominator AS DECIMAL(38, 0))
                             > ppdm_expected * CAST($limit_numerator AS DECIMAL(38, 0))
                             OR ppdm_expected * CAST($limit_denominator AS DECIMAL(38, 0))
                             > ppdm_here * CAST($limit_numerator AS DECIMAL(38, 0))) THEN 1
                   ELSE 0
               END
           ) AS ppdm_breach
    FROM ppdm_ratios
    GROUP BY quasi
), ppdm_whole AS (
    SELECT COUNT(DISTINCT ppdm_value) + MAX(CASE WHEN ppdm_value IS NULL AND ppdm_count > 0 THEN 1 ELSE 0 END) AS ppdm_all
    FROM ppdm_shares
)
SELECT quasi, ppdm_size, ppdm_known, ppdm_values
FROM ppdm_classes CROSS JOIN ppdm_whole
WHERE ppdm_breach = 1 OR ppdm_values < ppdm_all OR ppdm_known = 0
