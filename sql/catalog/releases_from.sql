-- The releases made from any of the wanted tables; with $out only those somebody may still hold.
-- Stand-ins: wanted (source), naming (catalog/naming.sql).  Parameter: $out.
SELECT DISTINCT o.release_id, s.state, s.seq, FALSE AS is_named
FROM ppdm.release_source AS o
JOIN ppdm.release_state AS s ON s.release_id = o.release_id
CROSS JOIN naming AS n
JOIN wanted AS w ON TRANSLATE(w.source, n.capitals, n.smalls) = TRANSLATE(o.source, n.capitals, n.smalls)
WHERE s.is_out OR NOT CAST($out AS BOOLEAN)
