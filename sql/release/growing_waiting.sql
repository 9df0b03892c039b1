-- The rows that were not out before and are not published tonight either.
-- Stand-ins: fresh (ppdm_row0, ppdm_row1, ppdm_since), staged (ppdm_row0, ppdm_row1: the rows that are published).
SELECT f.ppdm_row0, f.ppdm_row1, f.ppdm_since
FROM fresh AS f
LEFT JOIN staged AS s ON s.ppdm_row0 = f.ppdm_row0 AND s.ppdm_row1 = f.ppdm_row1
WHERE s.ppdm_row0 IS NULL
