-- Equivalence classes farther than t from the whole relation, two sensitive values being as far apart as the
-- level of the hierarchy on which they meet.  No row returned = t-close (Li et al. 2007).
-- The distance is the mean, over the levels below the root, of what the two distributions do not share when
-- every value is replaced by its node of that level.  Multiplied by known * rows * levels (known values of the
-- class and of the relation) it is a whole number, ppdm_far.  A class with a value that the hierarchy does not know,
-- or without a known value, is returned, too.
-- Only known values count; with $null_is_value = 1 instead of 0 a NULL is a value of its own.
-- t is a fraction: for t = 0.2 give $t_numerator = 1 and $t_denominator = 5.
-- Stand-ins: source, quasi, sensitive, and hierarchy with the columns ppdm_value, ppdm_level (0 the value itself,
-- then 1, 2, ... to the one below the root), ppdm_node (its label there; one label, one node of the level); where
-- NULL is a value it has its own lines.  Parameters: $t_numerator, $t_denominator, $null_is_value.
WITH ppdm_cells AS (
    SELECT quasi, sensitive AS ppdm_value, SUM(COUNT(*)) OVER (PARTITION BY quasi) AS ppdm_size,
           CASE WHEN sensitive IS NOT NULL OR $null_is_value = 1 THEN COUNT(*) ELSE 0 END AS ppdm_count
    FROM source
    GROUP BY quasi, sensitive
), ppdm_nodes AS (
    SELECT quasi, ppdm_size, ppdm_level, ppdm_node, SUM(ppdm_count) AS ppdm_count
    FROM ppdm_cells
    LEFT JOIN hierarchy ON hierarchy.ppdm_value IS NOT DISTINCT FROM ppdm_cells.ppdm_value
    GROUP BY quasi, ppdm_size, ppdm_level, ppdm_node
), ppdm_shares AS (
    SELECT quasi, ppdm_size, ppdm_level, ppdm_count,
           SUM(ppdm_count) OVER (PARTITION BY quasi, ppdm_level) AS ppdm_known,
           SUM(ppdm_count) OVER (PARTITION BY ppdm_level, ppdm_node) AS ppdm_everywhere,
           SUM(ppdm_count) OVER (PARTITION BY ppdm_level) AS ppdm_rows
    FROM ppdm_nodes
), ppdm_levels AS (
    SELECT quasi, ppdm_size, ppdm_level, MAX(ppdm_known) * MAX(ppdm_rows) AS ppdm_whole,
           MAX(ppdm_known) * MAX(ppdm_rows)
               - SUM(LEAST(ppdm_count * ppdm_rows, ppdm_everywhere * ppdm_known)) AS ppdm_far
    FROM ppdm_shares
    GROUP BY quasi, ppdm_size, ppdm_level
)
SELECT quasi, ppdm_size, SUM(ppdm_far) AS ppdm_far, SUM(ppdm_whole) AS ppdm_whole
FROM ppdm_levels
GROUP BY quasi, ppdm_size
HAVING SUM(ppdm_far) * $t_denominator > SUM(ppdm_whole) * $t_numerator OR SUM(ppdm_whole) = 0
       OR SUM(CASE WHEN ppdm_level IS NULL THEN ppdm_whole ELSE 0 END) > 0
