-- Which people are alone with the classes that their rows are in, where a pseudonym says which rows are one person's.
-- A way is the list of the classes of a person's rows, with the number of rows in each; everybody who knows the
-- quasi-identifiers of all rows of a person knows the way.
-- Result: the ways that fewer than $k persons have, these persons, and their rows.
-- Stand-ins: source, quasi, pseudonym.  Parameter: $k.
WITH ppdm_numbered AS (
    SELECT pseudonym, DENSE_RANK() OVER (ORDER BY quasi) AS ppdm_class
    FROM source
), ppdm_held AS (
    SELECT pseudonym, ppdm_class, COUNT(*) AS ppdm_times
    FROM ppdm_numbered
    GROUP BY pseudonym, ppdm_class
), ppdm_person AS (
    SELECT
        pseudonym,
        SUM(ppdm_times) AS ppdm_rows,
        STRING_AGG(
            CAST(ppdm_class AS VARCHAR) || ':' || CAST(ppdm_times AS VARCHAR), ' '
            ORDER BY ppdm_class
        ) AS ppdm_way
    FROM ppdm_held
    GROUP BY pseudonym
), ppdm_shared AS (
    SELECT ppdm_way, COUNT(*) AS ppdm_persons, SUM(ppdm_rows) AS ppdm_rows
    FROM ppdm_person
    GROUP BY ppdm_way
)
SELECT
    COUNT(*) AS ppdm_ways,
    COALESCE(SUM(ppdm_persons), 0) AS ppdm_persons,
    COALESCE(SUM(ppdm_rows), 0) AS ppdm_rows
FROM ppdm_shared
WHERE ppdm_persons < $k
