-- t-closeness, hierarchical distance: two values are as far apart as the level of their lowest common ancestor,
-- divided by the number of levels H below the root.
-- Earth mover's distance on a tree: sum over the nodes below the root of |excess of the node| / (2 * H), where the
-- excess is its share of the class minus its share of the relation.  The nodes of one level divide all rows among
-- themselves, so what is too much there equals what is too little: half the sum is the part above zero, and only
-- nodes the class has count.  Times known * total (known values of the class, of the relation) these are whole numbers.
-- With t = $numerator / $denominator: excess * denominator <= H * known * total * numerator.
-- Known values alone count, unless $null_is_value = 1 makes NULL a value; a class without one breaks the rule.
-- NULL is a branch of its own ('' in the path, where a value has '=' in front); unknown, nothing is in it.
-- One row for the classes that hold, one for those that do not (ppdm_breach = 1), and of these the classes
-- farthest away apart, with their figure excess / (H * known * total) (ppdm_over / ppdm_under); 1 / 0 without a known
-- value.
-- Stand-ins: source, quasi, sensitive (as text), path (ppdm_leaf, ppdm_level, ppdm_node: for every leaf its node on
-- each level below the root).  Parameters: $numerator, $denominator, $levels = H,
-- $null_is_value.
WITH ppdm_value AS (
    SELECT
        quasi,
        COALESCE('=' || sensitive, '') AS ppdm_leaf,
        CASE WHEN sensitive IS NULL AND $null_is_value = 0 THEN 0 ELSE COUNT(*) END AS ppdm_count,
        SUM(COUNT(*)) OVER (PARTITION BY quasi) AS ppdm_size
    FROM source
    GROUP BY quasi, sensitive
), ppdm_branch AS (
    SELECT quasi, ppdm_level, ppdm_node, SUM(ppdm_count) AS ppdm_count, MAX(ppdm_size) AS ppdm_size
    FROM ppdm_value
    JOIN path AS ppdm_path ON ppdm_path.ppdm_leaf = ppdm_value.ppdm_leaf
    GROUP BY quasi, ppdm_level, ppdm_node
), ppdm_compared AS (
    SELECT
        quasi,
        ppdm_size,
        CAST(ppdm_count AS DECIMAL(38, 0)) AS ppdm_here,
        CAST(SUM(ppdm_count) OVER (PARTITION BY quasi, ppdm_level) AS DECIMAL(38, 0)) AS ppdm_known,
        CAST(SUM(ppdm_count) OVER (PARTITION BY ppdm_level, ppdm_node) AS DECIMAL(38, 0)) AS ppdm_everywhere,
        CAST(SUM(ppdm_count) OVER (PARTITION BY ppdm_level) AS DECIMAL(38, 0)) AS ppdm_total
    FROM ppdm_branch
), ppdm_class AS (
    SELECT
        quasi,
        MAX(ppdm_size) AS ppdm_size,
        MAX(ppdm_known) AS ppdm_known,
        MAX(ppdm_known) * MAX(ppdm_total) * $levels AS ppdm_whole,
        SUM(
            CASE
                WHEN ppdm_here * ppdm_total > ppdm_everywhere * ppdm_known
                    THEN ppdm_here * ppdm_total - ppdm_everywhere * ppdm_known
                ELSE 0
            END
        ) AS ppdm_excess
    FROM ppdm_compared
    GROUP BY quasi
), ppdm_judged AS (
    SELECT
        ppdm_size,
        ppdm_known,
        ppdm_excess,
        ppdm_whole,
        CASE WHEN ppdm_known = 0 OR ppdm_excess * $denominator > ppdm_whole * $numerator THEN 1 ELSE 0 END AS ppdm_breach,
        CAST(ppdm_excess AS DOUBLE) / CAST(NULLIF(ppdm_known, 0) AS DOUBLE) AS ppdm_distance,
        MAX(CAST(ppdm_excess AS DOUBLE) / CAST(NULLIF(ppdm_known, 0) AS DOUBLE)) OVER () AS ppdm_farthest
    FROM ppdm_class
), ppdm_summed AS (
    SELECT
        ppdm_breach,
        ppdm_size,
        -- Floating point only narrows down which classes may be the farthest; exact figures leave for them all.
        CASE
            WHEN ppdm_known = 0 THEN 1
            WHEN ppdm_distance >= ppdm_farthest * 0.999999999999 THEN ppdm_excess
        END AS ppdm_over,
        CASE WHEN ppdm_known = 0 OR ppdm_distance >= ppdm_farthest * 0.999999999999 THEN ppdm_whole END AS ppdm_under
    FROM ppdm_judged
)
SELECT ppdm_breach, ppdm_over, ppdm_under, COUNT(*) AS ppdm_classes, SUM(ppdm_size) AS ppdm_rows
FROM ppdm_summed
GROUP BY ppdm_breach, ppdm_over, ppdm_under
