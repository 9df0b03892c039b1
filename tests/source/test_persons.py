"""ENTITY in a column whose collation takes several spellings for one: refused rather than counted as several people."""

from __future__ import annotations

import duckdb
import pytest

import ppdm_sql
from ppdm_sql.errors import PolicyError
from ppdm_sql.source.persons import refuse_spellings

TABLE = """CREATE TABLE t (pid {}, x INTEGER, c TEXT);
    INSERT INTO t SELECT CASE WHEN turn = 0 THEN 'p' ELSE 'P' END || n, n // 100, 'a' FROM range(200) z(n), range(2) q(turn)"""


def asked(kind: str, person: str, method: str) -> str:
    target = "TARGET (c)" if kind == "MODEL" else ""
    return f"""CREATE {kind} o AS SELECT {person} AS pid, x, c FROM t WITH ANONYMIZATION (ALGORITHM {method}
        REQUIRE k = 60 ENTITY (pid) QUASI IDENTIFIER (x) SENSITIVE (c) {target})"""


@pytest.fixture
def opened():
    def fresh(declared: str):
        con = duckdb.connect()
        con.execute(TABLE.format(declared))
        return ppdm_sql.connect(con)

    return fresh


@pytest.mark.duckdb
@pytest.mark.parametrize(("kind", "method"), [("TABLE", "mondrian"), ("TABLE", "kactus2"), ("MODEL", "kadet")])
@pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT.NOCASE"])
def test_persons_of_several_spellings_are_refused(opened, kind, method, collation):
    """200 persons in 400 rows: by their bytes they would be 400, and k twice what it is."""
    db = opened(f"VARCHAR COLLATE {collation}")
    with pytest.raises(PolicyError, match=r'column "pid": 200 ENTITY values differ only in spelling.* LOWER'):
        db.publish(asked(kind, "pid", method))


@pytest.mark.duckdb
def test_one_spelling_is_counted_right(opened):
    db = opened("VARCHAR COLLATE NOCASE")
    assert [f.achieved for f in db.publish(asked("TABLE", "LOWER(pid)", "mondrian")).findings] == ["100"]


@pytest.mark.duckdb
def test_where_the_database_tells_them_apart_they_are_two(opened):
    db = opened("VARCHAR")
    assert [f.achieved for f in db.publish(asked("TABLE", "pid", "mondrian")).findings] == ["200"]


@pytest.mark.duckdb
def test_the_audit_of_a_model_refuses_them_too(opened):
    db = opened("VARCHAR COLLATE NOCASE")
    db.train("m", "SELECT x, c FROM t", "c")
    with pytest.raises(PolicyError, match="differ only in spelling"):
        db.audit("m", "t", entity="pid")
    assert db.audit("m", "SELECT LOWER(pid) AS pid, x, c FROM t", entity="pid").k >= 100


def test_plain_columns_pass_on_every_engine(engine, make_table):
    rows = [("a", 1), ("A", 1), ("ä", 2), (None, None), ("a", 3)]
    name = make_table(engine, "t", {"w": "TEXT", "n": "INTEGER"}, rows)
    for info in engine.columns(name):
        refuse_spellings(engine, name, info)
