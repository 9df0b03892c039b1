-- What an attacker gets who groups people by their spans: smallest group, rows whose class is certain, the span
-- with the greatest share of one class, the least entropy of the classes, and the groups below $k.
-- Stand-in: source(ppdm_span, ppdm_class, ppdm_entity, ppdm_has_entity), one row per row of the table.
WITH ppdm_cells AS (
    SELECT ppdm_span, ppdm_class, COUNT(*) AS ppdm_n
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
        COUNT(*) AS ppdm_classes,
        LN(CAST(SUM(ppdm_n) AS DOUBLE PRECISION))
        - SUM(ppdm_n * LN(CAST(ppdm_n AS DOUBLE PRECISION))) / CAST(SUM(ppdm_n) AS DOUBLE PRECISION) AS ppdm_nats
    FROM ppdm_cells
    GROUP BY ppdm_span
), ppdm_ranked AS (
    SELECT
        g.ppdm_rows,
        g.ppdm_top,
        g.ppdm_classes,
        g.ppdm_nats,
        p.ppdm_size,
        ROW_NUMBER() OVER (
            ORDER BY CAST(g.ppdm_top AS DOUBLE PRECISION) / g.ppdm_rows DESC, g.ppdm_rows DESC
        ) AS ppdm_place
    FROM ppdm_groups AS g
    JOIN ppdm_people AS p ON p.ppdm_span = g.ppdm_span
)
SELECT
    SUM(ppdm_rows) AS ppdm_rows,
    COUNT(*) AS ppdm_spans,
    MIN(ppdm_size) AS ppdm_k,
    SUM(CASE WHEN ppdm_classes = 1 THEN ppdm_rows ELSE 0 END) AS ppdm_exposed,
    MAX(CASE WHEN ppdm_place = 1 THEN ppdm_top END) AS ppdm_top,
    MAX(CASE WHEN ppdm_place = 1 THEN ppdm_rows END) AS ppdm_of,
    MIN(ppdm_nats) / LN(CAST(2 AS DOUBLE PRECISION)) AS ppdm_bits,
    SUM(CASE WHEN ppdm_size < $k THEN 1 ELSE 0 END) AS ppdm_below,
    SUM(CASE WHEN ppdm_size < $k THEN ppdm_rows ELSE 0 END) AS ppdm_rows_below
FROM ppdm_ranked
