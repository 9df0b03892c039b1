"""A file becomes statements: ours understood, ordinary SQL untouched."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sqlglot

from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.grammar import parse, read
from ppdm_sql.policy.policy import (
    DropRelease,
    Explain,
    Export,
    PassThrough,
    Place,
    Policy,
    PseudoData,
    Publish,
    Refresh,
    Roles,
    Verify,
)
from ppdm_sql.policy.tokens import source_of, tokenize
from ppdm_sql.requirements import KAnonymity
from ppdm_sql.statements.names import Word
from tests.policy.marked import assert_mistakes

CLAUSE = "WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 5 QUASI IDENTIFIER (age))"
MODEL_CLAUSE = CLAUSE.replace("mondrian", "kadet")
POLICY = Policy("mondrian", (KAnonymity(5),), Roles(quasi=(Word("age"),)))
HERE = Place(1, 1)


def publish(text: str, name: str = "x", query: str = "SELECT age FROM t", **changed: object) -> Publish:
    return Publish("TABLE", (Word(name),), query, POLICY, text, HERE, **changed)  # type: ignore[arg-type]


X = Word("x")
CREATE = f"CREATE TABLE x AS SELECT age FROM t {CLAUSE}"
REPLACE = f"create or replace table x as SELECT age FROM t {CLAUSE}"
PSEUDO = "CREATE TABLE x AS PSEUDO DATA FROM MODEL s.m WITH (algorithm = pgen, rows = 10000, SEED = 7)"
PSEUDO_OPTIONS = {"algorithm": "pgen", "rows": Fraction(10000), "seed": Fraction(7)}

OURS = [
    (CREATE, publish(CREATE)),
    (REPLACE, publish(REPLACE, replace=True)),
    (PSEUDO, PseudoData((X,), (Word("s"), Word("m")), PSEUDO_OPTIONS, PSEUDO, HERE)),
    (f"EXPLAIN {CREATE}", Explain(Publish("TABLE", (X,), "SELECT age FROM t", POLICY, CREATE, Place(1, 9)), HERE)),
    ("REFRESH x", Refresh((X,), HERE)),
    ('refresh Open."My ""x"""', Refresh((Word("Open"), Word('My "x"', quoted=True)), HERE)),
    ("VERIFY x", Verify((X,), HERE)),
    ("EXPLAIN VERIFY x", Explain(Verify((X,), Place(1, 9)), HERE)),
    ("DROP RELEASE x", DropRelease((X,), HERE)),
    ("EXPORT x TO 'it''s;.duckdb'", Export((X,), "it's;.duckdb", {}, HERE)),
    ("EXPORT x TO 'o' WITH (format = Csv, keep = TRUE)", Export((X,), "o", {"format": "Csv", "keep": True}, HERE)),
    # Words of ours are no reserved words: a release may have them as its name.
    ("REFRESH table", Refresh((Word("table"),), HERE)),
    ("REFRESH live", Refresh((Word("live"),), HERE)),
    ('REFRESH "TO"', Refresh((Word("TO", quoted=True),), HERE)),
    ("VERIFY verify", Verify((Word("verify"),), HERE)),
    ("EXPORT similar TO 'x'", Export((Word("similar"),), "x", {}, HERE)),  # SIMILAR TO is one keyword to sqlglot
    ("EXPORT database TO 'x'", Export((Word("database"),), "x", {}, HERE)),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), OURS, ids=[text[:40] for text, _ in OURS])
def test_a_statement_of_ours_is_understood(text, expected):
    assert parse(text) == [expected]
    assert parse(f"{text};") == [expected]


@pytest.mark.parametrize(
    ("head", "kind", "live"),
    [
        ("CREATE VIEW x AS", "VIEW", False),
        ("CREATE VIEW x LIVE AS", "VIEW", True),
        ("CREATE OR REPLACE VIEW x live as", "VIEW", True),
        ("CREATE MODEL x AS", "MODEL", False),
    ],
)
def test_the_head_tells_what_is_created(head, kind, live):
    (found,) = parse(f"{head} SELECT 1 AS age {MODEL_CLAUSE if kind == 'MODEL' else CLAUSE}")
    assert isinstance(found, Publish)
    assert (found.kind, found.live, found.name, found.replace) == (kind, live, (X,), "REPLACE" in head)


