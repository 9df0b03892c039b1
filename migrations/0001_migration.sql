-- The catalog's own history, and what belongs to the database as a whole.
-- Everything ppdm_sql remembers lives in schema ppdm, next to the data and under the same backup.
-- Nobody who receives releases needs rights on it: it holds policies, source queries and the salt.
--
-- Rows of this schema are added and never changed.  An auditor can trust what he reads, and engines
-- without UPDATE can keep it too.
--
-- IF NOT EXISTS, because a DBA may have made the schema beforehand for an owner without the right to.
CREATE SCHEMA IF NOT EXISTS ppdm;

-- One row per file of migrations/ that was run here.  A file that no longer has its sha256 was edited
-- after the fact, and a number without a file came from a newer ppdm_sql: both stop every later run.
CREATE TABLE ppdm.migration (
    number     BIGINT    NOT NULL PRIMARY KEY CHECK (number > 0),
    name       TEXT      NOT NULL,  -- of the file: '0001_migration.sql'
    sha256     TEXT      NOT NULL,  -- of its bytes, every CR LF read as LF
    applied_at TIMESTAMP NOT NULL,  -- UTC, as every time in this schema
    version    TEXT      NOT NULL   -- of the ppdm_sql that ran it
);

-- What is drawn or chosen once for the whole database: 'salt', the random key of the link tables.
CREATE TABLE ppdm.setting (
    name   TEXT      NOT NULL PRIMARY KEY,
    value  TEXT      NOT NULL,
    set_at TIMESTAMP NOT NULL
);
