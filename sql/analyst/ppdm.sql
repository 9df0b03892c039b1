-- How risky is this table?  Table macros for any DuckDB client (tested with 1.5 and 2.0).
--
-- Load them once per database with `.read ppdm.sql` (or run this text); loading again replaces them and
-- touches nothing else.  Every macro only reads.
--
--   table_name  a table, view, CTE or file, as text: 'people', 'clinic.main.people', '"my schema"."odd.name"'.
--   qis         the quasi-identifiers, a list of column names: ['age', 'zip'].  They are names, not SQL: no
--               quotes around odd ones, no patterns.  A name the table does not have is an error.
--   sensitive   the name of the column whose value must not be learned.
--   nulls_as_value  whether NULL in the sensitive column counts as a value; false unless it is given by its name:
--               ppdm_l_diversity('people', ['zip'], 'illness', nulls_as_value := true).
--
-- An equivalence class is the set of rows that agree in every quasi-identifier.  Rules, the same in all macros:
--   * NULL is a value of its own among the quasi-identifiers.
--   * In the sensitive column only known values count: shares are shares of the known values, and a class without
--     one passes nothing.  Where NULL means that there is nothing to hide, give nulls_as_value := true.
--   * Two values are the same only if they are equal and print the same.  So 'a' and 'A' differ whatever the
--     column's collation says, and so do 0.0 and -0.0: a recipient sees the difference.
--   * Rows are counted.  If one person has several rows, measure SELECT DISTINCT person, quasi-identifiers.
--   * An empty table has no class: counts are 0 and every measure is NULL, which passes no comparison.
--   * Decide by the macros named breaches: they compare integers.  DOUBLE columns are for reading, and where a macro
--     shows the worst class, classes that differ by less than one part in 10^15 may stand for each other.
--
-- The examples below use this table and can be run in order:
--
--   CREATE OR REPLACE TABLE people AS
--   SELECT * FROM (VALUES (34, '471', 'flu'), (34, '471', 'flu'), (34, '471', 'asthma'), (34, NULL, 'flu'),
--                         (51, '479', 'cancer'), (51, '479', 'cancer'), (60, '479', NULL)) AS v(age, zip, illness);
--
-- How it is made, for developers:
--   * Each macro stands alone: a macro that calls another finds it only while both are in the search path.
--   * The user's columns are reached through COLUMNS(list), which takes any name literally and refuses unknown
--     ones; COLUMNS(lambda) would leave those out and make the table look safer.
--   * COLUMNS(qis)::VARCHAR COLLATE "C" separates what is equal but prints differently.  The cast alone would
--     keep the collation; GROUP BY ALL happens to ignore it, GROUP BY of a column does not.  The optimizer removes
--     the cast where it cannot matter, as for integers.
--   * Our names come first in each inner SELECT: of two equal names DuckDB renames the later one, so a user's
--     "ppdm_size" becomes "ppdm_size_1" and ours stays ours.  Where a user's columns are in reach there is no
--     lambda over values and no other unqualified name, because a column would win against it.
--   * Every ORDER BY says ASC or DESC and every division has a DOUBLE in it: settings of the session change
--     what the short forms mean.


-- One row per equivalence class: ppdm_size rows, ppdm_share of the table, and the quasi-identifiers.
--
--   SELECT * FROM ppdm_classes('people', ['age', 'zip']) ORDER BY ppdm_size;
CREATE OR REPLACE MACRO ppdm_classes(table_name VARCHAR, qis VARCHAR[]) AS TABLE
WITH ppdm_groups AS (
    SELECT COUNT(*) AS ppdm_size, COLUMNS(qis)::VARCHAR COLLATE "C" AS 'ppdm_text_\0', COLUMNS(qis)
    FROM query_table(table_name)
    GROUP BY ALL
)
SELECT ppdm_size, ppdm_size::DOUBLE / SUM(ppdm_size) OVER () AS ppdm_share,
       -- The quasi-identifiers without their texts; lower() because 'AGE' also names the column age.
       COLUMNS(lambda ppdm_name: lower(ppdm_name) <> 'ppdm_size' AND NOT list_contains(
           list_transform(qis, lambda ppdm_qi: 'ppdm_text_' || lower(ppdm_qi)), lower(ppdm_name)))
FROM ppdm_groups;


-- How small do the classes get?  One row.
--   k              rows in the smallest class
--   rows, classes  of the whole table
--   unique_rows    rows alone in their class; rows_below_5, rows_below_10: in classes of fewer rows than that
--   null_rows      rows with NULL in a quasi-identifier; if 0, k is the same whatever NULL is taken to mean,
--                  else see ppdm_k_null_matches
--
--   SELECT k, unique_rows FROM ppdm_k_anonymity('people', ['age', 'zip']);
CREATE OR REPLACE MACRO ppdm_k_anonymity(table_name VARCHAR, qis VARCHAR[]) AS TABLE
WITH ppdm_groups AS (
    SELECT COUNT(*) AS ppdm_size, COLUMNS(qis), COLUMNS(qis)::VARCHAR COLLATE "C"
    FROM query_table(table_name)
    GROUP BY ALL
), ppdm_complete AS (
    SELECT SUM(ppdm_size) AS ppdm_rows
    FROM ppdm_groups
    WHERE COLUMNS(* EXCLUDE (ppdm_size)) IS NOT NULL  -- each of them
)
SELECT MIN(ppdm_size) AS k,
       COALESCE(SUM(ppdm_size), 0)::BIGINT AS rows,
       COUNT(*) AS classes,
       COALESCE(SUM(ppdm_size) FILTER (WHERE ppdm_size < 2), 0)::BIGINT AS unique_rows,
       COALESCE(SUM(ppdm_size) FILTER (WHERE ppdm_size < 5), 0)::BIGINT AS rows_below_5,
       COALESCE(SUM(ppdm_size) FILTER (WHERE ppdm_size < 10), 0)::BIGINT AS rows_below_10,
       (COALESCE(SUM(ppdm_size), 0) - COALESCE((SELECT ppdm_rows FROM ppdm_complete), 0))::BIGINT AS null_rows
