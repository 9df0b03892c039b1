-- How other rows are told in the words of a release.  Parameter: $release_id.
SELECT body
FROM ppdm.release_recoding
WHERE release_id = $release_id
