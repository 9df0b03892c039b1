-- What happened to a release, oldest first.  Parameter: $release_id.
SELECT event_id, event, detail, seq, happened_at
FROM ppdm.release_event
WHERE release_id = $release_id
ORDER BY seq, happened_at, event_id