FROM ppdm_groups;


-- k under both readings of NULL.  One row.
--   k               NULL is a value of its own: an attacker who knows which cells are NULL sees these classes
--   k_null_matches  NULL may be any value: the fewest rows that any row could be taken for, when two cells agree
--                   if they are equal or one of them is NULL.  Never below k.
--   null_patterns   ways in which rows are NULL; the cost grows as classes x null_patterns
--
--   FROM ppdm_k_null_matches('people', ['age', 'zip']);
CREATE OR REPLACE MACRO ppdm_k_null_matches(table_name VARCHAR, qis VARCHAR[]) AS TABLE
WITH ppdm_texts AS (
    SELECT COUNT(*) AS ppdm_size, COLUMNS(qis)::VARCHAR COLLATE "C"
    FROM query_table(table_name)
    GROUP BY ALL
), ppdm_cells AS (
    SELECT row_number() OVER () AS ppdm_id, ppdm_size, [*COLUMNS(* EXCLUDE (ppdm_size))] AS ppdm_cell
    FROM ppdm_texts
), ppdm_groups AS (
    SELECT *, list_transform(ppdm_cell, lambda ppdm_x: ppdm_x IS NULL) AS ppdm_nulls
    FROM ppdm_cells
), ppdm_patterns AS (
    SELECT ppdm_nulls, row_number() OVER () AS ppdm_pattern
    FROM ppdm_groups
    GROUP BY ppdm_nulls
), ppdm_masked AS (
    -- Two classes agree exactly if they are equal once the NULLs of both are blanked out in both.  So blank
    -- out each class for every pattern it may meet, and what was a comparison of all pairs is an equal join.
    SELECT ppdm_id, ppdm_size, ppdm_own.ppdm_pattern, ppdm_met.ppdm_pattern AS ppdm_other,
           list_transform(ppdm_cell, lambda ppdm_x, ppdm_i: CASE WHEN NOT ppdm_met.ppdm_nulls[ppdm_i] THEN ppdm_x END)
               AS ppdm_key
    FROM ppdm_groups
    JOIN ppdm_patterns AS ppdm_own ON ppdm_own.ppdm_nulls = ppdm_groups.ppdm_nulls
    CROSS JOIN ppdm_patterns AS ppdm_met
    WHERE (SELECT COUNT(*) FROM ppdm_patterns) > 1  -- with a single pattern both readings are the same
), ppdm_keys AS (
    SELECT ppdm_pattern, ppdm_other, ppdm_key, SUM(ppdm_size) AS ppdm_rows
    FROM ppdm_masked
    GROUP BY ALL
), ppdm_matches AS (
    SELECT ppdm_masked.ppdm_id, SUM(ppdm_keys.ppdm_rows) AS ppdm_rows
    FROM ppdm_masked
    JOIN ppdm_keys ON ppdm_keys.ppdm_pattern = ppdm_masked.ppdm_other
                  AND ppdm_keys.ppdm_other = ppdm_masked.ppdm_pattern
                  AND ppdm_keys.ppdm_key = ppdm_masked.ppdm_key  -- inside a list NULL equals NULL
    GROUP BY ppdm_masked.ppdm_id
)
SELECT MIN(ppdm_size) AS k,
       COALESCE((SELECT MIN(ppdm_rows) FROM ppdm_matches), MIN(ppdm_size))::BIGINT AS k_null_matches,
       (SELECT COUNT(*) FROM ppdm_patterns) AS null_patterns
FROM ppdm_groups;


-- The classes of fewer than k rows, with their ppdm_size.  No row: every class has at least k rows.
-- As it is, this is a dbt test or an audit.  (An empty table has no class, hence no breach.)
--
--   FROM ppdm_breaches('people', ['age', 'zip'], 2);
CREATE OR REPLACE MACRO ppdm_breaches(table_name VARCHAR, qis VARCHAR[], k BIGINT) AS TABLE
WITH ppdm_groups AS (
    SELECT COUNT(*) AS ppdm_size, COLUMNS(qis)::VARCHAR COLLATE "C" AS 'ppdm_text_\0', COLUMNS(qis)
    FROM query_table(table_name)
    GROUP BY ALL
)
SELECT ppdm_size,
       COLUMNS(lambda ppdm_name: lower(ppdm_name) <> 'ppdm_size' AND NOT list_contains(
           list_transform(qis, lambda ppdm_qi: 'ppdm_text_' || lower(ppdm_qi)), lower(ppdm_name)))
FROM ppdm_groups
-- Without the guard a NULL k would compare to nothing and look like a pass.
WHERE ppdm_size < (SELECT CASE WHEN k >= 1 THEN k ELSE error('ppdm_breaches: k must be 1 or more') END);


