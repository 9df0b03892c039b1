-- The rounds of private counting that this site took part in: what it reported, to which sites together.
-- The difference of two rounds' totals shows the rows that came or went between them, and the counts of sites that only
-- one of them has.  So a site looks here before it reports.  The numbers are the site's own counts: they never leave.
CREATE TABLE ppdm.share_round (
    entry_id     TEXT      NOT NULL PRIMARY KEY,
    round        TEXT      NOT NULL,
    subject      TEXT      NOT NULL,  -- counts, test, itemsets-1, ...
    site         TEXT      NOT NULL,
    codebook     TEXT      NOT NULL,  -- sha256 of the codebook
    shape        TEXT      NOT NULL,  -- sha256 of what is counted, without round and sites
    mode         TEXT      NOT NULL,
    k            BIGINT    NOT NULL CHECK (k > 0),
    sites        TEXT      NOT NULL,  -- JSON: their names
    attributes   TEXT      NOT NULL,  -- JSON: the target and the attributes; of each the sha256 of its values
    rows         BIGINT    NOT NULL CHECK (rows >= 0),
    numbers      TEXT      NOT NULL,  -- JSON: the site's counts, in the order of the codebook
    content_hash TEXT      NOT NULL,  -- sha256 of the numbers
    reported_at  TIMESTAMP NOT NULL
);
