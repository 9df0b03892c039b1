-- The tables of which somebody may still hold a release.
SELECT DISTINCT o.source
FROM ppdm.release_source AS o
JOIN ppdm.release_state AS s ON s.release_id = o.release_id
WHERE s.is_out
ORDER BY o.source
