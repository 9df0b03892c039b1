"""Trying things out from the command line: statements without a file, releases taken back by name."""

from __future__ import annotations

import duckdb
import pytest

DB = ("--db", "clinic.duckdb")


def test_statements_from_standard_input_and_from_the_command_line(ppdm, clinic):
    policy = (clinic / "policy.sql").read_text()
    piped = ppdm(*DB, "run", "-", stdin=policy)
    assert (piped.code, piped.err) == (0, "")
    assert "published people_open: 100 rows" in piped.out
    typed = ppdm(*DB, "run", "-c", "VERIFY people_open", "-c", "DROP RELEASE people_open")
    assert typed.code == 0
    assert "people_open holds" in typed.out
    assert "dropped people_open" in typed.out


def test_files_run_before_the_texts(ppdm, clinic):
    done = ppdm(*DB, "run", "policy.sql", "-c", "DROP RELEASE people_open", "--json")
    assert [one["statement"] for one in done.json["results"]] == ["publish", "drop"]


@pytest.mark.parametrize(
    ("arguments", "stdin", "said"),
    [
        (("run",), None, "nothing to run"),
        (("run", "-", "-"), "SELECT 1", "only once"),
        (("run", "-c", "VERIFY nothing_here"), None, "-c:1:1"),
        (("run", "-c", "SELECT 1", "-c", "VERIFY nothing_here"), None, "-c 2:1:1"),
        (("run", "-"), "SELECT 1;\nVERIFY nothing_here", "<stdin>:2:1"),
        (("run", "-"), "CREATE TABEL x AS SELECT 1 WITH ANONYMIZATION (", "<stdin>:1"),
        (("drop",), None, "Missing argument"),
        (("drop", "nothing_here"), None, "nothing_here"),
    ],
)
def test_what_cannot_be_run_is_refused_with_its_place(ppdm, clinic, arguments, stdin, said):
    done = ppdm(*DB, *arguments, stdin=stdin)
    assert done.code == 2
    assert said in done.err


def test_drop_takes_back_all_or_none_of_the_names(ppdm, clinic):
    assert ppdm(*DB, "run", "policy.sql").code == 0
    assert ppdm(*DB, "drop", "people_open", "nothing_here").code == 2
    assert ppdm(*DB, "verify", "people_open").code == 0
    dropped = ppdm(*DB, "drop", "people_open", "people_open")
    assert (dropped.code, dropped.out) == (0, "dropped people_open\n")
    with duckdb.connect(str(clinic / "clinic.duckdb"), read_only=True) as con:
        assert con.execute("SELECT COUNT(*) FROM duckdb_tables() WHERE table_name = 'people_open'").fetchone() == (0,)


def test_drop_says_what_still_counts(ppdm, clinic):
    assert ppdm(*DB, "run", "policy.sql").code == 0
    assert ppdm(*DB, "export", "people_open", "open.csv").code == 0
    (one,) = ppdm(*DB, "drop", "people_open", "--json").json["results"]
    assert one == {
        "statement": "drop", "release": "people_open", "exported_copies": 1, "readers": [], "still_counts": True,
    }  # fmt: skip


def test_the_database_can_be_named_in_the_environment(ppdm, clinic):
    assert ppdm("list", PPDM_DB="clinic.duckdb").code == 0
    assert "PPDM_DB" in ppdm("--help").out
