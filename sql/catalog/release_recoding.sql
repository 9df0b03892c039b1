-- How other rows get the labels of a release.  Parameter: $release_id.
SELECT body
FROM ppdm.release_recoding
WHERE release_id = $release_id