-- How well do the classes hide the sensitive value?  One row; each measure is that of its worst class.
--   rows, classes        of the whole table
--   homogeneous_classes  classes with one sensitive value: the value of anyone in it is known; homogeneous_rows in them
--   distinct_l           fewest different values in a class; 0 if no value of a class is known
--   simple_l             smallest known values / most frequent value; simple_l_size and simple_l_most_frequent are the exact
--                        fraction: simple l-diversity holds if simple_l_size >= l * simple_l_most_frequent
--   entropy_l            smallest exp(entropy): how many equally frequent values would hide as well
--   recursive_c2         (c, 2)-diversity holds for every c above this; infinity if a class has one value only.
--                        Other l: ppdm_recursive_diversity
--
--   SELECT homogeneous_classes, distinct_l, simple_l FROM ppdm_l_diversity('people', ['zip'], 'illness');
CREATE OR REPLACE MACRO ppdm_l_diversity(
    table_name VARCHAR, qis VARCHAR[], sensitive VARCHAR, nulls_as_value BOOLEAN := false
) AS TABLE
WITH ppdm_reading AS (
    SELECT nulls_as_value AS ppdm_counts_null  -- here, because a user's column of the parameter's name would win
), ppdm_cells AS (
    SELECT COUNT(*) AS ppdm_count,
           COLUMNS([sensitive]) AS ppdm_value, COLUMNS([sensitive])::VARCHAR COLLATE "C" AS ppdm_text,
           COLUMNS(qis), COLUMNS(qis)::VARCHAR COLLATE "C"
    FROM query_table(table_name)
    GROUP BY ALL
), ppdm_known_cells AS (
    SELECT CASE WHEN ppdm_value IS NOT NULL OR (SELECT ppdm_counts_null FROM ppdm_reading)
                THEN ppdm_count ELSE 0 END AS ppdm_known, *
    FROM ppdm_cells
), ppdm_groups AS (
    SELECT SUM(ppdm_count)::BIGINT AS ppdm_size, SUM(ppdm_known)::BIGINT AS ppdm_known_size,
           COUNT(*) FILTER (WHERE ppdm_known > 0) AS ppdm_distinct, MAX(ppdm_known) AS ppdm_top,
           SUM(ppdm_known * ln(ppdm_count)) AS ppdm_nlogn,
           COLUMNS(* EXCLUDE (ppdm_known, ppdm_count, ppdm_value, ppdm_text))
    FROM ppdm_known_cells
    GROUP BY ALL
), ppdm_worst AS (
    SELECT COALESCE(SUM(ppdm_size), 0)::BIGINT AS ppdm_rows, COUNT(*) AS ppdm_classes,
           COUNT(*) FILTER (WHERE ppdm_distinct = 1) AS ppdm_homogeneous,
           COALESCE(SUM(ppdm_size) FILTER (WHERE ppdm_distinct = 1), 0)::BIGINT AS ppdm_homogeneous_rows,
           MIN(ppdm_distinct) AS ppdm_distinct,
           -- Structs compare field by field: the smallest ratio, and the smallest class that has it.
           -- Without a known value it is 0 / 1, which no l reaches.
           MIN({'ratio': ppdm_known_size::DOUBLE / greatest(ppdm_top, 1), 'size': ppdm_known_size,
                'top': greatest(ppdm_top, 1)}) AS ppdm_simple,
           -- Rounding must not make one value look like a little less or more than one.
           MIN(CASE WHEN ppdm_distinct <= 1 THEN ppdm_distinct
                    ELSE exp(ln(ppdm_known_size) - ppdm_nlogn / ppdm_known_size) END) AS ppdm_entropy
    FROM ppdm_groups
)
SELECT ppdm_rows AS rows, ppdm_classes AS classes,
       ppdm_homogeneous AS homogeneous_classes, ppdm_homogeneous_rows AS homogeneous_rows,
       ppdm_distinct AS distinct_l,
       ppdm_simple.ratio AS simple_l, ppdm_simple.size AS simple_l_size, ppdm_simple.top AS simple_l_most_frequent,
       ppdm_entropy AS entropy_l,
       -- top / (size - top) is largest where size / top is smallest: it is the same class.
       CASE WHEN ppdm_simple.top < ppdm_simple.size
            THEN ppdm_simple.top::DOUBLE / (ppdm_simple.size - ppdm_simple.top)
            WHEN ppdm_simple.top >= ppdm_simple.size THEN 'infinity'::DOUBLE END AS recursive_c2
FROM ppdm_worst;


-- Recursive (c, l)-diversity, one row per l from 2 on: most_frequent < c * tail must hold in every class, where
-- tail is the number of rows whose value is the l-th most frequent of the class or rarer.
--   above_c              (c, l)-diversity holds exactly for the c above this
--   most_frequent, tail  of the class that decides it: above_c as an exact fraction
-- The last row is the first l that no c reaches, because a class has fewer values: tail 0, above_c infinity.
--
--   FROM ppdm_recursive_diversity('people', ['zip'], 'illness');
CREATE OR REPLACE MACRO ppdm_recursive_diversity(
    table_name VARCHAR, qis VARCHAR[], sensitive VARCHAR, nulls_as_value BOOLEAN := false
) AS TABLE
WITH ppdm_reading AS (
    SELECT nulls_as_value AS ppdm_counts_null  -- here, because a user's column of the parameter's name would win
), ppdm_cells AS (
    SELECT COUNT(*) AS ppdm_count,
           COLUMNS([sensitive]) AS ppdm_value, COLUMNS([sensitive])::VARCHAR COLLATE "C" AS ppdm_text,
           COLUMNS(qis), COLUMNS(qis)::VARCHAR COLLATE "C"
    FROM query_table(table_name)
    GROUP BY ALL
), ppdm_known_cells AS (
    SELECT CASE WHEN ppdm_value IS NOT NULL OR (SELECT ppdm_counts_null FROM ppdm_reading)
                THEN ppdm_count ELSE 0 END AS ppdm_known, *
    FROM ppdm_cells
), ppdm_groups AS (
    -- A 0 stands for the values a class does not have; a class without a known value has not even the first.
    SELECT list_concat(list(ppdm_known) FILTER (WHERE ppdm_known > 0), CASE WHEN MAX(ppdm_known) > 0 THEN [0] ELSE [0, 0] END)
               AS ppdm_counts,
           MAX(ppdm_known) AS ppdm_top,
           COLUMNS(* EXCLUDE (ppdm_known, ppdm_count, ppdm_value, ppdm_text))
    FROM ppdm_known_cells
    GROUP BY ALL
), ppdm_numbered AS (
    SELECT row_number() OVER () AS ppdm_id, ppdm_top, MIN(len(ppdm_counts)) OVER () AS ppdm_last,
           list_sort(ppdm_counts, 'DESC') AS ppdm_counts
    FROM ppdm_groups
), ppdm_unnested AS (
    SELECT ppdm_id, ppdm_top, ppdm_last,
           unnest(ppdm_counts) AS ppdm_count, generate_subscripts(ppdm_counts, 1) AS ppdm_l
    FROM ppdm_numbered
), ppdm_tails AS (
    SELECT ppdm_l, ppdm_top, ppdm_last,
           SUM(ppdm_count) OVER (PARTITION BY ppdm_id ORDER BY ppdm_l DESC ROWS UNBOUNDED PRECEDING) AS ppdm_tail
    FROM ppdm_unnested
), ppdm_worst AS (
    SELECT ppdm_l,
           MAX({'ratio': CASE WHEN ppdm_tail > 0 THEN ppdm_top::DOUBLE / ppdm_tail ELSE 'infinity' END,
                'top': ppdm_top, 'tail': ppdm_tail}) AS ppdm_ratio
    FROM ppdm_tails
    WHERE ppdm_l BETWEEN 2 AND ppdm_last
    GROUP BY ppdm_l
)
SELECT ppdm_l AS l, ppdm_ratio.ratio AS above_c, ppdm_ratio.top AS most_frequent, ppdm_ratio.tail::BIGINT AS tail
FROM ppdm_worst
ORDER BY ppdm_l ASC;


