-- The release of an id.  Parameter: $release_id.
SELECT release_id, state, seq, FALSE AS is_named
FROM ppdm.release_state
WHERE release_id = $release_id
