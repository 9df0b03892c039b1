-- How risky is this table?  Table macros for any DuckDB client (2.0 or later); nothing else is needed.
--
-- Load them once per database with `.read ppdm.sql` (or run this text); loading again replaces them and
-- touches nothing else.  Every macro only reads.
--
--   table_name  a table, view or CTE, as text: 'people', 'clinic.main.people', '"my schema"."odd.name"'.
--   qis         the quasi-identifiers, a list of column names: ['age', 'zip'].  They are names, not SQL: no
--               quotes around odd ones, no patterns.  A name the table does not have is an error.
--   sensitive   the name of the column whose value must not be learned.
--
-- An equivalence class is the set of rows that agree in every quasi-identifier.  Rules, the same in all macros:
--   * NULL is a value of its own, among the quasi-identifiers and in the sensitive column.
--   * Two values are the same only if they are equal and print the same.  So 'a' and 'A' differ whatever the
--     column's collation says, and so do 0.0 and -0.0: a recipient sees the difference.
--   * Rows are counted.  If one person has several rows, measure SELECT DISTINCT person, quasi-identifiers.
--   * An empty table has no class: counts are 0 and every measure is NULL, which passes no comparison.
--   * Decide with the integer columns and the macros named breaches; DOUBLE columns are for reading.
--
-- The examples below use this table and can be run in order:
--
--   CREATE OR REPLACE TABLE people AS
--   SELECT * FROM (VALUES (34, '471', 'flu'), (34, '471', 'flu'), (34, '471', 'asthma'), (34, NULL, 'flu'),
--                         (51, '479', 'cancer'), (51, '479', 'cancer'), (60, '479', NULL)) AS v(age, zip, illness);
--
-- How it is made, for whoever changes it.  Each macro stands alone, because a macro that calls another one finds
-- it only while both are in the search path.  Column names are only ever reached through COLUMNS(list): it takes
-- any name literally and refuses unknown ones, where COLUMNS(lambda) would drop them.  Our names come first in
-- each inner SELECT: of two equal names DuckDB renames the later one, so a user's "ppdm_size" becomes
-- "ppdm_size_1" and ours stays ours.  The cast with COLLATE "C" is what tells equal but different values apart
-- (the cast alone keeps the collation); the optimizer removes it where it cannot matter.


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
--   k               NULL is a value of its own: somebody who knows which cells are NULL sees these classes
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
    SELECT ppdm_size, [*COLUMNS(* EXCLUDE (ppdm_size))] AS ppdm_cell
    FROM ppdm_texts
), ppdm_groups AS (
    SELECT row_number() OVER () AS ppdm_id, ppdm_size, ppdm_cell,
           list_transform(ppdm_cell, lambda ppdm_x: ppdm_x IS NULL) AS ppdm_pattern
    FROM ppdm_cells
), ppdm_patterns AS (
    SELECT DISTINCT ppdm_pattern AS ppdm_other FROM ppdm_groups
), ppdm_masked AS (
    -- Two classes agree exactly if they are equal once the NULLs of both are blanked out in both.  So blank
    -- out each class for every pattern it may meet, and what was a comparison of all pairs is an equal join.
    SELECT ppdm_id, ppdm_size, ppdm_pattern, ppdm_other,
           list_transform(ppdm_cell, lambda ppdm_x, ppdm_i: CASE WHEN NOT ppdm_other[ppdm_i] THEN ppdm_x END)
               AS ppdm_key
    FROM ppdm_groups CROSS JOIN ppdm_patterns
    WHERE (SELECT COUNT(*) FROM ppdm_patterns) > 1  -- with a single pattern both readings are the same
), ppdm_met AS (
    SELECT ppdm_pattern, ppdm_other, ppdm_key, SUM(ppdm_size) AS ppdm_rows
    FROM ppdm_masked
    GROUP BY ALL
), ppdm_matches AS (
    SELECT ppdm_masked.ppdm_id, SUM(ppdm_met.ppdm_rows) AS ppdm_rows
    FROM ppdm_masked
    JOIN ppdm_met ON ppdm_met.ppdm_pattern = ppdm_masked.ppdm_other
                 AND ppdm_met.ppdm_other = ppdm_masked.ppdm_pattern
                 AND ppdm_met.ppdm_key = ppdm_masked.ppdm_key  -- lists: NULL equals NULL inside
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
--   homogeneous_classes  classes with one sensitive value: whoever is found there is known; homogeneous_rows in them
--   distinct_l           fewest different values in a class
--   simple_l             smallest size / most frequent value; simple_l_size and simple_l_most_frequent are the exact
--                        fraction: simple l-diversity holds if simple_l_size >= l * simple_l_most_frequent
--   entropy_l            smallest exp(entropy): how many equally frequent values would hide as well
--   recursive_c2         (c, 2)-diversity holds for every c above this; infinity if a class has one value only.
--                        Other l: ppdm_recursive_diversity
--
--   SELECT homogeneous_classes, distinct_l, simple_l FROM ppdm_l_diversity('people', ['zip'], 'illness');
CREATE OR REPLACE MACRO ppdm_l_diversity(table_name VARCHAR, qis VARCHAR[], sensitive VARCHAR) AS TABLE
WITH ppdm_cells AS (
    SELECT COUNT(*) AS ppdm_count,
           COLUMNS([sensitive]) AS ppdm_value, COLUMNS([sensitive])::VARCHAR COLLATE "C" AS ppdm_text,
           COLUMNS(qis), COLUMNS(qis)::VARCHAR COLLATE "C"
    FROM query_table(table_name)
    GROUP BY ALL
), ppdm_groups AS (
    SELECT SUM(ppdm_count)::BIGINT AS ppdm_size, COUNT(*) AS ppdm_distinct, MAX(ppdm_count) AS ppdm_top,
           SUM(ppdm_count * ln(ppdm_count)) AS ppdm_nlogn,
           COLUMNS(* EXCLUDE (ppdm_count, ppdm_value, ppdm_text))
    FROM ppdm_cells
    GROUP BY ALL
), ppdm_worst AS (
    SELECT COALESCE(SUM(ppdm_size), 0)::BIGINT AS ppdm_rows, COUNT(*) AS ppdm_classes,
           COUNT(*) FILTER (WHERE ppdm_distinct = 1) AS ppdm_homogeneous,
           COALESCE(SUM(ppdm_size) FILTER (WHERE ppdm_distinct = 1), 0)::BIGINT AS ppdm_homogeneous_rows,
           MIN(ppdm_distinct) AS ppdm_distinct,
           -- Structs compare field by field: the smallest ratio, and the smallest class that has it.
           MIN({'ratio': ppdm_size::DOUBLE / ppdm_top, 'size': ppdm_size, 'top': ppdm_top}) AS ppdm_simple,
           -- Rounding must not make one value look like a little less than one.
           MIN(greatest(1.0::DOUBLE, exp(ln(ppdm_size) - ppdm_nlogn / ppdm_size))) AS ppdm_entropy
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
            WHEN ppdm_simple.top = ppdm_simple.size THEN 'infinity'::DOUBLE END AS recursive_c2
FROM ppdm_worst;


-- Recursive (c, l)-diversity, one row per l from 2 on: most_frequent < c * tail must hold in every class, where
-- tail is the number of rows whose value is the l-th most frequent of the class or rarer.
--   above_c              (c, l)-diversity holds exactly for the c above this
--   most_frequent, tail  of the class that decides it: above_c as an exact fraction
-- The last row is the first l that no c reaches, because a class has fewer values: tail 0, above_c infinity.
--
--   FROM ppdm_recursive_diversity('people', ['zip'], 'illness');
CREATE OR REPLACE MACRO ppdm_recursive_diversity(table_name VARCHAR, qis VARCHAR[], sensitive VARCHAR) AS TABLE
WITH ppdm_cells AS (
    SELECT COUNT(*) AS ppdm_count,
           COLUMNS([sensitive]) AS ppdm_value, COLUMNS([sensitive])::VARCHAR COLLATE "C" AS ppdm_text,
           COLUMNS(qis), COLUMNS(qis)::VARCHAR COLLATE "C"
    FROM query_table(table_name)
    GROUP BY ALL
), ppdm_groups AS (
    -- The 0 stands for the values a class does not have.
    SELECT list(ppdm_count) || [0] AS ppdm_counts, MAX(ppdm_count) AS ppdm_top,
           COLUMNS(* EXCLUDE (ppdm_count, ppdm_value, ppdm_text))
    FROM ppdm_cells
    GROUP BY ALL
), ppdm_numbered AS (
    SELECT row_number() OVER () AS ppdm_id, ppdm_top, MIN(len(ppdm_counts)) OVER () AS ppdm_last,
           list_reverse_sort(ppdm_counts) AS ppdm_counts
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
ORDER BY ppdm_l;


-- The classes that break simple l-diversity: the most frequent sensitive value has more than 1/l of the rows.
-- No row: it holds.  With l = 2 the classes with a single value are among them; for distinct l-diversity add
-- WHERE ppdm_distinct < l.
--   ppdm_size, ppdm_distinct, ppdm_most_frequent  rows, different values, rows of the most frequent value
--
--   FROM ppdm_l_breaches('people', ['zip'], 'illness', 2);
CREATE OR REPLACE MACRO ppdm_l_breaches(table_name VARCHAR, qis VARCHAR[], sensitive VARCHAR, l BIGINT) AS TABLE
WITH ppdm_cells AS (
    SELECT COUNT(*) AS ppdm_count,
           COLUMNS([sensitive]) AS ppdm_value, COLUMNS([sensitive])::VARCHAR COLLATE "C" AS ppdm_text,
           COLUMNS(qis)::VARCHAR COLLATE "C" AS 'ppdm_text_\0', COLUMNS(qis)
    FROM query_table(table_name)
    GROUP BY ALL
), ppdm_groups AS (
    SELECT SUM(ppdm_count)::BIGINT AS ppdm_size, COUNT(*) AS ppdm_distinct, MAX(ppdm_count) AS ppdm_most_frequent,
           COLUMNS(* EXCLUDE (ppdm_count, ppdm_value, ppdm_text))
    FROM ppdm_cells
    GROUP BY ALL
)
SELECT ppdm_size, ppdm_distinct, ppdm_most_frequent,
       COLUMNS(lambda ppdm_name: lower(ppdm_name) NOT IN ('ppdm_size', 'ppdm_distinct', 'ppdm_most_frequent')
           AND NOT list_contains(
               list_transform(qis, lambda ppdm_qi: 'ppdm_text_' || lower(ppdm_qi)), lower(ppdm_name)))
FROM ppdm_groups
WHERE ppdm_size < ppdm_most_frequent::HUGEINT
                  * (SELECT CASE WHEN l >= 1 THEN l ELSE error('ppdm_l_breaches: l must be 1 or more') END);


-- How far is a class from the whole table?  t-closeness with the equal distance, one row.
--   t               largest half sum of |share in the class - share in the table|, 0 to 1
--   t_numerator, t_denominator  the exact fraction: t-closeness for t = 1/5 is t_numerator * 5 <= t_denominator
--   ppdm_size       rows in the class that decides it
--   classes, values classes and different sensitive values in the table
--
--   SELECT t, t_numerator, t_denominator FROM ppdm_t_closeness('people', ['zip'], 'illness');
CREATE OR REPLACE MACRO ppdm_t_closeness(table_name VARCHAR, qis VARCHAR[], sensitive VARCHAR) AS TABLE
WITH ppdm_cells AS (
    SELECT COUNT(*) AS ppdm_count,
           COLUMNS([sensitive]) AS ppdm_value, COLUMNS([sensitive])::VARCHAR COLLATE "C" AS ppdm_text,
           COLUMNS(qis), COLUMNS(qis)::VARCHAR COLLATE "C"
    FROM query_table(table_name)
    GROUP BY ALL
), ppdm_values AS (
    SELECT ppdm_value, ppdm_text, SUM(ppdm_count)::HUGEINT AS ppdm_total
    FROM ppdm_cells
    GROUP BY ALL
), ppdm_groups AS (
    SELECT SUM(ppdm_count)::HUGEINT AS ppdm_size,
           list({'count': ppdm_count::HUGEINT, 'total': ppdm_total}) AS ppdm_list,
           COLUMNS(ppdm_cells.* EXCLUDE (ppdm_count, ppdm_value, ppdm_text))
    FROM ppdm_cells
    JOIN ppdm_values ON ppdm_values.ppdm_value IS NOT DISTINCT FROM ppdm_cells.ppdm_value
                    AND ppdm_values.ppdm_text IS NOT DISTINCT FROM ppdm_cells.ppdm_text
    GROUP BY ALL
)
SELECT 1 FROM ppdm_groups;
