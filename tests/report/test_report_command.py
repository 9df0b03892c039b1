"""ppdm report on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
from pages import COLUMNS, people, policy

from ppdm_sql.commands import _run
from ppdm_sql.session import connect


def test_the_command_writes_the_page_and_says_how_the_release_stands(tmp_path, monkeypatch, capsys, undrawn):
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("clinic.duckdb") as con:
        con.execute(f"CREATE TABLE people ({', '.join(f'{name} {kind}' for name, kind in COLUMNS.items())})")
        con.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", people())
    with connect("clinic.duckdb") as session:
        session.publish(policy())
    before = Path("clinic.duckdb").read_bytes()
    Path("out").mkdir()
    assert _run(["--db", "clinic.duckdb", "report", "people_open", "--out", "out/page.html", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    page = Path(told["path"])
    assert page == (tmp_path / "out/page.html").resolve()
    assert told == {"statement": "report", "release": "people_open", "path": str(page), "audience": "internal",
                    "holds": True, "bytes": page.stat().st_size, "problems": []}  # fmt: skip
    assert Path("clinic.duckdb").read_bytes() == before  # a report changes nothing
    with duckdb.connect("clinic.duckdb") as con:
        con.execute("DELETE FROM people_open WHERE sex = 'f'")
    assert _run(["--db", "clinic.duckdb", "report", "people_open", "--audience", "public"]) == 0
    shown = capsys.readouterr().out
    assert "people_open does NOT hold, and the report says so" in shown
    assert "report.html" in shown
    Path("mine.html").write_text("mine")
    assert _run(["--db", "clinic.duckdb", "report", "people_open", "--out", "mine.html"]) == 2
    assert "--force overwrites it" in capsys.readouterr().err


def test_the_help_has_an_example(capsys):
    _run(["report", "--help"])
    shown = capsys.readouterr().out
    assert "$ ppdm --db clinic.duckdb report patients_open --out patients_open.html" in shown
    assert "--audience" in shown
