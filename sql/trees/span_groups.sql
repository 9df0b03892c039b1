-- The $most smallest groups of people with equal spans, one row for each of their classes.
-- Stand-in: source(ppdm_span, ppdm_class, ppdm_named, ppdm_entity, ppdm_has_entity), one row per row of the table;
-- ppdm_named is the number of the class in the model, or -1: what the model does not name is counted, not told.
WITH ppdm_cells AS (
    SELECT ppdm_span, ppdm_class, MAX(ppdm_named) AS ppdm_named, COUNT(*) AS ppdm_n
    FROM source
    GROUP BY ppdm_span, ppdm_class
), ppdm_people AS (
    SELECT
        ppdm_span,
        CASE WHEN MAX(ppdm_has_entity) = 1 THEN COUNT(DISTINCT ppdm_entity) ELSE COUNT(*) END AS ppdm_size
    FROM source
    GROUP BY ppdm_span
), ppdm_groups AS (
    SELECT
        ppdm_span,
        SUM(ppdm_n) AS ppdm_rows,
        MAX(ppdm_n) AS ppdm_top,
        LN(CAST(SUM(ppdm_n) AS DOUBLE PRECISION))
        - SUM(ppdm_n * LN(CAST(ppdm_n AS DOUBLE PRECISION))) / CAST(SUM(ppdm_n) AS DOUBLE PRECISION) AS ppdm_nats
    FROM ppdm_cells
    GROUP BY ppdm_span
), ppdm_ranked AS (
    SELECT
        g.ppdm_span,
        p.ppdm_size,
        g.ppdm_rows,
        g.ppdm_top,
        g.ppdm_nats / LN(CAST(2 AS DOUBLE PRECISION)) AS ppdm_bits,
        ROW_NUMBER() OVER (ORDER BY p.ppdm_size, g.ppdm_rows, g.ppdm_span) AS ppdm_place
    FROM ppdm_groups AS g
    JOIN ppdm_people AS p ON p.ppdm_span = g.ppdm_span
)
SELECT
    r.ppdm_place,
    r.ppdm_span,
    r.ppdm_size,
    r.ppdm_rows,
    r.ppdm_top,
    r.ppdm_bits,
    c.ppdm_named,
    SUM(c.ppdm_n) AS ppdm_n
FROM ppdm_ranked AS r
JOIN ppdm_cells AS c ON c.ppdm_span = r.ppdm_span
WHERE r.ppdm_place <= $most
GROUP BY r.ppdm_place, r.ppdm_span, r.ppdm_size, r.ppdm_rows, r.ppdm_top, r.ppdm_bits, c.ppdm_named
ORDER BY r.ppdm_place, ppdm_n DESC, c.ppdm_named
