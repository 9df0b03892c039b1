"""What the Python API writes is for its owner alone, and no statement that is shown holds the catalog's salt."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path

import duckdb
import pytest

from ppdm_sql.commands.group import run
from ppdm_sql.errors import EngineError
from ppdm_sql.release.export import write as export
from ppdm_sql.release.export import writers
from ppdm_sql.session import connect

pytestmark = pytest.mark.duckdb

PEOPLE = """CREATE TABLE t AS SELECT range AS id, range % 5 AS age, 'x' || range % 4 AS ill,
    CASE WHEN range % 5 < 2 THEN 'a' ELSE 'b' END AS class FROM range(200)"""
RULES = "WITH ANONYMIZATION (ALGORITHM {method} REQUIRE k = 10 IDENTIFIER (id) QUASI IDENTIFIER (age) {roles})"
TABLE = "CREATE TABLE o AS SELECT id, age, ill FROM t " + RULES.format(method="mondrian", roles="SENSITIVE (ill)")
MODEL = "CREATE MODEL m AS SELECT id, age, class FROM t " + RULES.format(
    method="kadet", roles="SENSITIVE (class) TARGET (class) ACCEPT RISK (joint)"
)


@pytest.fixture
def wide_open():
    """The modes of a process that shares all it writes."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def con():
    with duckdb.connect() as found:
        found.execute(PEOPLE)
        yield found


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_of_the_python_api_are_private(con, tmp_path, wide_open, monkeypatch):
    folder = tmp_path / "out"
    folder.mkdir()
    seen: list[int] = []
    write = writers.write

    def watched(form, path, *rest, **more):
        write(form, path, *rest, **more)
        seen.append(mode(path.parent))

    monkeypatch.setattr(export.writers, "write", watched)
    with connect(con, out=folder) as session:
        session.execute(f"{TABLE};\n{MODEL}")
        for file in ("o.csv", "o.parquet", "o.duckdb"):
            session.export("o", file)
        session.export("m", "m.json")
        session.report("o", "o.html")
        session.export("o", "o.csv")  # one that is there is replaced by one that is as private
    assert {file.name: mode(file) for file in folder.iterdir() if mode(file) != 0o600} == {}
    assert len(list(folder.iterdir())) == 3 * 5 + 5 + 1
    assert set(seen) == {0o700}, "files are written where others cannot look"


def test_files_of_the_command_line_are_private(tmp_path, wide_open, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("c.duckdb") as con:
        con.execute(PEOPLE)
    Path("p.sql").write_text(TABLE)
    calls = [
        ["model", "train", "kept", "--from", "t", "--target", "class"],
        ["model", "export", "kept", "kept.json"],
        ["evaluate", "p.sql", "--grid", "k=10", "--svg", "e.svg"],
    ]
    for call in calls:
        assert run(["--db", "c.duckdb", *call]) == 0, call
    assert {name: mode(Path(name)) for name in ("kept.json", "e.svg")} == {"kept.json": 0o600, "e.svg": 0o600}


# -- the salt --------------------------------------------------------------------------------------------------


def test_no_statement_that_is_shown_or_logged_holds_the_salt(con, tmp_path, caplog):
    shown: list[str] = []
    caplog.set_level(logging.DEBUG, logger="ppdm_sql")
    with connect(con, out=tmp_path) as session:
        session.engine.on_statement = shown.append
        session.execute(f"{TABLE};\n{MODEL};\nVERIFY o;\nEXPORT o TO 'o.csv'")
        shown += session.plan(TABLE.replace("TABLE o", "TABLE p")).statements
        session.report("o", "o.html")
    salt = con.execute("SELECT value FROM ppdm.setting WHERE name = 'salt'").fetchone()[0]
    assert len(salt) == 64
    assert any("<secret>" in sql for sql in shown)
    told = [*shown, caplog.text, *(file.read_bytes().decode("utf-8", "replace") for file in tmp_path.iterdir())]
    assert not [text for text in told if salt in text]


def test_an_error_does_not_keep_the_salt(con):
    from sqlglot import exp

    from ppdm_sql.catalog import releases

    with connect(con) as session:
        session.publish(TABLE)
        salt = releases.salt(session.engine)
        with pytest.raises(EngineError) as told:
            session.engine.fetch(exp.select(exp.Literal.string(salt), exp.column("nothing")))
    assert salt not in str(told.value)
    assert salt not in str(told.value.sql)
