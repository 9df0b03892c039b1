-- Releases that grow: the recoding of the first night, by which the rows of every later night are labelled.
-- It holds values of the source and never leaves this schema.  The rows that are out, with the cohort of each, are in
-- the release's own table ppdm_release_<growth_id>; the record of each night says which growth it belongs to.
CREATE TABLE ppdm.growth (
    growth_id  TEXT      NOT NULL PRIMARY KEY,  -- the id of the first night's release
    recoding   TEXT      NOT NULL,              -- JSON
    created_at TIMESTAMP NOT NULL
);
