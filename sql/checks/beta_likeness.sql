-- Equivalence classes in which some sensitive value is too much more frequent than in the whole relation.
-- No row returned = basic beta-likeness (Cao and Karras 2012): (q - p) / p <= beta for every value, q being its share
-- among the known values of the class and p among those of the relation.  A class without a known value is returned.
-- q / p = count * rows / (known * everywhere), so with beta = numerator / denominator whole numbers decide.
-- Only known values count; with $null_is_value = 1 instead of 0 a NULL is a value of its own.
-- Stand-ins: source, quasi, sensitive.  Parameters: $beta_numerator, $beta_denominator, $null_is_value.
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
)
SELECT quasi, MAX(ppdm_size) AS ppdm_size, MAX(ppdm_known) AS ppdm_known
FROM ppdm_shares
GROUP BY quasi
HAVING MAX(
    CASE
        WHEN ppdm_count * ppdm_rows * $beta_denominator
             > ppdm_known * ppdm_everywhere * (CAST($beta_numerator AS DECIMAL(38, 0)) + $beta_denominator) THEN 1
        ELSE 0
    END
) = 1 OR MAX(ppdm_known) = 0
