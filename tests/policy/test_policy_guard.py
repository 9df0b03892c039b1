"""A statement that wanted to be anonymized never reaches the engine as ordinary SQL."""

from __future__ import annotations

import duckdb
import pytest

from ppdm_sql.policy.grammar import parse
from ppdm_sql.policy.policy import PassThrough
from tests.policy.marked import assert_mistakes, mistakes_of

INSIDE = "(ALGORITHM mondrian REQUIRE k = 5 QUASI IDENTIFIER (age))"
AS = "CREATE TABLE x AS SELECT age FROM t"
ZERO_WIDTH = "\u200b"

# Each of these is valid SQL on DuckDB, and publishes every row as it is.
ALIASES = [
    f"{AS} «ANONYMIZATION",
    f"{AS} «anonymization (age)",
    f"{AS} «ANONYMISATION (age)",
    f"{AS} «Anonimisation",
    f"{AS} «ANONYMIZATON (age)",
    f"{AS} «WITHANONYMIZATION (age)",
    f"{AS} «WITH_ANONYMIZATION (age)",
    f"{AS} AS «anonymization(age)",
    f"{AS} «ANONYMI_ZATION (age)",
    f"{AS} «ＡＮＯＮＹＭＩＺＡＴＩＯＮ (age)",
    f"{AS} «\u0410NONYMIZATION (age)",  # a Cyrillic A
    f"{AS} «ANONYM\u0131ZATION (age)",  # a dotless i, whose capital is I
]


@pytest.mark.parametrize("marked", ALIASES)
def test_an_alias_that_should_have_been_a_clause_is_refused(marked):
    database = duckdb.connect()
    database.execute("CREATE TABLE t AS SELECT 42 AS age")
    database.execute(marked.replace("«", ""))  # the danger is real
    assert database.execute("FROM x").fetchall() == [(42,)]
    text = marked.replace("«", "")
    (mistake,) = mistakes_of(text)
    assert "WITH ANONYMIZATION (...) comes at the end of CREATE TABLE, VIEW or MODEL" in mistake.message
    assert (mistake.line, mistake.column) == (1, marked.index("«") + 1)


