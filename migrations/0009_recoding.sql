-- How rows that a release does not have are told in its words: what <file>.recode.sql of an export is written from.
-- It holds nothing that may not leave: thresholds of the recoding, and values that at least k people hold.
CREATE TABLE ppdm.release_recoding (
    release_id TEXT NOT NULL PRIMARY KEY REFERENCES ppdm.release (release_id),
    body       TEXT NOT NULL  -- JSON
);
