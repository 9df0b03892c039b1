-- How many rows a relation has and how many classes they form.
-- A class: the rows that agree in every quasi-identifier; NULL is a value of its own and agrees with NULL.
-- Stand-ins: source, quasi.
SELECT COUNT(*) AS ppdm_classes, COALESCE(SUM(ppdm_size), 0) AS ppdm_rows
FROM (
    SELECT quasi, COUNT(*) AS ppdm_size
    FROM source
    GROUP BY quasi
) AS ppdm_class
