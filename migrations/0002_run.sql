-- Every statement ppdm_sql was asked to run, kept even when nothing came of it: a refused publication
-- rolls back its own work, but that it was tried, and why it was refused, stays.
CREATE TABLE ppdm.run (
    run_id     TEXT      NOT NULL PRIMARY KEY,
    statement  TEXT      NOT NULL,  -- as written, comments included
    file       TEXT,                -- NULL: typed, or handed over by a program
    version    TEXT      NOT NULL,  -- of the ppdm_sql that ran it
    started_at TIMESTAMP NOT NULL
);

-- How a run went.  Its state is that of the event with the highest seq, not of the latest time: clocks
-- go back.  A run that still says 'started' is either running or was killed.
CREATE TABLE ppdm.run_event (
    run_id      TEXT      NOT NULL REFERENCES ppdm.run (run_id),
    seq         BIGINT    NOT NULL CHECK (seq > 0),  -- grows over all runs
    state       TEXT      NOT NULL CHECK (state IN ('started', 'published', 'done', 'refused', 'failed')),
    exit_code   BIGINT,             -- NULL while it runs
    message     TEXT,               -- what people were told: names and counts, never values of the data
    happened_at TIMESTAMP NOT NULL,
    PRIMARY KEY (run_id, seq)
);