def test_a_view_can_be_called_live():
    (found,) = parse(f"CREATE VIEW live LIVE AS SELECT 1 AS age {CLAUSE}")
    assert isinstance(found, Publish)
    assert found.name == (Word("live"),)
    assert found.live


QUERIES = [
    "SELECT age FROM t",
    "SELECT age FROM t UNION ALL SELECT age FROM u ORDER BY 1 LIMIT 3",
    "WITH c AS (SELECT 1 AS age) SELECT age FROM c",
    "(SELECT age FROM t)",
    "((SELECT age FROM t)) UNION (SELECT 2)",
    "FROM t",
    "FROM t SELECT age",
    "SELECT 'WITH ANONYMIZATION (', \"WITH ANONYMIZATION\", $$ WITH ANONYMIZATION ( $$ FROM t",
    "SELECT age /* WITH ANONYMIZATION ( */ -- ; WITH ANONYMIZATION (\n FROM t",
    "SELECT  age\n\tFROM   t  WHERE a IN (1, 2) AND ts < TIMESTAMP WITH TIME ZONE '2020-01-01 00:00:00+00'",
    "SELECT * EXCLUDE (ssn) FROM 'x.parquet' QUALIFY row_number() OVER (PARTITION BY p) = 1",
    "SELECT anonymization FROM t",  # a column of that name is harmless where the clause is there
]


@pytest.mark.parametrize("query", QUERIES)
def test_the_query_is_kept_as_written(query):
    (found,) = parse(f"CREATE TABLE x AS /* before */ {query} -- behind\n {CLAUSE}")
    assert isinstance(found, Publish)
    assert found.query == query


PASSING = [
    "SELECT 1",
    "SELECT ';', \";\", $$;$$, $a$;$a$, E'\\';' /* ; /* ; */ */ -- ;\n , 2",
    "EXPLAIN SELECT 1",
    "EXPLAIN ANALYZE SELECT 1",
    "EXPLAIN (FORMAT json) SELECT refresh FROM t",
    "EXPLAIN SELECT export FROM t",
    "EXPLAIN CREATE TABLE x AS SELECT 1",
    "REFRESH MATERIALIZED VIEW x",
    "REFRESH MATERIALIZED VIEW CONCURRENTLY x",
    "REFRESH TABLE x",
    "REFRESH FUNCTION f",
    "REFRESH 's3://bucket/path'",
    "EXPORT DATABASE 'dir'",
    "EXPORT DATABASE d TO 'dir' (FORMAT parquet)",
    "EXPORT DATA OPTIONS (uri = 'x') AS SELECT 1",
    "IMPORT DATABASE 'dir'",
    "DROP TABLE release",
    "CREATE TABLE release AS SELECT 1",
    "CREATE TABLE x AS SELECT name AS pseudo FROM t",
    "CREATE TABLE x (pseudo INT, live INT)",
    "CREATE VIEW live AS SELECT 1",
    "CREATE TABLE x AS SELECT 1 WITH NO DATA",
    "CREATE TABLE x WITH (fillfactor = 70) AS SELECT 1",
    "CREATE VIEW x AS SELECT 1 WITH LOCAL CHECK OPTION",
    "CREATE TABLE x AS WITH a (b, c) AS (SELECT 1, 2), d AS (SELECT 3) SELECT * FROM a, d",
    "CREATE TABLE x AS SELECT * FROM unnest([1]) WITH ORDINALITY AS u(a, b)",
    "CREATE TABLE x AS SELECT 'WITH ANONYMIZATION (ALGORITHM mondrian)' AS note",
    'CREATE TABLE x AS SELECT * FROM t "ANONYMIZATION" (age)',
    "CREATE TABLE x AS SELECT * FROM anonymization_log",
    "INSERT INTO t SELECT is_anonymized, anonymous, organization, normalization /* WITH ANONYMIZATION () */ FROM u",
    "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END",
    "CALL f('x; y')",
    "BEGIN TRANSACTION",
    "COPY t FROM 'x.csv' (HEADER)",
    "SELECT {'a': [1, {'b': (2)}]}",
    "SELECT 'é😀', é😀 FROM \"😀\"",
]


