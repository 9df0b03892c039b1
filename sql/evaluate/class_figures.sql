-- The classes of a release: how many, the sum of their squared sizes (discernibility), and the rows that are not of the
-- commonest target of their class (classification metric).
-- source: the quasi-identifiers and ppdm_target.
WITH ppdm_cells AS (
    SELECT quasi, ppdm_target, COUNT(*) AS ppdm_rows
    FROM source
    GROUP BY quasi, ppdm_target
),
ppdm_by_class AS (
    SELECT quasi, SUM(ppdm_rows) AS ppdm_size, MAX(ppdm_rows) AS ppdm_most
    FROM ppdm_cells
    GROUP BY quasi
)
SELECT
    COUNT(*) AS ppdm_classes,
    COALESCE(SUM(ppdm_size), 0) AS ppdm_rows,
    COALESCE(SUM(ppdm_size * ppdm_size), 0) AS ppdm_squares,
    COALESCE(SUM(ppdm_size - ppdm_most), 0) AS ppdm_minority
FROM ppdm_by_class