NEAR = [
    (f"{AS} WITH «ANONYMISATION {INSIDE}", "ANONYMISATION: did you mean ANONYMIZATION?"),
    (f"{AS} WITH «ANONYM\u0131ZATION {INSIDE}", "ANONYM\u0131ZATION: did you mean ANONYMIZATION?"),
    (f"{AS} WITH («ANONYMIZATION {INSIDE})", "ANONYMIZATION is not allowed here"),
    (f"{AS} «ANONYMIZATION {INSIDE}", "ANONYMIZATION is not allowed here"),
    (f'{AS} "WITH" «ANONYMIZATION {INSIDE}', "ANONYMIZATION is not allowed here"),
    (f"{AS} «ANONYMI\u200bZATION (age)", "ANONYMI\\u200bZATION: did you mean ANONYMIZATION?"),
    (f"{AS} «WITH\u200bANONYMIZATION {INSIDE}", "WITH\\u200bANONYMIZATION: did you mean ANONYMIZATION?"),
    (f"{AS} «{ZERO_WIDTH.join('ANONYMIZATION')} (age)", "A\\u200bN\\u200b"),
    (f"{AS} WITH DATA «ANONYMIZATION {INSIDE}", "ANONYMIZATION is not allowed here"),
    (f"{AS} WITH «PRIVACY {INSIDE}", "unknown clause WITH PRIVACY: did you mean WITH ANONYMIZATION?"),
    (f'{AS} WITH «"ANONYMIZATION" (age)', "unknown clause WITH ANONYMIZATION: did you mean WITH ANONYMIZATION?"),
    (f"{AS} WITH «ANONYMIZE (age)", "unknown clause WITH ANONYMIZE: did you mean WITH ANONYMIZATION?"),
    (f"{AS} WITH {INSIDE}".replace("REQUIRE", "«REQUIRE"), "REQUIRE k belongs in a WITH ANONYMIZATION clause"),
    (f"{AS} WITH (ALGORITHM tds «QUASI IDENTIFIER (age))", "QUASI IDENTIFIER belongs in a WITH ANONYMIZATION clause"),
    (f"{AS} WITH ANONYMIZATION {INSIDE} «WITH DATA", "expected nothing after the WITH ANONYMIZATION clause"),
    (f"{AS} WITH ANONYMIZATION {INSIDE} «WITH ANONYMIZATION {INSIDE}", "expected nothing after the WITH ANONYMIZATION"),
    (
        f"{AS} WITH ANONYMIZATION {INSIDE} «UNION SELECT age FROM t",
        "expected nothing after the WITH ANONYMIZATION clause",
    ),
    (f"{AS} WITH ANONYMIZATION«", "expected ( after WITH ANONYMIZATION, not the end of the statement"),
    (f"{AS} WITH ANONYMIZATION «ALGORITHM mondrian", "expected ( after WITH ANONYMIZATION, not ALGORITHM"),
    (f"{AS} WITH ANONYMIZATION «{INSIDE[:-1]}", "( is never closed"),
    (f"{AS}; WITH «ANONYMIZATION {INSIDE}", "ANONYMIZATION is not allowed here"),
    (f"CREATE TABLE x AS (SELECT 1 WITH «ANONYMIZATION {INSIDE})", "ANONYMIZATION is not allowed here"),
    (f"SELECT age FROM t WITH «ANONYMIZATION {INSIDE}", "ANONYMIZATION is not allowed here"),
    (f"INSERT INTO x SELECT age FROM t WITH «ANONYMIZATION {INSIDE}", "ANONYMIZATION is not allowed here"),
    (f"COPY (SELECT age FROM t WITH «ANONYMIZATION {INSIDE}) TO 'x'", "ANONYMIZATION is not allowed here"),
    (f"CREATE TABLE x AS SELECT 1 {{# WITH «ANONYMIZATION {INSIDE} #}}", "ANONYMIZATION is not allowed here"),
    (f"EXPLAIN «ANALYZE {AS} WITH ANONYMIZATION {INSIDE}", "EXPLAIN of a release takes no options"),
    (f"EXPLAIN «(FORMAT json) {AS} WITH ANONYMIZATION {INSIDE}", "EXPLAIN of a release takes no options"),
    ("EXPLAIN «EXPLAIN REFRESH x", "EXPLAIN of a release takes no options"),
    ("CALL f() WITH «ANONYMIZATION", "ANONYMIZATION is not allowed here"),
    ("«CREATE MODEL x AS SELECT age FROM t", "CREATE MODEL ... AS query needs WITH ANONYMIZATION (...) at its end"),
    ("«CREATE OR REPLACE MODEL x AS SELECT 1", "CREATE MODEL ... AS query needs WITH ANONYMIZATION (...) at its end"),
    ("CREATE VIEW x «LIVE AS SELECT age FROM t", "a LIVE view needs WITH ANONYMIZATION (...) at its end"),
    ("CREATE TABLE x AS «PSUEDO DATA FROM MODEL m", "PSUEDO: did you mean AS PSEUDO DATA FROM MODEL name WITH (...)?"),
    ("CREATE TABLE x AS «PSEUDODATA FROM MODEL m", "PSEUDODATA: did you mean AS PSEUDO DATA"),
    ("«REFERSH x", "unknown statement REFERSH: did you mean REFRESH?"),
    ("«VERFIY x", "unknown statement VERFIY: did you mean VERIFY?"),
    ("«EXPROT x TO 'y'", "unknown statement EXPROT: did you mean EXPORT?"),
    ("DROP «RELASE x", "DROP RELASE is unknown: did you mean DROP RELEASE?"),
]


