-- One lock for everything that decides what is out, and a chain of hashes that shows later edits.
--
-- Two publications that run at once must not both find that nothing else is out.  Whatever changes the ledger
-- takes the lock of this table before it reads anything.  It has one row, the only row of this schema that
-- changes.
CREATE TABLE ppdm.ledger (
    turn    BIGINT NOT NULL,  -- grows with every lock on engines that lock a row instead of the table
    entries BIGINT NOT NULL,  -- how many rows ppdm.ledger_entry has
    head    TEXT              -- the hash of the newest one
);
INSERT INTO ppdm.ledger (turn, entries, head) VALUES (0, 0, NULL);

-- Who could read a release in this database besides its owner.  Whoever could read it may have a copy, so it
-- counts as exported.  A role stays here when its right is taken away.
CREATE TABLE ppdm.release_reader (
    release_id TEXT      NOT NULL REFERENCES ppdm.release (release_id),
    role_name  TEXT      NOT NULL,
    seen_at    TIMESTAMP NOT NULL,  -- when ppdm_sql first saw the right, not when it was given
    PRIMARY KEY (release_id, role_name)
);

-- The chain: an entry for every event of a release and every reader, with the sha256 of the rows that belong to it.
-- hash is an HMAC, keyed by the salt, over the entry and the hash of the entry before it.
-- A seal (release_id is NULL) covers all rows that are there when it is written.  The first entry is one.
CREATE TABLE ppdm.ledger_entry (
    number     BIGINT    NOT NULL PRIMARY KEY CHECK (number > 0),  -- 1, 2, 3, ... without a gap
    release_id TEXT,
    rows       TEXT      NOT NULL,  -- JSON: which rows, and the sha256 of each
    reason     TEXT,                -- of a seal: why it was written
    previous   TEXT,                -- hash of the entry before; NULL in the first one
    hash       TEXT      NOT NULL,
    written_at TIMESTAMP NOT NULL
);

-- As before, but what another role could read is out even after it was dropped.
CREATE OR REPLACE VIEW ppdm.release_state AS
SELECT c.release_id, c.seq,
    CASE
        WHEN c.dropped > 0 THEN 'dropped'
        WHEN c.superseded > 0 THEN 'superseded'
        WHEN c.replaced > 0 THEN 'replaced'
        ELSE 'live'
    END AS state,
    CASE
        WHEN c.tampered_seq >= COALESCE(c.verified_seq, 0) THEN 'tampered'
        WHEN c.verified_seq IS NOT NULL THEN 'verified'
    END AS verdict,
    c.exports,
    c.superseded = 0 AND (c.dropped = 0 OR c.exports > 0 OR COALESCE(r.readers, 0) > 0) AS is_out,
    COALESCE(r.readers, 0) AS readers
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
) AS c
LEFT JOIN (
    SELECT release_id, COUNT(*) AS readers
    FROM ppdm.release_reader
    GROUP BY release_id
) AS r ON r.release_id = c.release_id
WHERE c.seq IS NOT NULL;
