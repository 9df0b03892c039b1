-- The state of every release, derived from its events, in one place that people and programs share.
--
-- state     whether its name still shows it.  Nothing that happens later brings it back.
-- verdict   of the newest verification; when it cannot be told which is newer, the worse one.
-- exports   copies handed over: they stay outside, whatever happens to the release here.
-- is_out    whether somebody may hold it, so that it counts when something new is made from the same
--           tables: until it is superseded, or dropped without ever having been exported.
CREATE VIEW ppdm.release_state AS
SELECT release_id, seq,
    CASE
        WHEN dropped > 0 THEN 'dropped'
        WHEN superseded > 0 THEN 'superseded'
        WHEN replaced > 0 THEN 'replaced'
        ELSE 'live'
    END AS state,
    CASE
        WHEN tampered_seq >= COALESCE(verified_seq, 0) THEN 'tampered'
        WHEN verified_seq IS NOT NULL THEN 'verified'
    END AS verdict,
    exports,
    superseded = 0 AND (dropped = 0 OR exports > 0) AS is_out
FROM (
    SELECT release_id,
        MIN(CASE WHEN event = 'published' THEN seq END) AS seq,
        COUNT(CASE WHEN event = 'dropped' THEN 1 END) AS dropped,
        COUNT(CASE WHEN event = 'superseded' THEN 1 END) AS superseded,
        COUNT(CASE WHEN event = 'replaced' THEN 1 END) AS replaced,
        COUNT(CASE WHEN event = 'exported' THEN 1 END) AS exports,
        MAX(CASE WHEN event = 'tampered' THEN seq END) AS tampered_seq,
        MAX(CASE WHEN event = 'verified' THEN seq END) AS verified_seq
    FROM ppdm.release_event
    GROUP BY release_id
) AS counted
WHERE seq IS NOT NULL;
