-- What is known of the rows of the source: those of the same keys that were ever published, and are out or not.
-- Stand-ins: keyed (ppdm_row0, ppdm_row1: the rows of the source that are not out in this form), grown.
SELECT DISTINCT g.ppdm_row0, g.ppdm_row1, CASE WHEN g.ppdm_until IS NULL THEN 1 ELSE 0 END AS ppdm_out
FROM grown AS g
JOIN keyed AS k ON k.ppdm_row0 = g.ppdm_row0 AND k.ppdm_row1 = g.ppdm_row1
