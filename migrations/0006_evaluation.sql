-- What the protection of a table was found to cost, before anything of it was published: every method and requirement
-- that was tried, with what it keeps and what it risks.  An evaluation that was stopped goes on where it was.
-- Only figures over the whole table are kept, never a row or a value of one.
CREATE TABLE ppdm.evaluation (
    evaluation_id TEXT      NOT NULL PRIMARY KEY,
    seq           BIGINT    NOT NULL CHECK (seq > 0),  -- the highest is the newest; two at once may draw the same
    fingerprint   TEXT      NOT NULL,  -- sha256: evaluations that have the same asked the same of the same rows
    schema_name   TEXT      NOT NULL,  -- what the policy would publish
    relation_name TEXT      NOT NULL,
    policy_text   TEXT      NOT NULL,  -- the whole statement as written
    methods       TEXT      NOT NULL,  -- JSON, as is grid
    grid          TEXT      NOT NULL,
    protocol      TEXT      NOT NULL,  -- holdout, kfold:10, 5x2
    learner       TEXT,                -- NULL: the policy has no TARGET to learn
    seed          TEXT      NOT NULL,  -- a whole number of any size
    points        BIGINT    NOT NULL CHECK (points >= 0),  -- to be measured, the rows as they are not counted
    rows          BIGINT    NOT NULL CHECK (rows >= 0),    -- of the source
    version       TEXT      NOT NULL,
    started_at    TIMESTAMP NOT NULL
);

-- One method with one set of requirements.  A point that was measured twice, by two sessions at once, has two rows:
-- the first one counts.
CREATE TABLE ppdm.evaluation_point (
    point_id              TEXT   NOT NULL PRIMARY KEY,
    evaluation_id         TEXT   NOT NULL REFERENCES ppdm.evaluation (evaluation_id),
    position              BIGINT NOT NULL CHECK (position >= 0),  -- in the order of the grid; 0: the rows as they are
    status                TEXT   NOT NULL CHECK (status IN ('baseline', 'measured', 'refused')),
    reason                TEXT,             -- why it was refused: names and counts, never values of the data
    algorithm             TEXT,             -- NULL: the rows as they are
    requirements          TEXT   NOT NULL,  -- JSON
    k                     BIGINT CHECK (k > 0),
    statement             TEXT,             -- that would publish it
    holds                 BOOLEAN,
    rows                  BIGINT CHECK (rows >= 0),
    suppressed_rows       BIGINT CHECK (suppressed_rows >= 0),
    classes               BIGINT CHECK (classes >= 0),
    suppressed_cells      DOUBLE PRECISION,  -- the share of the cells of quasi-identifiers
    information_loss      DOUBLE PRECISION,  -- 0: nothing was changed, 1: nothing is left
    discernibility        DOUBLE PRECISION,
    classification_metric DOUBLE PRECISION,
    risk_max              DOUBLE PRECISION,  -- of the person who is easiest to find
    risk_mean             DOUBLE PRECISION,
    tested                TEXT,              -- how a learner saw the test rows: outside, published; NULL: it saw none
    accuracy              DOUBLE PRECISION,  -- the mean over the folds
    accuracy_spread       DOUBLE PRECISION,  -- the standard deviation over the folds; NULL: there is one
    auc                   DOUBLE PRECISION,
    r_squared             DOUBLE PRECISION,
    folds                 TEXT,              -- JSON: the accuracy of every fold as an exact fraction, "7/10"
    workload_error        DOUBLE PRECISION,  -- the mean over the analysts' queries; NULL: none were asked
    workload_answered     DOUBLE PRECISION,  -- the share of them that the release could be asked
    seconds               DOUBLE PRECISION NOT NULL,
    finished_at           TIMESTAMP NOT NULL
);
