-- What was published: from what, how, with which promise and with which result.
-- A refreshed release is a new row with an id of its own, so that each row describes one set of bytes.
CREATE TABLE ppdm.release (
    release_id      TEXT      NOT NULL PRIMARY KEY,
    run_id          TEXT      NOT NULL REFERENCES ppdm.run (run_id),
    schema_name     TEXT      NOT NULL,
    relation_name   TEXT      NOT NULL,
    generation      BIGINT    NOT NULL CHECK (generation > 0),  -- 1, 2, 3, ... under this name
    kind            TEXT      NOT NULL,  -- TABLE, VIEW, MODEL, ...
    algorithm       TEXT      NOT NULL,
    options         TEXT      NOT NULL,  -- JSON, as are requirements, roles, key_columns, columns and manifest
    seed            TEXT      NOT NULL,  -- a whole number of any size
    requirements    TEXT      NOT NULL,
    roles           TEXT      NOT NULL,
    source_query    TEXT      NOT NULL,  -- the SELECT as written
    policy_text     TEXT      NOT NULL,  -- the whole statement as written
    storage         TEXT,                -- the private table behind a view; NULL: the relation holds its rows
    key_columns     TEXT      NOT NULL,  -- what makes the classes
    k_promised      BIGINT    CHECK (k_promised > 0),
    rows            BIGINT    CHECK (rows >= 0),
    classes         BIGINT    CHECK (classes >= 0),
    suppressed_rows BIGINT    CHECK (suppressed_rows >= 0),
    content_hash    TEXT,                -- of the rows that were published
    columns         TEXT      NOT NULL,  -- names and types in order
    manifest        TEXT      NOT NULL,
    manifest_sha256 TEXT      NOT NULL,  -- of the text of manifest: an edit of one of the two shows
    version         TEXT      NOT NULL,
    published_at    TIMESTAMP NOT NULL,
    -- Two runs that publish one name at once both see the same predecessor: only one of them gets in.
    UNIQUE (schema_name, relation_name, generation)
);

-- The ledger: which table is out in which release.  Two harmless releases of one table can together
-- single a person out, so that a new one is judged together with all that is still out.
CREATE TABLE ppdm.release_source (
    release_id TEXT NOT NULL REFERENCES ppdm.release (release_id),
    source     TEXT NOT NULL,  -- as the engine resolved it, schema first
    PRIMARY KEY (release_id, source)
);

-- What happened to a release.  'replaced': its name shows another one now, copies of it may be about.
-- 'superseded': nobody holds it any more, or its successor says the same.
-- seq decides the order, not the time.  Two processes may draw the same seq for what they did at the
-- same moment, which is why it is no key: neither of a VERIFY and an EXPORT that run side by side shall
-- fail because it has to be written down.
-- On engines without transactions 'published' is written last: a release without it never happened.
CREATE TABLE ppdm.release_event (
    event_id    TEXT      NOT NULL PRIMARY KEY,
    release_id  TEXT      NOT NULL REFERENCES ppdm.release (release_id),
    seq         BIGINT    NOT NULL CHECK (seq > 0),  -- grows over all releases
    event       TEXT      NOT NULL
        CHECK (event IN ('published', 'replaced', 'superseded', 'dropped', 'exported', 'verified', 'tampered')),
    detail      TEXT,
    happened_at TIMESTAMP NOT NULL
);

-- The outcome of every check made on a release, one round per event (published, verified or tampered),
-- so that an auditor sees what was measured, with which thresholds, and when.
-- The rows are written before their event and can therefore not refer to it.
CREATE TABLE ppdm.release_check (
    event_id          TEXT    NOT NULL,
    position          BIGINT  NOT NULL CHECK (position > 0),  -- in the order of the policy
    release_id        TEXT    NOT NULL REFERENCES ppdm.release (release_id),
    requirement       TEXT    NOT NULL,  -- as the policy has it: 'simple_l = 2'
    sensitive         TEXT,              -- the column it was measured for; NULL: none, as for k
    asked             TEXT    NOT NULL,  -- exact: '2', '1/5'
    achieved          TEXT,              -- exact; NULL: nothing to measure
    achieved_value    DOUBLE PRECISION,  -- the same, to compare and to draw
    breaching_classes BIGINT  NOT NULL CHECK (breaching_classes >= 0),
    breaching_rows    BIGINT  NOT NULL CHECK (breaching_rows >= 0),
    holds             BOOLEAN NOT NULL,
    statement_sha256  TEXT    NOT NULL,  -- of the statement that measured it
    PRIMARY KEY (event_id, position)
);
