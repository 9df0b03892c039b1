-- Equivalence classes in which some sensitive value is too much more frequent than its share in the relation allows.
-- No row returned = enhanced beta-likeness (Cao and Karras 2012): (q - p) / p <= min(beta, -ln(p)) for every value, q
-- being its share among the known values of the class and p among those of the relation.  A class without a known value
-- is returned.
-- q / p = count * rows / (known * everywhere), so with beta = numerator / denominator whole numbers decide about beta.
-- Logarithms are rounded: a class with a value nearer to -ln(p) than $tolerance is returned too; give 1e-9.  Its
-- ppdm_certain is 0 where it may hold after all, and ppdm_near has the counts of those values: count, known, everywhere
-- and rows.  (Python's ppdm_sql.checks.breaches decides them exactly.)  A value that everybody has breaks nothing.
-- Only known values count; with $null_is_value = 1 instead of 0 a NULL is a value of its own.
-- Stand-ins: source, quasi, sensitive.  Parameters: $beta_numerator, $beta_denominator, $tolerance, $null_is_value.
WITH ppdm_cells AS (
    SELECT quasi, sensitive AS ppdm_value, SUM(COUNT(*)) OVER (PARTITION BY quasi) AS ppdm_size,
           CASE WHEN sensitive IS NOT NULL OR $null_is_value = 1 THEN COUNT(*) ELSE 0 END AS ppdm_count
    FROM source
    GROUP BY quasi, sensitive
), ppdm_shares AS (
    SELECT quasi, ppdm_size, CAST(ppdm_count AS DECIMAL(38, 0)) AS ppdm_count,
           CAST(SUM(ppdm_count) OVER (PARTITION BY quasi) AS DECIMAL(38, 0)) AS ppdm_known,
           CAST(SUM(ppdm_count) OVER (PARTITION BY ppdm_value) AS DECIMAL(38, 0)) AS ppdm_everywhere,
           CAST(SUM(ppdm_count) OVER () AS DECIMAL(38, 0)) AS ppdm_rows
    FROM ppdm_cells
), ppdm_compared AS (
    SELECT quasi, ppdm_size, ppdm_count, ppdm_known, ppdm_everywhere, ppdm_rows,
           CAST(ppdm_count * ppdm_rows AS DOUBLE) / CAST(NULLIF(ppdm_known * ppdm_everywhere, 0) AS DOUBLE) AS ppdm_ratio,
           1 + LN(CAST(ppdm_rows AS DOUBLE) / CAST(NULLIF(ppdm_everywhere, 0) AS DOUBLE)) AS ppdm_limit
    FROM ppdm_shares
), ppdm_judged AS (
    SELECT quasi, ppdm_size, ppdm_known,
           CASE
               WHEN ppdm_known = 0
                    OR ppdm_count * ppdm_rows * $beta_denominator
                    > ppdm_known * ppdm_everywhere * (CAST($beta_numerator AS DECIMAL(38, 0)) + $beta_denominator)
                    OR (ppdm_everywhere < ppdm_rows
                        AND ppdm_ratio > ppdm_limit + CAST($tolerance AS DOUBLE) * ppdm_limit) THEN 1
               ELSE 0
           END AS ppdm_certain,
           CASE
               WHEN ppdm_everywhere < ppdm_rows
                    AND ABS(ppdm_ratio - ppdm_limit) <= CAST($tolerance AS DOUBLE) * ppdm_limit
                    THEN CONCAT(CAST(ppdm_count AS VARCHAR), ' ', CAST(ppdm_known AS VARCHAR), ' ',
                                CAST(ppdm_everywhere AS VARCHAR), ' ', CAST(ppdm_rows AS VARCHAR))
           END AS ppdm_cell
    FROM ppdm_compared
)
SELECT quasi, MAX(ppdm_size) AS ppdm_size, MAX(ppdm_known) AS ppdm_known,
       MAX(ppdm_certain) AS ppdm_certain, STRING_AGG(ppdm_cell, ',') AS ppdm_near
FROM ppdm_judged
GROUP BY quasi
HAVING MAX(ppdm_certain) = 1 OR COUNT(ppdm_cell) > 0
