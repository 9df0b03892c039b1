-- Every check made on a release, oldest round first, in the order of the policy.  Parameter: $release_id.
SELECT e.event_id, e.event, e.seq, e.happened_at, c.requirement, c.sensitive, c.asked, c.achieved,
    c.achieved_value, c.breaching_classes, c.breaching_rows, c.holds, c.statement_sha256
FROM ppdm.release_event AS e
JOIN ppdm.release_check AS c ON c.event_id = e.event_id
WHERE e.release_id = $release_id
ORDER BY e.seq, e.happened_at, e.event_id, c.position