@pytest.mark.parametrize(("marked", "message"), NEAR)
def test_a_near_miss_is_an_error_at_its_place(marked, message):
    assert_mistakes(marked, message)


HEADS = [
    ("CREATE «TEMP TABLE x AS SELECT 1", "a release cannot be created as TEMP: write CREATE"),
    ("CREATE «MATERIALIZED VIEW x AS SELECT 1", "a release cannot be created as MATERIALIZED"),
    ("CREATE «MODLE x AS SELECT 1", "a release cannot be created as MODLE: did you mean MODEL?"),
    ("CREATE «LIVE VIEW x AS SELECT 1", "LIVE comes after the name: CREATE VIEW name LIVE AS"),
    ("CREATE VIEW «LIVE x AS SELECT 1", "expected the name of the release, not LIVE"),
    ("CREATE TABLE x «LIVE AS SELECT 1", "only a VIEW can be LIVE, not a TABLE"),
    ("CREATE TABLE «IF NOT EXISTS x AS SELECT 1", "IF NOT EXISTS is not allowed here"),
    ("CREATE TABLE x «(age) AS SELECT 1", "the columns of a release are named in its query"),
    ("CREATE TABLE «AS SELECT 1", "expected the name of the release, not AS"),
    ("CREATE TABLE x «SELECT 1", "expected AS after the name of the release, not SELECT"),
    ("CREATE TABLE «a.b.c AS SELECT 1", "the name of the release must be table or schema.table, not 3 names"),
    ("CREATE TABLE a.«'b' AS SELECT 1", "expected the name of the release, not a string"),
    ("CREATE TABLE «ppdm_x AS SELECT 1", "names starting with ppdm_ and the schema ppdm are reserved"),
    ('CREATE TABLE "s"«.x AS SELECT 1'.replace('"s"«', '«"PPDM"'), "names starting with ppdm_ and the schema ppdm"),
    ("CREATE TABLE x AS «DELETE FROM t RETURNING age", "expected a query after AS"),
    ("CREATE TABLE x AS «", "the query is missing between AS and WITH ANONYMIZATION"),
    ("CREATE TABLE x AS «VALUES (1)", "expected a query after AS"),
    ("CREATE TABLE x AS «EXECUTE p", "expected a query after AS"),
    ("CREATE TABLE x AS «SELECT 1)", ""),
    ("CREATE TABLE x AS «(t)", "expected exactly one query after AS, and a query only reads"),
    ("CREATE TABLE x AS WITH d AS («DELETE FROM t RETURNING age) SELECT age FROM d", "a query only reads: DELETE"),
    ("CREATE TABLE x AS WITH d AS («INSERT INTO t VALUES (1) RETURNING 1) FROM d", "a query only reads: INSERT"),
    ("CREATE TABLE x AS SELECT age «INTO y FROM t", "a query only reads: INTO is not allowed in it"),
    ("CREATE TABLE x AS «WITH d AS (SELECT 1) DELETE FROM t", "expected exactly one query after AS"),
    ("CREATE TABLE x AS SELECT a b «c FROM t", "the query cannot be parsed near c"),
    ("CREATE TABLE x AS SELECT age\nFROM t WHERE >= «5", "the query cannot be parsed, its end at 5"),
    ("CREATE TABLE x AS SELECT 1 + «'secret' 'x' 5 FROM t".replace("«'secret' 'x' 5", "'secret' 'x' «5"), "the query"),
    ("CREATE TABLE x AS SELECT age «FROM", "the query cannot be parsed, its end at FROM"),
    ("CREATE TABLE x AS «WITH ANONYMIZATION AS (SELECT 1) SELECT 2", ""),
    (f"CREATE TABLE x AS SELECT * FROM (SELECT 1 «WITH ANONYMIZATION {INSIDE})", "WITH ANONYMIZATION must occur once"),
]


