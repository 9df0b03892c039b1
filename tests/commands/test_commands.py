"""The command line as a newcomer and as a scheduled job meet it: output, --json, exit codes."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys

import duckdb
import pytest

from ppdm_sql.session import Session

DB = ("--db", "clinic.duckdb")


def test_a_release_from_check_to_drop(ppdm, clinic):
    assert ppdm(*DB, "check", "policy.sql").code == 1
    assert ppdm(*DB, "plan", "policy.sql").code == 0
    assert ppdm(*DB, "list").out == "no releases yet: ppdm run policy.sql publishes one\n"
    run = ppdm(*DB, "run", "policy.sql")
    assert (run.code, run.err) == (0, "")
    assert "published people_open: 100 rows" in run.out
    assert ppdm(*DB, "verify").code == 0
    assert "people_open" in ppdm(*DB, "list").out
    assert "not promised" in ppdm(*DB, "show", "people_open").out
    assert ppdm(*DB, "export", "people_open", "open.csv").code == 0
    assert (clinic / "open.csv").read_text().splitlines()[0] == '"age","zip","illness"'
    (clinic / "drop.sql").write_text("DROP RELEASE people_open")
    dropped = ppdm(*DB, "run", "drop.sql")
    assert dropped.code == 0
    assert "cannot be taken back" in dropped.out
    assert ppdm(*DB, "verify", "people_open").code == 2


def test_json_is_all_there_is_on_stdout(ppdm, clinic):
    for arguments, code in (
        (("check", "policy.sql", "--json"), 1),
        (("plan", "policy.sql", "--json"), 0),
        (("run", "policy.sql", "--json"), 0),
        (("run", "policy.sql", "--json", "--show-sql"), 0),
        (("verify", "--json"), 0),
        (("list", "--json"), 0),
        (("show", "people_open", "--json"), 0),
        (("export", "people_open", "open.parquet", "--json"), 0),
        (("catalog", "status", "--json"), 0),
        (("catalog", "migrate", "--json"), 0),
    ):
        done = ppdm(*DB, *arguments)
        assert done.code == code, (arguments, done.err)
        assert isinstance(done.json, dict), arguments


def test_the_figures_of_run_are_those_of_the_rows(ppdm, clinic):
    (result,) = ppdm(*DB, "run", "policy.sql", "--json").json["results"]
    with duckdb.connect(str(clinic / "clinic.duckdb")) as con:
        rows, smallest = con.execute(
            "SELECT sum(n), min(n) FROM (SELECT count(*) AS n FROM people_open GROUP BY age, zip)"
        ).fetchone()
    assert (result["rows"], result["findings"][0]["achieved"]) == (rows, str(smallest))


def test_a_breach_is_exit_1_with_one_sentence(ppdm, clinic):
    (clinic / "policy.sql").write_text((clinic / "policy.sql").read_text().replace("k = 5", "k = 101"))
    done = ppdm(*DB, "run", "policy.sql")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("ppdm: ")
    assert "Traceback" not in done.err
    as_json = ppdm(*DB, "run", "policy.sql", "--json")
    assert as_json.code == 1
    assert as_json.json["exit_code"] == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("k = 5", "REQUIRE"),
        ("REQUIRE k = yes", "k is a whole number"),
        ("REQUIRE k = 5.5", "k is a whole number"),
        ("REQUIER k = 5", "REQUIRE"),
        ("REQUIRE k = 5, l = 2", "unknown requirement"),
    ],
)
def test_a_wrong_policy_is_exit_2_with_file_line_and_column(ppdm, clinic, text, told):
    written = (clinic / "policy.sql").read_text().replace("REQUIRE k = 5", text)
    (clinic / "policy.sql").write_text(written)
    done = ppdm(*DB, "run", "policy.sql")
    assert done.code == 2
    assert "policy.sql:" in done.err
    assert told in done.err


def test_an_unknown_column_is_told_with_the_nearest(ppdm, clinic):
    (clinic / "policy.sql").write_text((clinic / "policy.sql").read_text().replace("(age, zip)", "(agee, zip)"))
    done = ppdm(*DB, "run", "policy.sql")
    assert done.code == 2
    assert 'column "agee" does not exist: did you mean "age"?' in done.err


def test_wrong_calls_are_exit_2(ppdm, clinic):
    assert ppdm("run", "policy.sql").code == 2  # no database
    assert ppdm(*DB, "run", "nothing.sql").code == 2
    assert ppdm(*DB, "rnu", "policy.sql").code == 2
    assert ppdm(*DB, "show", "nothing").code == 2


def test_a_missing_database_is_not_made(ppdm, clinic):
    done = ppdm("--db", "typo.duckdb", "run", "policy.sql")
    assert done.code == 3
    assert "database typo.duckdb does not exist" in done.err
    assert not (clinic / "typo.duckdb").exists()
    assert ppdm("--db", "new.duckdb", "--create", "list").code == 0


def test_show_sql_prints_the_statements_that_ran(ppdm, clinic):
    out = ppdm(*DB, "run", "policy.sql", "--show-sql").out
    assert 'CREATE TABLE "people_open" AS' in out
    assert "GROUP BY" in out


def test_explain_writes_nothing(ppdm, clinic):
    (clinic / "explain.sql").write_text("EXPLAIN " + (clinic / "policy.sql").read_text())
    done = ppdm(*DB, "run", "explain.sql")
    assert done.code == 0
    assert "nothing was written" in done.out
    with duckdb.connect(str(clinic / "clinic.duckdb")) as con:
        assert con.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("people",)]


def test_plan_works_on_a_read_only_database(ppdm, clinic):
    (clinic / "clinic.duckdb").chmod(0o444)
    assert ppdm(*DB, "--read-only", "plan", "policy.sql").code == 0
    refused = ppdm(*DB, "--read-only", "run", "policy.sql")
    assert refused.code == 3
    assert "read-only" in refused.err


@pytest.mark.wide
def test_the_demo_runs(ppdm, tmp_path):
    done = ppdm("demo")
    assert (done.code, done.err) == (0, "")
    for word in ("check", "published patients_open", "holds", "exported", "What to try next"):
        assert word in done.out
    assert stat.S_IMODE(os.stat(tmp_path / "demo" / "open.duckdb").st_mode) == 0o600


def test_policy_files_may_hold_ordinary_sql_but_files_need_permission(ppdm, clinic):
    (clinic / "in").mkdir()
    (clinic / "in" / "people.csv").write_text("id,age\n1,30\n2,40\n")
    (clinic / "load.sql").write_text("CREATE TABLE loaded AS SELECT * FROM read_csv('in/people.csv');\nFROM loaded;")
    refused = ppdm(*DB, "run", "load.sql")
    assert refused.code == 3
    assert "--allow" in refused.err
    allowed = ppdm(*DB, "--allow", "in", "run", "load.sql")
    assert allowed.code == 0
    assert "30" in allowed.out


def test_catalog_status_and_migrate(ppdm, clinic):
    assert "not yet" in ppdm(*DB, "catalog", "status").out
    assert "applied" in ppdm(*DB, "catalog", "migrate").out
    assert "not yet" not in ppdm(*DB, "catalog", "status").out
    assert ppdm(*DB, "catalog", "migrate").out == "the catalog is up to date\n"


def test_help_and_import_load_nothing_heavy():
    heavy = {"duckdb", "sqlglot", "pandas", "numpy", "pyarrow", "pyspark", "psycopg", "altair", "sklearn", "rich"}
    code = "import sys; from ppdm_sql.commands import _run; _run(['--help']); print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not heavy & set(shown.splitlines()[-1].split())
    code = "import sys, ppdm_sql, ppdm_sql.session; print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"pyspark", "psycopg", "altair", "sklearn"} & set(shown.split())


def test_an_internal_error_shows_its_kind_and_nothing_else(ppdm, clinic, monkeypatch):
    def broken(*_, **__):
        raise ValueError("canary 4711")

    monkeypatch.setattr(Session, "releases", broken)
    done = ppdm(*DB, "list")
    assert done.code == 3
    assert "ValueError" in done.err
    assert "canary" not in done.err + done.out


def test_a_process_of_its_own_ends_in_the_same_way(ppdm_process, clinic):
    """The other tests call the entry point within their own process."""
    assert ppdm_process(*DB, "check", "policy.sql").code == 1
    run = ppdm_process(*DB, "run", "policy.sql", "--json")
    assert (run.code, run.err) == (0, "")
    assert run.json["results"][0]["release"] == "people_open"
    assert ppdm_process(*DB, "rnu", "policy.sql").code == 2
    assert ppdm_process("--db", "typo.duckdb", "list").code == 3


def test_json_errors_parse_too(ppdm, clinic):
    done = ppdm("--db", "nowhere.duckdb", "list", "--json")
    assert done.code == 3
    assert json.loads(done.out)["exit_code"] == 3
