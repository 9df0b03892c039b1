-- The releases still out that no query was asked for: pseudo-data, whose rows come from a model.
SELECT r.release_id, s.state, s.seq, FALSE AS is_named
FROM ppdm.release AS r
JOIN ppdm.release_state AS s ON s.release_id = r.release_id
WHERE s.is_out AND r.source_query = ''