@pytest.mark.parametrize(("head", "message"), [head for head in HEADS if head[1]])
def test_a_wrong_head_or_query_is_named(head, message):
    gap = "" if head.endswith("«") else " "
    assert_mistakes(f"{head}{gap}WITH ANONYMIZATION {INSIDE}", message)


@pytest.mark.parametrize("head", [head for head, message in HEADS if not message])
def test_a_query_that_does_not_end_is_refused(head):
    assert mistakes_of(f"{head.replace('«', '')} WITH ANONYMIZATION {INSIDE}")


PSEUDO = [
    ("«CREATE VIEW x AS PSEUDO DATA FROM MODEL m WITH (rows = 1)", "pseudo data is a TABLE, not a VIEW"),
    ("CREATE TABLE x AS PSEUDO «DATE FROM MODEL m WITH (rows = 1)", "expected DATA after PSEUDO, not DATE"),
    ("CREATE TABLE x AS PSEUDO DATA FROM «m WITH (rows = 1)", "expected MODEL after FROM, not m"),
    ("CREATE TABLE x AS PSEUDO DATA FROM MODEL m «(rows = 1)", "expected WITH after the name of the model"),
    ("CREATE TABLE x AS PSEUDO DATA FROM MODEL m WITH«", "expected ( after WITH"),
    ("CREATE TABLE x AS PSEUDO DATA FROM MODEL m WITH (rows «10)", "expected = after the option rows, not 10"),
    (
        "CREATE TABLE x AS PSEUDO DATA FROM MODEL m WITH (rows = 1) «x",
        "expected nothing after the options of PSEUDO DATA",
    ),
    ("EXPORT x TO «y", "expected the file to export to as a string in single quotes, not y"),
    ("EXPORT x TO «''", "the file to export to has no name"),
    ("EXPORT x TO «$$y$$", "expected the file to export to as a string in single quotes, not a string"),
    ("EXPORT x TO 'y' «z", "expected nothing after EXPORT name TO 'file', but found z"),
    ("EXPORT x TO 'y' WITH «z", "expected ( after WITH, not z"),
    ("EXPORT «TO 'y'", "expected the name of a release, not TO"),
    ("DROP RELEASE IF «EXISTS x", "expected nothing after DROP RELEASE name, but found EXISTS"),
    ("REFRESH a.b«.c".replace("a.b«", "«a.b"), "the name of a release must be table or schema.table, not 3 names"),
    ("REFRESH «5", "expected the name of a release, not 5"),
    ('VERIFY «""', "the name of a release cannot have an empty name"),
]


@pytest.mark.parametrize(("marked", "message"), PSEUDO)
def test_a_wrong_statement_of_ours_is_named(marked, message):
    assert_mistakes(marked, message)


def test_a_string_is_never_shown():
    for text in (
        f"CREATE TABLE x AS SELECT 'secret' 5 {INSIDE}",
        f"CREATE TABLE x AS SELECT 1 + 'secret' 5 WITH ANONYMIZATION {INSIDE}",
        "VERIFY 'secret'",
        f"{AS} WITH ANONYMIZATION (REQUIRE k = 'secret' SEED 'secret' 'secret' IDENTIFIER ('secret'))",
    ):
        assert all("secret" not in mistake.message for mistake in mistakes_of(text))


def test_a_word_is_shown_short_and_without_control_characters():
    name = f'"\x1b[2J{"b" * 1000}"'
    for text in (
        f"REFRESH a {name}",
        f"{AS} WITH ANONYMIZATION (ALGORITHM tds REQUIRE k = 2 QUASI IDENTIFIER ({name} x))",
    ):
        (mistake,) = mistakes_of(text)
        assert r'"\x1b[2J' + "b" * 36 + '..."' in mistake.message


@pytest.mark.parametrize("name", ["anonymization_log", "log_of_anonymization", "is_anonymized", "pseudonymization"])
def test_a_name_made_of_several_words_is_a_name(name):
    assert isinstance(parse(f"CREATE TABLE x AS SELECT * FROM {name}")[0], PassThrough)
