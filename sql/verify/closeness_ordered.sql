-- t-closeness, ordered distance: the m values of the relation stand in a row, neighbours 1 / (m - 1) apart.
-- Numbers and dates in their own order, after them NaN, last of all NULL.
-- Known values alone count, unless $null_is_value = 1 makes NULL a value; a class without one breaks the rule.
-- An unknown NULL keeps its place behind the others with nothing in it: all shares are 1 there, and m leaves it out.
-- The distance of a class from the whole relation is the sum over the places i = 1 .. m of
--     | share of the class at or below place i  -  share of the relation at or below place i | / (m - 1).
-- Times known * total these are whole numbers: x_i = total * below_i - known * ladder_i, their sum is the gap.
-- With t = $numerator / $denominator: gap * denominator <= (m - 1) * known * total * numerator.
--
-- Between two of its own values a class says nothing new, so it is measured in stretches: from one of its
-- places to just before its next.  On a stretch `below` stays while `ladder` rises, so x falls and turns from
-- plus to minus at one place at most.  What is above zero adds up in closed form, because the running sum of
-- the ladder (`area`) is known; and |x| = 2 * (x where above zero) - x.
--
-- One row for the classes that hold, one for those that do not (ppdm_breach = 1), and of these the classes
-- farthest away apart, with their figure gap / ((m - 1) * known * total) (ppdm_over / ppdm_under); 1 / 0 without a
-- known value.
-- Stand-ins: source, quasi, sensitive.  Parameters: $numerator, $denominator, $null_is_value.
WITH ppdm_value AS (
    SELECT
        quasi,
        sensitive,
        CASE WHEN sensitive IS NULL AND $null_is_value = 0 THEN 0 ELSE COUNT(*) END AS ppdm_count,
        SUM(COUNT(*)) OVER (PARTITION BY quasi) AS ppdm_size
    FROM source
    GROUP BY quasi, sensitive
), ppdm_placed AS (
    SELECT quasi, ppdm_size, ppdm_count, DENSE_RANK() OVER (ORDER BY sensitive NULLS LAST) AS ppdm_place
    FROM ppdm_value
), ppdm_step AS (
    SELECT
        ppdm_place,
        SUM(ppdm_count) AS ppdm_everywhere,
        SUM(SUM(ppdm_count)) OVER (ORDER BY ppdm_place) AS ppdm_ladder
    FROM ppdm_placed
    GROUP BY ppdm_place
), ppdm_reference AS (
    SELECT
        ppdm_place,
        ppdm_ladder,
        SUM(ppdm_ladder) OVER (ORDER BY ppdm_place) AS ppdm_area,
        SUM(ppdm_ladder) OVER () AS ppdm_whole_area,
        MAX(ppdm_ladder) OVER () AS ppdm_total,
        COUNT(*) OVER () AS ppdm_places,
        COUNT(NULLIF(ppdm_everywhere, 0)) OVER () AS ppdm_values
    FROM ppdm_step
), ppdm_stretch AS (
    SELECT
        quasi,
        ppdm_size,
        ppdm_count,
        ppdm_place AS ppdm_start,
        SUM(ppdm_count) OVER (PARTITION BY quasi ORDER BY ppdm_place) AS ppdm_below,
        SUM(ppdm_count) OVER (PARTITION BY quasi) AS ppdm_known,
        LEAD(ppdm_place) OVER (PARTITION BY quasi ORDER BY ppdm_place) AS ppdm_next
    FROM ppdm_placed
), ppdm_marked AS (
    SELECT
        quasi,
        ppdm_size,
        ppdm_count,
        ppdm_start,
        ppdm_below,
        ppdm_known,
        COALESCE(ppdm_next - 1, ppdm_places) AS ppdm_stop,
        ppdm_area - ppdm_ladder AS ppdm_area_before,
        ppdm_whole_area,
        ppdm_total,
        ppdm_places,
        ppdm_values,
        -- x is not below zero as long as the ladder has not passed this whole number.
        COALESCE(ppdm_total * ppdm_below // NULLIF(ppdm_known, 0), 0) AS ppdm_mark
    FROM ppdm_stretch
    JOIN ppdm_reference ON ppdm_place = ppdm_start
), ppdm_reached AS (
    -- For every mark, how many steps of the ladder it reaches: both are put in one row and the steps counted.
    SELECT ppdm_mark AS ppdm_reaching, ppdm_is_step, SUM(ppdm_is_step) OVER (ORDER BY ppdm_mark, ppdm_is_step DESC) AS ppdm_turn
    FROM (
        SELECT DISTINCT ppdm_mark, 0 AS ppdm_is_step FROM ppdm_marked
        UNION ALL
        SELECT ppdm_ladder AS ppdm_mark, 1 AS ppdm_is_step FROM ppdm_reference
    ) AS ppdm_merged
), ppdm_turned AS (
    SELECT
        quasi,
        ppdm_size,
        ppdm_start,
        ppdm_area_before,
        CAST(ppdm_count AS DECIMAL(38, 0)) AS ppdm_count,
        CAST(ppdm_below AS DECIMAL(38, 0)) AS ppdm_below,
        CAST(ppdm_known AS DECIMAL(38, 0)) AS ppdm_known,
        CAST(ppdm_total AS DECIMAL(38, 0)) AS ppdm_total,
        ppdm_whole_area,
        ppdm_places,
        ppdm_values,
        CASE WHEN ppdm_turn < ppdm_stop THEN ppdm_turn ELSE ppdm_stop END AS ppdm_end
    FROM ppdm_marked
    JOIN ppdm_reached ON ppdm_reaching = ppdm_mark AND ppdm_is_step = 0
), ppdm_class AS (
    SELECT
        quasi,
        MAX(ppdm_size) AS ppdm_size,
        MAX(ppdm_known) AS ppdm_known,
        MAX(ppdm_known) * MAX(ppdm_turned.ppdm_total) * (MAX(ppdm_turned.ppdm_values) - 1) AS ppdm_whole,
        2 * SUM(
            CASE
                WHEN ppdm_end >= ppdm_start
                    THEN ppdm_turned.ppdm_total * ppdm_below * (ppdm_end - ppdm_start + 1)
                        - ppdm_known * (ppdm_area - ppdm_area_before)
                ELSE 0
            END
        ) - SUM(ppdm_turned.ppdm_total * ppdm_count * (ppdm_turned.ppdm_places - ppdm_start + 1))
        + MAX(ppdm_known) * MAX(ppdm_turned.ppdm_whole_area) AS ppdm_gap
    FROM ppdm_turned
    LEFT JOIN ppdm_reference ON ppdm_place = ppdm_end
    GROUP BY quasi
), ppdm_judged AS (
    SELECT
        ppdm_size,
        ppdm_known,
        ppdm_gap,
        ppdm_whole,
        CASE WHEN ppdm_known = 0 OR ppdm_gap * $denominator > ppdm_whole * $numerator THEN 1 ELSE 0 END AS ppdm_breach,
        CAST(ppdm_gap AS DOUBLE) / CAST(NULLIF(ppdm_known, 0) AS DOUBLE) AS ppdm_distance,
        MAX(CAST(ppdm_gap AS DOUBLE) / CAST(NULLIF(ppdm_known, 0) AS DOUBLE)) OVER () AS ppdm_farthest
    FROM ppdm_class
), ppdm_summed AS (
    SELECT
        ppdm_breach,
        ppdm_size,
        -- Floating point only narrows down which classes may be the farthest; exact figures leave for them all.
        CASE
            WHEN ppdm_known = 0 THEN 1
            WHEN ppdm_distance >= ppdm_farthest * 0.999999999999 THEN ppdm_gap
        END AS ppdm_over,
        CASE WHEN ppdm_known = 0 OR ppdm_distance >= ppdm_farthest * 0.999999999999 THEN ppdm_whole END AS ppdm_under
    FROM ppdm_judged
)
SELECT ppdm_breach, ppdm_over, ppdm_under, COUNT(*) AS ppdm_classes, SUM(ppdm_size) AS ppdm_rows
FROM ppdm_summed
GROUP BY ppdm_breach, ppdm_over, ppdm_under
