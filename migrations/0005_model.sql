-- Models learned in this database or brought into it, as rows a DBA can read, join and compare.
-- They are working copies, not releases: whether a model may leave is a matter of how it was made.
-- A model that is replaced or dropped keeps its rows, as everything here does; only its name is free again.
CREATE TABLE ppdm.model (
    model_id     TEXT      NOT NULL PRIMARY KEY,
    name         TEXT      NOT NULL,
    generation   BIGINT    NOT NULL CHECK (generation > 0),  -- 1, 2, 3, ... under this name
    kind         TEXT      NOT NULL,  -- tree, naive_bayes, rules
    inducer      TEXT      NOT NULL,  -- c45, cart, ...
    options      TEXT      NOT NULL,  -- JSON, as are target, attributes, classes and body
    target       TEXT      NOT NULL,
    attributes   TEXT      NOT NULL,
    classes      TEXT      NOT NULL,  -- empty: a regression tree
    body         TEXT,                -- what has no tables of its own: of a tree NULL
    source_query TEXT,                -- what it was learned from; NULL: it was imported
    rows         BIGINT    NOT NULL CHECK (rows >= 0),       -- it was learned from
    left_out     BIGINT    NOT NULL CHECK (left_out >= 0),   -- rows without target, or of a rare class
    rare         BIGINT    CHECK (rare > 0),  -- categories with fewer rows are not named; NULL: not known
    version      TEXT      NOT NULL,
    saved_at     TIMESTAMP NOT NULL,
    -- Two sessions that save one name at once both see the same predecessor: only one of them gets in.
    UNIQUE (name, generation)
);

-- What happened to a model.  On engines without transactions 'saved' is written last: a model without it never was.
CREATE TABLE ppdm.model_event (
    event_id    TEXT      NOT NULL PRIMARY KEY,
    model_id    TEXT      NOT NULL REFERENCES ppdm.model (model_id),
    seq         BIGINT    NOT NULL CHECK (seq > 0),  -- grows over all models
    event       TEXT      NOT NULL CHECK (event IN ('saved', 'replaced', 'dropped', 'exported')),
    happened_at TIMESTAMP NOT NULL
);

-- The nodes of a tree.  A row that no branch takes ends at the node itself, so every node has an answer.
CREATE TABLE ppdm.model_node (
    model_id       TEXT   NOT NULL REFERENCES ppdm.model (model_id),
    node           BIGINT NOT NULL CHECK (node >= 0),  -- 0 is the root
    parent         BIGINT,
    depth          BIGINT NOT NULL CHECK (depth >= 0),
    attribute      BIGINT,            -- its place among the model's attributes; NULL: a leaf
    attribute_name TEXT,
    threshold      TEXT,              -- exact; NULL: a leaf, or a node with a branch per group of values
    rows           BIGINT NOT NULL CHECK (rows >= 0),  -- training rows
    answer         TEXT   NOT NULL,   -- its class as JSON, or its mean
    variance       DOUBLE PRECISION,  -- of a regression tree
    gain           DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (model_id, node)
);

-- Where the rows of a node go on.
CREATE TABLE ppdm.model_branch (
    model_id     TEXT    NOT NULL REFERENCES ppdm.model (model_id),
    node         BIGINT  NOT NULL,
    branch       BIGINT  NOT NULL CHECK (branch >= 0),  -- 0 is the first, below the threshold
    child        BIGINT  NOT NULL CHECK (child > 0),
    condition    TEXT    NOT NULL,  -- for people: 'age < 30.5'
    takes_null   BOOLEAN NOT NULL,
    takes_others BOOLEAN NOT NULL,  -- values that no branch of the node names
    label        TEXT,              -- a hierarchy's name for the group
    PRIMARY KEY (model_id, node, branch)
);

-- The values a branch names, one row each.
CREATE TABLE ppdm.model_value (
    model_id TEXT   NOT NULL REFERENCES ppdm.model (model_id),
    node     BIGINT NOT NULL,
    branch   BIGINT NOT NULL,
    position BIGINT NOT NULL CHECK (position >= 0),
    value    TEXT   NOT NULL,  -- JSON: "Oslo", true, null, {"integer": "5"}
    PRIMARY KEY (model_id, node, branch, position)
);

-- Training rows per node and class; a class without rows at the node has none here.
CREATE TABLE ppdm.model_count (
    model_id     TEXT   NOT NULL REFERENCES ppdm.model (model_id),
    node         BIGINT NOT NULL,
    class_number BIGINT NOT NULL CHECK (class_number >= 0),
    class_value  TEXT   NOT NULL,  -- JSON; of a regression tree null
    rows         BIGINT NOT NULL CHECK (rows >= 0),
    PRIMARY KEY (model_id, node, class_number)
);
