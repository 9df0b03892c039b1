"""ppdm evaluate and ppdm advise as people and scheduled jobs meet them."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import duckdb
import pytest

from ppdm_sql.commands import _run
from ppdm_sql.commands.evaluate_command import duration
from tests.sizes import HANGS

POLICY = """
CREATE TABLE people_open AS SELECT age, town, paid FROM people
WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 5 QUASI IDENTIFIER (age, town) TARGET (paid) SEED 3);
"""
OTHER = """
CREATE TABLE towns_open AS SELECT town, paid FROM people
WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 5 QUASI IDENTIFIER (town) INSENSITIVE (paid));
"""
GRID = ("evaluate", "policy.sql", "--grid", "k=5,400", "--method", "mondrian,kactus2")


@pytest.fixture
def ppdm(tmp_path, monkeypatch, capsys):
    """The command line in this process: (exit status, stdout, stderr)."""
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as con:
        con.execute(
            "CREATE TABLE people AS SELECT 20 + (range * 7) % 53 AS age, 'town ' || range % 4 AS town, "
            "CASE WHEN (range * 7) % 53 > 25 THEN 'well' ELSE 'badly' END AS paid FROM range(300)"
        )
    (tmp_path / "policy.sql").write_text(POLICY)
    (tmp_path / "both.sql").write_text(POLICY + OTHER)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = _run(["--db", "clinic.duckdb", *arguments])
        return code, *capsys.readouterr()

    return run


def test_a_grid_for_people_then_at_once_for_machines(ppdm, tmp_path):
    code, out, err = ppdm(*GRID, "--csv", "grid.csv", "--svg", "grid.svg")
    assert (code, err) == (0, "")
    head, titles, *lines = out.splitlines()
    assert head == "main.people_open: 300 rows; c45_spread, a third of the rows held out, seed 3"
    assert titles.split() == [
        "method",
        "requirements",
        "holds",
        "rows",
        "classes",
        "suppressed",
        "loss",
        "worst",
        "risk",
        "accuracy",
        "AUC",
        "took",
    ]
    firsts = [line.split()[0] for line in lines[:6]]
    assert firsts == ["majority", "raw", "mondrian", "mondrian", "kactus2", "kactus2"]
    assert "refused" in lines[3]
    assert any(line.startswith("  tested recoded (mondrian, kactus2): ") for line in lines)
    assert any(line.startswith("  mondrian (k = 400): ") for line in lines)

    code, out, _ = ppdm(*GRID, "--json")
    found = json.loads(out)
    assert code == 0
    assert [point["status"] for point in found["points"]] == ["measured", "refused", "measured", "refused"]
    assert found["baseline"]["accuracy"] > 0.9 > found["majority_share"] == found["majority"]["accuracy"]
    assert found["points"][0]["auc"] > 0.9

    with open(tmp_path / "grid.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["status"] for row in rows] == ["baseline", "baseline", *(point["status"] for point in found["points"])]
    assert float(rows[2]["information_loss"]) == found["points"][0]["information_loss"]
    assert rows[2]["statement"] == found["points"][0]["statement"]
    assert (rows[3]["accuracy"], rows[3]["majority_share"]) == ("", "")
    assert {row["majority_share"] for row in rows if row["accuracy"]} == {str(found["majority_share"])}
    drawing = (tmp_path / "grid.svg").read_text(encoding="utf-8")
    assert ET.fromstring(drawing).tag.endswith("svg")
    assert "accuracy in %" in drawing
    assert "kactus2" in drawing


@pytest.mark.wide
def test_the_analysts_queries_and_what_is_chance(ppdm):
    Path("asked.sql").write_text("SELECT COUNT(*) FROM data;\nSELECT AVG(age) FROM data;")
    Path("towns.sql").write_text(POLICY.replace("(age, town)", "(town) IDENTIFIER (age)"))
    call = ("evaluate", "towns.sql", "--method", "mondrian,kactus2", "--protocol", "5x2", "--learner", "naive_bayes")
    code, out, err = ppdm(*call, "--workload", "asked.sql")
    assert (code, err) == (0, "")
    _, titles, _, raw, mondrian, *_, last = out.splitlines()
    assert titles.split()[-4:] == ["query", "error", "answered", "took"]
    assert raw.split()[-4:-2] == ["-", "-"]
    assert mondrian.split()[-4:-2] == ["50.0%", "50%"]  # the ages are not published
    assert last.startswith("  k = 5: ")
    assert "differ from " in last or "differs from " in last
    code, out, _ = ppdm(*call, "--workload", "asked.sql", "--json")
    found = json.loads(out)
    assert (found["points"][0]["workload_error"], found["points"][0]["workload_answered"]) == (0.5, 0.5)
    assert found["differences"][0]["asked"] == "k = 5"
    Path("asked.sql").write_text("SELECT 1 FROM data;\n  DELETE FROM data")
    code, out, err = ppdm(*call, "--workload", "asked.sql")
    assert (code, out) == (2, "")
    assert "asked.sql:2:3: query 2: a workload can contain only queries" in err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("evaluate", "policy.sql", "--workload", "nowhere.sql"), "nowhere.sql"),
        (("evaluate", "policy.sql", "--grid", "k=1"), "--grid k: k is a whole number from 2"),
        (("evaluate", "policy.sql", "--method", "kactus3"), "--method kactus3: unknown method: did you mean kactus"),
        (("evaluate", "policy.sql", "--protocol", "loo"), "--protocol loo: must be holdout, 5x2, or kfold:N"),
        (("evaluate", "policy.sql", "--learner", "c4.5"), "--learner c4.5: did you mean c45?"),
        (("evaluate", "both.sql"), "both.sql: the file has 2 releases (people_open, towns_open): choose one with"),
        (("evaluate", "both.sql", "--release", "x"), "--release: the file has no release x"),
        (("evaluate",), "Missing argument 'FILE'"),
        (("evaluate", "policy.sql", "--csv", "nowhere/grid.csv"), "folder of nowhere/grid.csv does not exist"),
        (("advise",), "takes a policy file, or --table"),
        (("advise", "policy.sql", "--table", "people"), "takes a policy file, or --table"),
        (
            ("advise", "--table", "people", "--quasi", "agee"),
            "--quasi agee: no such column: did you mean age?",
        ),
    ],
)
def test_a_wrong_call_is_told_and_exits_with_2(ppdm, arguments, told):
    code, out, err = ppdm(*arguments)
    assert (code, out) == (2, "")
    assert told in err


def test_one_release_of_several_without_target(ppdm):
    code, out, _ = ppdm("evaluate", "both.sql", "--release", "towns_open", "--svg", "loss.svg")
    assert code == 0
    assert out.splitlines()[0].endswith("300 rows; no accuracy: the policy has no TARGET, or the learner is none")
    assert "information loss" in Path("loss.svg").read_text(encoding="utf-8")


def test_help_shows_how(ppdm):
    for name in ("evaluate", "advise"):
        code, out, _ = ppdm(name, "--help")
        assert code == 0
        assert f"$ ppdm --db census.duckdb {name} adult.sql" in out


def test_advice_prints_the_statement_and_why(ppdm):
    code, out, err = ppdm("advise", "--table", "people", "--quasi", "age,town", "--insensitive", "paid", "--k", "20")
    assert (code, out) == (1, "")
    assert "undeclared" in err  # here pay follows from age
    Path("accepted.sql").write_text(
        "CREATE TABLE people_open AS SELECT age, town, paid FROM people WITH ANONYMIZATION (ALGORITHM mondrian "
        "REQUIRE k = 20 QUASI IDENTIFIER (age, town) INSENSITIVE (paid) ACCEPT RISK (undeclared));"
    )
    code, out, err = ppdm("advise", "accepted.sql")
    assert (code, err) == (0, "")
    assert "mondrian with k = 20 loses the least of all combinations tried" in out
    statement = out[out.index("CREATE TABLE") :]
    Path("advised.sql").write_text(statement)
    code, out, _ = ppdm("run", "advised.sql", "--json")
    assert code == 0
    assert json.loads(out)["holds"]
    code, out, _ = ppdm("advise", "accepted.sql")
    assert code == 0
    assert "Current releases" not in out  # nobody was given it, so it does not count against its successor
    assert ppdm("export", "people_open", "open.csv")[0] == 0
    code, out, _ = ppdm("advise", "accepted.sql")
    assert code == 0
    assert (
        "Current releases of the same tables: people_open. The advised statement can be published together with them."
        in out
    )
    code, out, err = ppdm("advise", "--table", "people", "--quasi", "age", "--k", "400", "--json")
    assert code == 1
    assert json.loads(out)["exit_code"] == 1
    assert "no algorithm can publish this table as required" in err


def test_roles_that_nobody_names_are_drafted(ppdm, tmp_path):
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as con:
        con.execute(
            "CREATE TABLE drafted AS SELECT range AS id, 'p' || range || '@mail.example' AS contact, 20 + range % 30 AS "
            "age, 'town ' || range % 3 AS town, range % 2 AS class FROM range(120)"
        )
    code, out, err = ppdm("advise", "--table", "drafted", "--learner", "none", "--k", "20")
    assert (code, err) == (0, "")
    assert "roles were drafted (--quasi names them): an attacker may know age, town" in out
    assert "left out id: looks like id (by its name)" in out
    assert "left out contact: looks like e-mail (100 % of the values)" in out
    assert 'QUASI IDENTIFIER ("age", "town")' in out
    assert 'TARGET ("class")' in out
    assert "contact" not in out[out.index("CREATE TABLE") :]


@pytest.mark.wide
def test_advice_for_machines(ppdm):
    code, out, _ = ppdm("advise", "--table", "people", "--quasi", "age,town", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["statement"] == found["best"]["statement"]
    assert found["best"] in found["front"]
    assert found["sample"] is None
    assert found["other_releases"] is None
    assert ppdm("run", "policy.sql")[0] == 0
    assert ppdm("export", "people_open", "open.csv")[0] == 0  # from now on it counts
    code, out, _ = ppdm("advise", "--table", "people", "--quasi", "town", "--json")
    others = json.loads(out)["other_releases"]
    assert (code, others["holds"], others["left_out"]) == (0, False, [])
    assert "would refuse" in others["told"]


def test_control_c_keeps_what_is_done(ppdm, tmp_path):
    """A real signal, while a statement runs or between two: what is measured is in the catalog."""
    many = ",".join(map(str, range(2, 60)))
    start = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from ppdm_sql.commands import main; main()"
    call = [sys.executable, "-c", start, "--db", "clinic.duckdb", "evaluate", "policy.sql", "--grid", f"k={many}"]
    env = {**os.environ, "PPDM_DEBUG": ""}
    process = subprocess.Popen([*call, "--learner", "none"], cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True)
    # Only its owner can open the file: that some points were measured is shown by the growing log.
    grown, before = 0, tmp_path / "clinic.duckdb.wal"
    while grown < 30_000 and process.poll() is None:
        time.sleep(0.1)
        grown = before.stat().st_size if before.exists() else grown
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=HANGS)
    assert process.returncode == 3, err
    assert "results are saved. Run the same command again to continue." in err
    with duckdb.connect(str(tmp_path / "clinic.duckdb"), read_only=True) as con:
        (kept,) = con.execute("SELECT count(*) FROM ppdm.evaluation_point").fetchone()
    assert f"Stopped after {kept} of 59 points" in err


@pytest.mark.parametrize(("seconds", "told"), [(0.2, "0 s"), (59.4, "59 s"), (60, "1 min 0 s"), (7321, "2 h 2 min")])
def test_a_duration_in_words(seconds, told):
    assert duration(seconds) == told
