"""Errors of PostgreSQL and DuckDB alike: with file, line and column, the nearest names, and never with a value."""

from __future__ import annotations

from pathlib import Path

import pytest

from ppdm_sql.errors import EngineError, PolicyError, SchemaDrifted
from ppdm_sql.session import Session
from ppdm_sql.statements.names import Name
from ppdm_sql.watching import silent

COLUMNS = {"age": "INTEGER", "zip": "TEXT", "name": "TEXT", "illness": "TEXT"}
ROWS = [(20 + n % 40, f"Z{n % 5}", f"John Smith {n}", f"illness {n % 3}") for n in range(200)]
CLAUSE = """WITH ANONYMIZATION (
ALGORITHM mondrian REQUIRE k = 5 QUASI IDENTIFIER (age, zip) SENSITIVE (illness));
"""
FIRST = f"CREATE TABLE one AS SELECT age, zip, illness FROM people {CLAUSE}"  # lines 1 and 2

pytestmark = [pytest.mark.usefixtures("people")]


ENGINES = [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("duckdb", "postgres")]


@pytest.fixture(params=ENGINES)
def engine(request):
    """Spark gives no places, and ordinary SQL is checked there only when it runs."""
    return request.getfixturevalue(f"{request.param}_engine")


@pytest.fixture
def people(engine, make_table):
    make_table(engine, "people", COLUMNS, ROWS)


@pytest.fixture
def db(engine, tmp_path):
    return Session(engine, out=tmp_path, show_values=False, progress=silent)


AHEAD = [
    (f"CREATE TABLE two AS SELECT agee, zip, illness FROM people {CLAUSE}", "p.sql:3:28", 'column "agee" does not exist: did you mean "age"?'),
    (f"CREATE TABLE two AS SELECT age,\nzip, illness FROM peopel {CLAUSE}", "p.sql:4:19", "table peopel does not exist: did you mean people?"),
    (f"CREATE TABLE two AS SELECT age, zip, illness FROM people p WHERE p.agee > 1 {CLAUSE}", "p.sql:3:66", 'column "agee" does not exist'),
    (f"CREATE TABLE two AS SELECT nofun(age) AS age, zip, illness FROM people {CLAUSE}", "p.sql:3:28", "nofun"),
    ("SELECT agee\nFROM people;", "p.sql:3:8", 'column "agee" does not exist: did you mean "age"?'),
    ("SELECT age\nFROM peopel;", "p.sql:4:6", "table peopel does not exist: did you mean people?"),
    ("INSERT INTO people (agee) VALUES (1);", "p.sql:3", 'column "agee" does not exist: did you mean "age"?'),
]  # fmt: skip


@pytest.mark.parametrize(("second", "place", "words"), AHEAD, ids=map(str, range(len(AHEAD))))
def test_a_wrong_name_has_its_place_and_runs_nothing(engine, db, second, place, words):
    with pytest.raises(PolicyError) as caught:
        db.execute(FIRST + second, file="p.sql")
    assert str(caught.value).startswith(place)
    assert words in str(caught.value)
    assert engine.relation_kind(Name("one")) is None
    assert engine.relation_kind(Name("ppdm", "release")) is None


def test_a_syntax_error_is_a_mistake_with_its_place(db):
    with pytest.raises(PolicyError, match=r"^p\.sql:1:17: syntax error near people$"):
        db.execute("SELECT age FORM people WHERE;", file="p.sql")
    with pytest.raises(PolicyError, match=r"^p\.sql:1:8: syntax error near TABEL$"):
        db.execute("CREATE TABEL x (a INT);", file="p.sql")


FAILING = [
    ("CREATE TABLE u AS SELECT CAST(name AS INTEGER) AS n FROM people;", "CAST(name AS INT"),
    ("CREATE TABLE u (n INTEGER NOT NULL);\nINSERT INTO u SELECT NULL FROM people;", "u.n: a constraint"),
    ("CREATE TABLE u (n INTEGER PRIMARY KEY);\nINSERT INTO u SELECT 4711 FROM people;", "u ("),
    (f"CREATE TABLE two AS SELECT age, CAST(name AS INTEGER) AS zip, illness FROM people {CLAUSE}", 'column "zip" = CAST(name'),
    (f"CREATE TABLE two AS SELECT age, zip, illness FROM people WHERE CAST(name AS INTEGER) > 3 {CLAUSE}", "a condition of"),
]  # fmt: skip


@pytest.mark.parametrize(("second", "words"), FAILING, ids=map(str, range(len(FAILING))))
def test_a_failing_value_names_the_expression_and_never_the_value(engine, db, second, words):
    with pytest.raises(EngineError) as caught:
        db.execute(FIRST + second, file="p.sql")
    told = str(caught.value)
    assert told.startswith("p.sql:")
    assert words in told
    assert "John" not in told
    assert "4711" not in told
    assert caught.value.exit_code == 3
    assert [result.as_json()["release"] for result in (caught.value.results or ())[:1]] == ["one"]
    assert engine.relation_kind(Name("one")) == "table"


def test_the_value_is_there_for_who_asks_for_it(engine, tmp_path):
    db = Session(engine, out=Path(tmp_path), show_values=True, progress=silent)
    with pytest.raises(EngineError, match="John Smith"):
        db.execute("CREATE TABLE u AS SELECT CAST(name AS INTEGER) AS n FROM people;", file="p.sql")


def test_a_column_that_a_former_release_knew_is_drift(engine, db):
    db.execute(FIRST)
    engine.pass_through("ALTER TABLE people RENAME COLUMN zip TO zipcode")
    with pytest.raises(SchemaDrifted, match='column "zip" does not exist'):
        db.execute("REFRESH one;")
    with pytest.raises(SchemaDrifted, match='column "zip" does not exist'):
        db.execute(FIRST.replace("CREATE", "CREATE OR REPLACE").replace("k = 5", "k = 6"))