-- The classes that break simple l-diversity: the most frequent sensitive value has more than 1/l of the known ones.
-- No row: it holds.  With l = 2 the classes with a single value are among them; for distinct l-diversity add
-- WHERE ppdm_distinct < l.
--   ppdm_size, ppdm_known, ppdm_distinct, ppdm_most_frequent
--        rows, known values, different values, rows of the most frequent value
--
--   FROM ppdm_l_breaches('people', ['zip'], 'illness', 2);
CREATE OR REPLACE MACRO ppdm_l_breaches(
    table_name VARCHAR, qis VARCHAR[], sensitive VARCHAR, l BIGINT, nulls_as_value BOOLEAN := false
) AS TABLE
WITH ppdm_reading AS (
    SELECT nulls_as_value AS ppdm_counts_null  -- here, because a user's column of the parameter's name would win
), ppdm_cells AS (
    SELECT COUNT(*) AS ppdm_count,
           COLUMNS([sensitive]) AS ppdm_value, COLUMNS([sensitive])::VARCHAR COLLATE "C" AS ppdm_text,
           COLUMNS(qis)::VARCHAR COLLATE "C" AS 'ppdm_text_\0', COLUMNS(qis)
    FROM query_table(table_name)
    GROUP BY ALL
), ppdm_known_cells AS (
    SELECT CASE WHEN ppdm_value IS NOT NULL OR (SELECT ppdm_counts_null FROM ppdm_reading)
                THEN ppdm_count ELSE 0 END AS ppdm_counted, *
    FROM ppdm_cells
), ppdm_groups AS (
    SELECT SUM(ppdm_count)::BIGINT AS ppdm_size, SUM(ppdm_counted)::BIGINT AS ppdm_known,
           COUNT(*) FILTER (WHERE ppdm_counted > 0) AS ppdm_distinct, MAX(ppdm_counted) AS ppdm_most_frequent,
           COLUMNS(* EXCLUDE (ppdm_counted, ppdm_count, ppdm_value, ppdm_text))
    FROM ppdm_known_cells
    GROUP BY ALL
)
SELECT ppdm_size, ppdm_known, ppdm_distinct, ppdm_most_frequent,
       COLUMNS(lambda ppdm_name: lower(ppdm_name) NOT IN ('ppdm_size', 'ppdm_known', 'ppdm_distinct',
                                                          'ppdm_most_frequent')
           AND NOT list_contains(
               list_transform(qis, lambda ppdm_qi: 'ppdm_text_' || lower(ppdm_qi)), lower(ppdm_name)))
FROM ppdm_groups
WHERE ppdm_known < greatest(ppdm_most_frequent, 1)::HUGEINT
                   * (SELECT CASE WHEN l >= 1 THEN l ELSE error('ppdm_l_breaches: l must be 1 or more') END);


-- How far is a class from the whole table?  t-closeness with the equal distance, one row.
--   t                           largest half sum of |share in the class - share in the table|, 0 to 1, of known
--                               values; infinity, 1 / 0, if no value of a class is known
--   t_numerator, t_denominator  the same as a fraction of integers: at most 1/5 if t_numerator * 5 <= t_denominator
--   classes, sensitive_values   different ones in the whole table
--
--   SELECT t, t_numerator, t_denominator FROM ppdm_t_closeness('people', ['zip'], 'illness');
CREATE OR REPLACE MACRO ppdm_t_closeness(
    table_name VARCHAR, qis VARCHAR[], sensitive VARCHAR, nulls_as_value BOOLEAN := false
) AS TABLE
WITH ppdm_reading AS (
    SELECT nulls_as_value AS ppdm_counts_null  -- here, because a user's column of the parameter's name would win
), ppdm_cells AS (
    SELECT COUNT(*) AS ppdm_count,
           COLUMNS([sensitive]) AS ppdm_value, COLUMNS([sensitive])::VARCHAR COLLATE "C" AS ppdm_text,
           COLUMNS(qis), COLUMNS(qis)::VARCHAR COLLATE "C"
    FROM query_table(table_name)
    GROUP BY ALL
), ppdm_known_cells AS (
    SELECT CASE WHEN ppdm_value IS NOT NULL OR (SELECT ppdm_counts_null FROM ppdm_reading)
                THEN ppdm_count ELSE 0 END AS ppdm_known, *
    FROM ppdm_cells
), ppdm_values AS (
    SELECT ppdm_value, ppdm_text, SUM(ppdm_known) AS ppdm_total, SUM(SUM(ppdm_known)) OVER () AS ppdm_rows
    FROM ppdm_known_cells
    GROUP BY ALL
), ppdm_groups AS (
    SELECT SUM(ppdm_cells.ppdm_known) AS ppdm_size, any_value(ppdm_values.ppdm_rows) AS ppdm_rows,
           list({'count': ppdm_cells.ppdm_known, 'total': ppdm_values.ppdm_total}) AS ppdm_counts,
           COLUMNS(ppdm_cells.* EXCLUDE (ppdm_known, ppdm_count, ppdm_value, ppdm_text))
    FROM ppdm_known_cells AS ppdm_cells
    JOIN ppdm_values ON ppdm_values.ppdm_value IS NOT DISTINCT FROM ppdm_cells.ppdm_value
                    AND ppdm_values.ppdm_text IS NOT DISTINCT FROM ppdm_cells.ppdm_text
    GROUP BY ALL
), ppdm_bare AS (
    SELECT ppdm_size, ppdm_rows, ppdm_counts FROM ppdm_groups
), ppdm_distances AS (
    -- Half the sum of all differences is the sum of the positive ones, and only values of the class have those.
    SELECT CASE WHEN ppdm_size = 0 THEN 1 ELSE list_sum(list_transform(ppdm_counts, lambda ppdm_x:
               greatest(ppdm_x.count * ppdm_rows - ppdm_x.total * ppdm_size, 0))) END AS ppdm_distance,
           ppdm_size * ppdm_rows AS ppdm_whole
    FROM ppdm_bare
), ppdm_worst AS (
    SELECT COUNT(*) AS ppdm_classes,
           MAX({'t': CASE WHEN ppdm_whole = 0 THEN 'infinity' ELSE ppdm_distance::DOUBLE / ppdm_whole END,
                'part': ppdm_distance, 'whole': ppdm_whole}) AS ppdm_t
    FROM ppdm_distances
)
SELECT ppdm_t.t AS t,
       ppdm_t.part // gcd(ppdm_t.part, ppdm_t.whole) AS t_numerator,
       ppdm_t.whole // gcd(ppdm_t.part, ppdm_t.whole) AS t_denominator,
       ppdm_classes AS classes,
       (SELECT COUNT(*) FROM ppdm_values WHERE ppdm_total > 0) AS sensitive_values
