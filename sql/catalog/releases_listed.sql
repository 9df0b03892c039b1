-- The releases in one line each, newest first; with $live only those their name still shows.
SELECT r.release_id, r.schema_name, r.relation_name, r.kind, r.algorithm, r.requirements, r.k_promised, r.rows,
    r.classes, r.suppressed_rows, r.version, r.published_at, s.state, s.verdict, s.exports,
    s.is_out
FROM ppdm.release AS r
JOIN ppdm.release_state AS s ON s.release_id = r.release_id
WHERE s.state = 'live' OR NOT CAST($live AS BOOLEAN)
ORDER BY s.seq DESC, r.published_at DESC, r.release_id
