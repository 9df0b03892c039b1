-- The roles that could ever read a release, or every release.  Parameter: $release_id (NULL: all).
SELECT release_id, role_name
FROM ppdm.release_reader
WHERE release_id = $release_id OR CAST($release_id AS TEXT) IS NULL
ORDER BY release_id, seen_at, role_name