FROM ppdm_worst;


-- The same with the ordered distance, for a sensitive column whose order means something (a number, a date, a
-- grade): moving a row to the next value of the table costs 1 / (values - 1), so a class of values that lie close
-- together is further from the table than one that spreads.  NULL, where it counts, stands after the largest value;
-- columns as above.
--
--   SELECT t FROM ppdm_t_closeness_ordered('people', ['zip'], 'age');
CREATE OR REPLACE MACRO ppdm_t_closeness_ordered(
    table_name VARCHAR, qis VARCHAR[], sensitive VARCHAR, nulls_as_value BOOLEAN := false
) AS TABLE
WITH ppdm_reading AS (
    SELECT nulls_as_value AS ppdm_counts_null  -- here, because a user's column of the parameter's name would win
), ppdm_cells AS (
    SELECT COUNT(*) AS ppdm_count,
           COLUMNS([sensitive]) AS ppdm_value, COLUMNS([sensitive])::VARCHAR COLLATE "C" AS ppdm_text,
           COLUMNS(qis), COLUMNS(qis)::VARCHAR COLLATE "C"
    FROM query_table(table_name)
    GROUP BY ALL
), ppdm_known_cells AS (
    SELECT CASE WHEN ppdm_value IS NOT NULL OR (SELECT ppdm_counts_null FROM ppdm_reading)
                THEN ppdm_count ELSE 0 END AS ppdm_known, *
    FROM ppdm_cells
), ppdm_totals AS (
    -- A NULL that does not count stays as the last value with nothing in it: nothing is moved to or past it.
    SELECT ppdm_value, ppdm_text, SUM(ppdm_known) AS ppdm_total
    FROM ppdm_known_cells
    GROUP BY ALL
), ppdm_ranked AS (
    -- ppdm_upto: rows of the table up to this value.
    SELECT ppdm_value, ppdm_text, ppdm_total,
           row_number() OVER ppdm_order AS ppdm_rank, SUM(ppdm_total) OVER ppdm_order AS ppdm_upto
    FROM ppdm_totals
    WINDOW ppdm_order AS (ORDER BY ppdm_value ASC NULLS LAST, ppdm_text ASC NULLS LAST ROWS UNBOUNDED PRECEDING)
), ppdm_values AS (
    -- ppdm_area: the sum of ppdm_upto so far.  It gives the sum over any stretch of values as one difference.
    SELECT *, SUM(ppdm_upto) OVER (ORDER BY ppdm_rank ASC ROWS UNBOUNDED PRECEDING) AS ppdm_area
    FROM ppdm_ranked
), ppdm_steps AS (
    SELECT ppdm_rank, ppdm_upto, ppdm_area FROM ppdm_values
    UNION ALL
    SELECT 0, 0, 0
), ppdm_whole AS (
    SELECT MAX(ppdm_rank) AS ppdm_last, MAX(ppdm_upto) AS ppdm_rows, MAX(ppdm_area) AS ppdm_all,
           (SELECT COUNT(*) FROM ppdm_values WHERE ppdm_total > 0) AS ppdm_filled
    FROM ppdm_steps
), ppdm_groups AS (
    SELECT SUM(ppdm_cells.ppdm_known) AS ppdm_size,
           list({'count': ppdm_cells.ppdm_known, 'rank': ppdm_values.ppdm_rank,
                 'before': ppdm_values.ppdm_area - ppdm_values.ppdm_upto}) AS ppdm_counts,
           COLUMNS(ppdm_cells.* EXCLUDE (ppdm_known, ppdm_count, ppdm_value, ppdm_text))
    FROM ppdm_known_cells AS ppdm_cells
    JOIN ppdm_values ON ppdm_values.ppdm_value IS NOT DISTINCT FROM ppdm_cells.ppdm_value
                    AND ppdm_values.ppdm_text IS NOT DISTINCT FROM ppdm_cells.ppdm_text
    GROUP BY ALL
), ppdm_unnested AS (
    SELECT ppdm_id, ppdm_size, unnest(ppdm_counts) AS ppdm_x
    FROM (SELECT row_number() OVER () AS ppdm_id, ppdm_size, ppdm_counts FROM ppdm_groups) AS ppdm_numbered
), ppdm_stretches AS (
    -- From one value of a class to its next one the class's own cumulative count stays ppdm_have.
    SELECT ppdm_id, ppdm_size, ppdm_x.rank - 1 AS ppdm_from, ppdm_x.before AS ppdm_area_from,
           SUM(ppdm_x.count) OVER ppdm_order * ppdm_rows AS ppdm_have,
           lead(ppdm_x.rank - 1, 1, ppdm_last) OVER ppdm_order AS ppdm_to,
           lead(ppdm_x.before, 1, ppdm_all) OVER ppdm_order AS ppdm_area_to
    FROM ppdm_unnested CROSS JOIN ppdm_whole
    WINDOW ppdm_order AS (PARTITION BY ppdm_id ORDER BY ppdm_x.rank ASC ROWS UNBOUNDED PRECEDING)
), ppdm_crossed AS (
    -- The table's cumulative share only rises: it is below the class's up to one rank and above it from there on.
    SELECT ppdm_stretches.*,
           greatest(ppdm_from, least(ppdm_rank, ppdm_to)) AS ppdm_cross,
           greatest(ppdm_area_from, least(ppdm_area, ppdm_area_to)) AS ppdm_area_cross
    FROM ppdm_stretches
    ASOF JOIN ppdm_steps
        ON COALESCE(ppdm_stretches.ppdm_have // nullif(ppdm_stretches.ppdm_size, 0), 0) >= ppdm_steps.ppdm_upto
), ppdm_distances AS (
    SELECT SUM(ppdm_have * (2 * ppdm_cross - ppdm_from - ppdm_to)
               + ppdm_size * (ppdm_area_from + ppdm_area_to - 2 * ppdm_area_cross))
           + any_value(ppdm_size) * MIN(ppdm_area_from)  -- before its first value the class has nothing
               AS ppdm_distance,
           any_value(ppdm_size) AS ppdm_size
    FROM ppdm_crossed
    GROUP BY ppdm_id
), ppdm_fractions AS (
    -- With one value there is nowhere to move to: any divisor but 0 gives the distance 0.
    SELECT CASE WHEN ppdm_size = 0 THEN 1 ELSE ppdm_distance END AS ppdm_part,
           ppdm_size * ppdm_rows * greatest(ppdm_filled - 1, 1) AS ppdm_full
    FROM ppdm_distances CROSS JOIN ppdm_whole
), ppdm_worst AS (
    SELECT COUNT(*) AS ppdm_classes,
           MAX({'t': CASE WHEN ppdm_full = 0 THEN 'infinity' ELSE ppdm_part::DOUBLE / ppdm_full END,
                'part': ppdm_part, 'whole': ppdm_full}) AS ppdm_t
    FROM ppdm_fractions
)
SELECT ppdm_t.t AS t,
       ppdm_t.part // gcd(ppdm_t.part, ppdm_t.whole) AS t_numerator,
       ppdm_t.whole // gcd(ppdm_t.part, ppdm_t.whole) AS t_denominator,
       ppdm_classes AS classes,
       (SELECT COUNT(*) FROM ppdm_values WHERE ppdm_total > 0) AS sensitive_values
FROM ppdm_worst;


-- What does a class say that the table does not?  One row; each figure is that of the worst class, among known values,
-- where q is the share of a value in the class and p its share in the table.
--   alpha          largest q: with k rows in every class the table is (alpha, k)-anonymous
--   beta           largest (q - p) / p: basic beta-likeness holds from this beta on
--   enhanced_beta  the same, or infinity if some value has (q - p) / p above -ln p, which no beta allows
--   delta          largest |ln(q / p)|: delta-disclosure privacy holds for every delta above this; infinity if a class
--                  lacks a value of the table
--   ..._numerator, ..._denominator  alpha and beta as fractions of integers
--   classes, sensitive_values       different ones in the whole table
-- All are infinity, 1 / 0, if no value of a class is known.  Logarithms are DOUBLE: for reading, not for deciding.
--
--   SELECT alpha, beta, enhanced_beta, delta FROM ppdm_likeness('people', ['zip'], 'illness');
CREATE OR REPLACE MACRO ppdm_likeness(
    table_name VARCHAR, qis VARCHAR[], sensitive VARCHAR, nulls_as_value BOOLEAN := false
) AS TABLE
WITH ppdm_reading AS (
    SELECT nulls_as_value AS ppdm_counts_null  -- here, because a user's column of the parameter's name would win
), ppdm_cells AS (
    SELECT COUNT(*) AS ppdm_count,
           COLUMNS([sensitive]) AS ppdm_value, COLUMNS([sensitive])::VARCHAR COLLATE "C" AS ppdm_text,
           COLUMNS(qis), COLUMNS(qis)::VARCHAR COLLATE "C"
    FROM query_table(table_name)
    GROUP BY ALL
), ppdm_known_cells AS (
    SELECT CASE WHEN ppdm_value IS NOT NULL OR (SELECT ppdm_counts_null FROM ppdm_reading)
                THEN ppdm_count ELSE 0 END AS ppdm_known, *
    FROM ppdm_cells
), ppdm_values AS (
    SELECT ppdm_value, ppdm_text, SUM(ppdm_known) AS ppdm_total, SUM(SUM(ppdm_known)) OVER () AS ppdm_rows,
           COUNT(*) FILTER (WHERE SUM(ppdm_known) > 0) OVER () AS ppdm_all
    FROM ppdm_known_cells
    GROUP BY ALL
), ppdm_groups AS (
    SELECT SUM(ppdm_cells.ppdm_known) AS ppdm_size, any_value(ppdm_values.ppdm_rows) AS ppdm_rows,
           any_value(ppdm_values.ppdm_all) AS ppdm_all,
           list({'count': ppdm_cells.ppdm_known, 'total': ppdm_values.ppdm_total})
               FILTER (WHERE ppdm_cells.ppdm_known > 0) AS ppdm_counts,
           COLUMNS(ppdm_cells.* EXCLUDE (ppdm_known, ppdm_count, ppdm_value, ppdm_text))
    FROM ppdm_known_cells AS ppdm_cells
    JOIN ppdm_values ON ppdm_values.ppdm_value IS NOT DISTINCT FROM ppdm_cells.ppdm_value
                    AND ppdm_values.ppdm_text IS NOT DISTINCT FROM ppdm_cells.ppdm_text
    GROUP BY ALL
), ppdm_bare AS (
    SELECT row_number() OVER () AS ppdm_id, ppdm_size, ppdm_rows, ppdm_all, ppdm_counts FROM ppdm_groups
), ppdm_unnested AS (
    SELECT ppdm_id, ppdm_size, ppdm_rows, ppdm_all, len(ppdm_counts) AS ppdm_held,
           unnest(CASE WHEN ppdm_size > 0 THEN ppdm_counts ELSE [{'count': 0, 'total': 0}] END) AS ppdm_x
    FROM ppdm_bare
), ppdm_ratios AS (
    SELECT ppdm_id, ppdm_size, ppdm_rows, ppdm_all, ppdm_held, ppdm_x.count AS ppdm_count, ppdm_x.total AS ppdm_total,
           ppdm_x.count * ppdm_rows - ppdm_x.total * ppdm_size AS ppdm_excess, ppdm_x.total * ppdm_size AS ppdm_expected,
           ppdm_x.count::DOUBLE * ppdm_rows / nullif(ppdm_x.total * ppdm_size, 0) AS ppdm_ratio
    FROM ppdm_unnested
), ppdm_worst AS (
    SELECT COUNT(DISTINCT ppdm_id) AS ppdm_classes,
           MAX({'share': CASE WHEN ppdm_size = 0 THEN 'infinity' ELSE ppdm_count::DOUBLE / ppdm_size END,
                'part': CASE WHEN ppdm_size = 0 THEN 1 ELSE ppdm_count END, 'whole': ppdm_size}) AS ppdm_alpha,
           MAX({'share': CASE WHEN ppdm_size = 0 THEN 'infinity' ELSE ppdm_excess::DOUBLE / ppdm_expected END,
                'part': CASE WHEN ppdm_size = 0 THEN 1 ELSE ppdm_excess END, 'whole': ppdm_expected}) AS ppdm_beta,
           MAX(CASE WHEN ppdm_size = 0 THEN 1
                    WHEN ppdm_total < ppdm_rows
                         AND ppdm_ratio - 1 > ln(ppdm_rows::DOUBLE / ppdm_total) THEN 1 ELSE 0 END) AS ppdm_lawless,
           MAX(CASE WHEN ppdm_size = 0 OR ppdm_held < ppdm_all THEN 'infinity' ELSE abs(ln(ppdm_ratio)) END) AS ppdm_delta
    FROM ppdm_ratios
)
SELECT ppdm_alpha.share AS alpha,
       ppdm_alpha.part // gcd(ppdm_alpha.part, ppdm_alpha.whole) AS alpha_numerator,
       ppdm_alpha.whole // gcd(ppdm_alpha.part, ppdm_alpha.whole) AS alpha_denominator,
       ppdm_beta.share AS beta,
       ppdm_beta.part // gcd(ppdm_beta.part, ppdm_beta.whole) AS beta_numerator,
       ppdm_beta.whole // gcd(ppdm_beta.part, ppdm_beta.whole) AS beta_denominator,
       CASE WHEN ppdm_lawless = 1 THEN 'infinity' ELSE ppdm_beta.share END AS enhanced_beta,
       ppdm_delta AS delta,
       ppdm_classes AS classes,
       (SELECT COUNT(*) FROM ppdm_values WHERE ppdm_total > 0) AS sensitive_values
FROM ppdm_worst;


-- How likely is a right guess?  Risk of re-identification, one row.
--   prosecutor_highest, prosecutor_average  the attacker knows that the person is in the table: 1 / class size, for
--                                           the worst row and on average over rows
--   journalist_highest, journalist_average  the attacker does not know it, and looks the class up in the population.
--                                           Computed as if the table were the whole population: then they equal the
--                                           prosecutor's; for a sample of it they are upper bounds
--   marketer                                share of rows expected to be found when all are attacked
--   share_above_20_percent, ..._10_, ..._5_ share of rows with a prosecutor risk above 0.2, 0.1, 0.05: those in
--                                           classes of fewer than 5, 10, 20 rows, counted as such
--
--   SELECT prosecutor_highest, marketer FROM ppdm_risk('people', ['age', 'zip']);
CREATE OR REPLACE MACRO ppdm_risk(table_name VARCHAR, qis VARCHAR[]) AS TABLE
WITH ppdm_groups AS (
    SELECT COUNT(*) AS ppdm_size, COLUMNS(qis), COLUMNS(qis)::VARCHAR COLLATE "C"
    FROM query_table(table_name)
    GROUP BY ALL
), ppdm_sums AS (
    SELECT COALESCE(SUM(ppdm_size), 0)::BIGINT AS ppdm_rows, COUNT(*) AS ppdm_classes, MIN(ppdm_size) AS ppdm_smallest,
           COALESCE(SUM(ppdm_size) FILTER (WHERE ppdm_size < 5), 0) AS ppdm_below_5,
           COALESCE(SUM(ppdm_size) FILTER (WHERE ppdm_size < 10), 0) AS ppdm_below_10,
           COALESCE(SUM(ppdm_size) FILTER (WHERE ppdm_size < 20), 0) AS ppdm_below_20
    FROM ppdm_groups
), ppdm_risks AS (
    -- A class contributes size * 1/size = 1 to the sum of risks, so the average is classes / rows.
    SELECT *, 1::DOUBLE / ppdm_smallest AS ppdm_highest,
           ppdm_classes::DOUBLE / nullif(ppdm_rows, 0) AS ppdm_average
    FROM ppdm_sums
)
SELECT ppdm_rows AS rows, ppdm_classes AS classes,
       ppdm_highest AS prosecutor_highest, ppdm_average AS prosecutor_average,
       ppdm_highest AS journalist_highest, ppdm_average AS journalist_average,
       ppdm_average AS marketer,
       ppdm_below_5::DOUBLE / nullif(ppdm_rows, 0) AS share_above_20_percent,
       ppdm_below_10::DOUBLE / nullif(ppdm_rows, 0) AS share_above_10_percent,
       ppdm_below_20::DOUBLE / nullif(ppdm_rows, 0) AS share_above_5_percent
FROM ppdm_risks;


-- How many classes are there of each size?  One row per size, the smallest first.
--   size, classes, rows      so many classes of this size, together so many rows
--   rows_up_to, share_up_to  rows in classes of this size or smaller, and their share of the table: what would be
--                            lost if those classes were left out
--
--   FROM ppdm_class_sizes('people', ['age', 'zip']);
CREATE OR REPLACE MACRO ppdm_class_sizes(table_name VARCHAR, qis VARCHAR[]) AS TABLE
WITH ppdm_groups AS (
    SELECT COUNT(*) AS ppdm_size, COLUMNS(qis), COLUMNS(qis)::VARCHAR COLLATE "C"
    FROM query_table(table_name)
    GROUP BY ALL
), ppdm_sizes AS (
    SELECT ppdm_size, COUNT(*) AS ppdm_classes, SUM(ppdm_size) AS ppdm_rows
    FROM ppdm_groups
    GROUP BY ppdm_size
)
SELECT ppdm_size AS size, ppdm_classes AS classes, ppdm_rows::BIGINT AS rows,
       (SUM(ppdm_rows) OVER ppdm_order)::BIGINT AS rows_up_to,
       (SUM(ppdm_rows) OVER ppdm_order)::DOUBLE / SUM(ppdm_rows) OVER () AS share_up_to
FROM ppdm_sizes
WINDOW ppdm_order AS (ORDER BY ppdm_size ASC ROWS UNBOUNDED PRECEDING)
ORDER BY ppdm_size ASC;


-- How many people of a population have the values of each class?  One row; population_name is a table with one row
-- per person and the same quasi-identifiers, in the same words.
--   k_map             people of the population in the class that has the fewest: a row looked up there finds so many
--   least_presence, greatest_presence  of the people of the population with the same values, the share whose rows are
--                     in the table: the table is (least, greatest)-present.  Values that no row has count with 0, and
--                     greatest_presence is infinity where the population lacks a row of the table
--   classes           of the table
--   missing_rows      rows of the table that are more than the population has people with their values
--
--   SELECT k_map, greatest_presence FROM ppdm_population('people', ['age', 'zip'], 'people');
CREATE OR REPLACE MACRO ppdm_population(table_name VARCHAR, qis VARCHAR[], population_name VARCHAR) AS TABLE
WITH ppdm_everybody AS (
    SELECT 1 AS ppdm_here, 0 AS ppdm_there, COLUMNS(qis)::VARCHAR COLLATE "C" FROM query_table(table_name)
    UNION ALL BY NAME
    SELECT 0 AS ppdm_here, 1 AS ppdm_there, COLUMNS(qis)::VARCHAR COLLATE "C" FROM query_table(population_name)
), ppdm_groups AS (
    SELECT SUM(ppdm_here) AS ppdm_size, SUM(ppdm_there) AS ppdm_held, COLUMNS(* EXCLUDE (ppdm_here, ppdm_there))
    FROM ppdm_everybody
    GROUP BY ALL
), ppdm_shares AS (
    SELECT ppdm_size, ppdm_held,
           CASE WHEN ppdm_held = 0 THEN 'infinity' ELSE ppdm_size::DOUBLE / ppdm_held END AS ppdm_share
    FROM ppdm_groups
)
SELECT MIN(ppdm_held) FILTER (WHERE ppdm_size > 0)::BIGINT AS k_map,
       MIN(ppdm_share) AS least_presence, MAX(ppdm_share) AS greatest_presence,
       COUNT(*) FILTER (WHERE ppdm_size > 0) AS classes,
       COALESCE(SUM(greatest(ppdm_size - ppdm_held, 0)), 0)::BIGINT AS missing_rows
FROM ppdm_shares;


-- How small do the classes get for an attacker who knows only m of the quasi-identifiers?  One row.
--   k     rows in the smallest class over any m columns: the table is k^m-anonymous
--   sets  how many sets of m columns there are; all of them are counted, so give at most 20 columns
--
--   SELECT k FROM ppdm_k_every('people', ['age', 'zip', 'illness'], 2);
CREATE OR REPLACE MACRO ppdm_k_every(table_name VARCHAR, qis VARCHAR[], m BIGINT) AS TABLE
WITH ppdm_rows AS (
    SELECT list_value(*COLUMNS(*)) AS ppdm_texts
    FROM (SELECT COLUMNS(qis)::VARCHAR COLLATE "C" FROM query_table(table_name)) AS ppdm_printed
), ppdm_sets AS (
    SELECT list_filter(range(1, len(qis) + 1), lambda ppdm_place: (ppdm_mask >> (ppdm_place - 1)) & 1 = 1) AS ppdm_set
    FROM (SELECT unnest(range(0, (1::BIGINT << len(qis))::BIGINT)) AS ppdm_mask) AS ppdm_masks
    WHERE bit_count(ppdm_mask) = least(CASE WHEN m >= 1 THEN m ELSE error('m must be 1 or more') END, len(qis))
), ppdm_groups AS (
    SELECT ppdm_set, list_transform(ppdm_set, lambda ppdm_place: ppdm_texts[ppdm_place]) AS ppdm_known,
           COUNT(*) AS ppdm_size
    FROM ppdm_rows CROSS JOIN ppdm_sets
    GROUP BY ALL
)
SELECT MIN(ppdm_size) AS k, (SELECT COUNT(*) FROM ppdm_sets) AS sets FROM ppdm_groups;
