-- The release of an id.  Parameter: $release_id.
SELECT release_id
FROM ppdm.release
WHERE release_id = $release_id