@pytest.mark.parametrize("text", PASSING)
def test_ordinary_sql_passes_unchanged(text):
    assert parse(text) == [PassThrough(text, HERE)]
    assert parse(f"  \n{text}  ;;\nSELECT 2 -- end") == [
        PassThrough(text, Place(2, 1)),
        PassThrough("SELECT 2", Place(3 + text.count("\n"), 1)),
    ]


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("postgres", "SELECT E'\\';', $x$;$x$, '\\'"),
        ("spark", "SELECT '\\';', \";\", `;`, 5L, r'\\;'"),
        ("spark", "SELECT /*+ WITH ANONYMIZATION ( */ 1"),
        ("spark", 'CREATE TABLE x AS SELECT * FROM t WHERE a = "WITH ANONYMIZATION ("'),
    ],
)
def test_quotes_are_those_of_the_dialect(dialect, text):
    assert parse(text + ";", dialect=dialect) == [PassThrough(text, HERE)]


def test_a_number_with_its_type_is_one_token():
    source = source_of("SELECT 5L", None)
    assert [t.text for t in tokenize(source, sqlglot.Dialect.get_or_raise("spark"))] == ["SELECT", "5L"]


def test_a_quoted_name_is_what_the_dialect_quotes():
    (found,) = parse("REFRESH `a b`.`c``d`", dialect="spark")
    assert found == Refresh((Word("a b", quoted=True), Word("c`d", quoted=True)), HERE)
    assert_mistakes("EXPORT x TO «'a\\0b'", "the file to export to contains a NUL character", dialect="spark")
    assert_mistakes('VERIFY «"a"', "expected the name of a release, not a string", dialect="spark")


def test_only_a_function_body_may_contain_semicolons():
    text = "SELECT 1 AS BEGIN ATOMIC; SELECT 2; CREATE TABLE x (BEGIN ATOMIC); SELECT 3"
    assert [found.text for found in parse(text)] == text.split("; ")


@pytest.mark.parametrize("text", ["", " \n", ";", ";;\n;", "-- only a comment", "/* REFRESH x; */", "\ufeff"])
def test_an_empty_file_has_no_statement(text):
    assert parse(text) == []


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_places_count_lines_and_characters_from_one(newline):
    text = newline.join(["\ufeff-- é", "SELECT '😀'; REFRESH x;", "\tVERIFY y"])
    assert [s.place for s in parse(text, file="p.sql")] == [
        Place(2, 1, "p.sql"),
        Place(2, 13, "p.sql"),
        Place(3, 2, "p.sql"),
    ]


def test_one_wrong_statement_stops_the_whole_file():
    assert_mistakes(
        "CREATE TABLE a AS SELECT 1;\nVERIFY«;\nREFRESH a «b;\nSELECT 2; DROP RELEASE «'x'",
        "expected the name of a release, not the end of the statement",
        "expected nothing after REFRESH name, but found b",
        "expected the name of a release, not a string",
    )


def test_a_file_is_read(tmp_path):
    path = tmp_path / "p.sql"
    path.write_bytes(b"\xef\xbb\xbfREFRESH x;\r\nVERIFY x")
    assert read(path) == [Refresh((X,), Place(1, 1, str(path))), Verify((X,), Place(2, 1, str(path)))]


@pytest.mark.parametrize(
    ("content", "line", "column", "message"),
    [
        (b"SELECT 1;\n-- caf\xe9", 2, 7, "the policy file is not valid UTF-8 from here on"),
        ("SELECT 1".encode("utf-16"), 1, 1, "the policy file is not valid UTF-8 from here on"),
        (b"SELECT 1;\nSELECT '\x00'", 2, 9, "a NUL character is not allowed in a policy file"),
        (b" " * 1_000_001, 1, 1, "a policy file can have at most 1,000,000 characters"),
        (b" " * 4_000_001, 1, 1, "a policy file can have at most 1,000,000 characters"),
    ],
)
def test_a_file_that_is_no_text_is_refused(tmp_path, content, line, column, message):
    path = tmp_path / "p.sql"
    path.write_bytes(content)
    with pytest.raises(PolicyError, match=message) as caught:
        read(path)
    assert [(m.line, m.column) for m in caught.value.mistakes] == [(line, column)]
    assert str(caught.value).startswith(f"{path}:{line}:{column}: ")


@pytest.mark.parametrize("path", ["missing.sql", ".", "a\x00b"])
def test_a_file_that_cannot_be_opened_is_a_policy_error(tmp_path, path):
    with pytest.raises(PolicyError, match="the policy file cannot be read"):
        read(tmp_path / path)


def test_an_unknown_dialect_is_a_policy_error():
    with pytest.raises(PolicyError, match="unknown SQL dialect klingon"):
        parse("SELECT 1", dialect="klingon")
