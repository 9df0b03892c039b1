"""What scheduled jobs rely on: figures as JSON and OpenMetrics, and the recipe for cron as docs/nightly.md has it."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from ppdm_sql.commands.metrics import metrics_text
from ppdm_sql.watching import StageClock

ROOT = Path(__file__).resolve().parents[2]
DB = ("--db", "clinic.duckdb")


def samples(path):
    """Every sample of a file of metrics by its name and labels."""
    families = list(text_string_to_metric_families(Path(path).read_text()))
    return {(one.name, *sorted(one.labels.items())): one.value for family in families for one in family.samples}


def test_the_metrics_of_a_run_are_those_of_its_json(ppdm, clinic):
    done = ppdm(*DB, "run", "policy.sql", "-c", "VERIFY people_open", "--json", "--metrics", "ppdm.prom")
    assert done.code == 0
    published, verified = done.json["results"]
    found = samples("ppdm.prom")
    labels = (("release", "people_open"), ("statement", "publish"))
    for name, key in (("rows", "rows"), ("classes", "classes"), ("loss_ratio", "loss"), ("waiting_rows", "waiting")):
        assert found[(f"ppdm_release_{name}", *labels)] == published[key]
    assert found[("ppdm_release_withdrawn_releases", *labels)] == len(published["withdrawn"])
    assert found[("ppdm_release_warnings", *labels)] == len(published["warnings"])
    assert found[("ppdm_release_info", labels[0], ("run_id", published["run_id"]), labels[1])] == 1
    assert found[("ppdm_release_holds", labels[0], ("statement", "verify"))] == verified["holds"] == 1
    assert found[("ppdm_run_exit_status",)] == 0
    assert {"reading the source", "partitioning", "verifying"} <= set(published["stages"])
    assert sum(published["stages"].values()) <= found[("ppdm_run_duration_seconds",)]
    stage = (labels[0], ("stage", "verifying"), labels[1])
    assert found[("ppdm_release_stage_seconds", *stage)] == published["stages"]["verifying"]
    with duckdb.connect("clinic.duckdb") as con:
        ((run_id,),) = con.execute("SELECT run_id FROM ppdm.run").fetchall()
    assert run_id == published["run_id"]


def test_a_run_that_fails_writes_its_metrics_and_keeps_the_mode_of_the_file(ppdm, clinic):
    for text, code in (
        ("VERIFY people_opn", 2),
        ("DELETE FROM ppdm.release", 2),
        ("SELECT 1/0; SELECT CAST('x' AS INT)", 3),
    ):
        done = ppdm(*DB, "run", "-c", text, "--metrics", "ppdm.prom")
        assert (done.code, samples("ppdm.prom")[("ppdm_run_exit_status",)]) == (code, code), done.err
    assert stat.S_IMODE(os.stat("ppdm.prom").st_mode) == 0o600
    os.chmod("ppdm.prom", 0o644)
    strict = (clinic / "policy.sql").read_text().replace("k = 5", "k = 100000")
    (clinic / "policy.sql").write_text(strict)
    done = ppdm(*DB, "run", "policy.sql", "--metrics", "ppdm.prom", "--json")
    assert done.code == samples("ppdm.prom")[("ppdm_run_exit_status",)] == 1
    assert stat.S_IMODE(os.stat("ppdm.prom").st_mode) == 0o644
    with duckdb.connect("clinic.duckdb") as con:
        assert con.execute("SELECT run_id FROM ppdm.run").fetchall() == [(done.json["run_id"],)]
    assert [name for name in os.listdir() if ".prom" in name] == ["ppdm.prom"]
    missing = ppdm(*DB, "run", "policy.sql", "--metrics", "nowhere/ppdm.prom")
    assert (missing.code, "nowhere" in missing.err) == (2, True)


@pytest.mark.parametrize("name", ['a"b', "back\\slash", "two\nlines", "‮evil", "{x}", ""])
def test_names_of_releases_are_only_labels(name):
    rows = {"statement": "publish", "release": name, "rows": 3, "warnings": ["w"], "stages": {"s": 0.5}, "run_id": "r"}
    text = metrics_text([rows, rows | {"rows": 4}], 0, 1.0, 2.0)
    found = [one for family in text_string_to_metric_families(text) for one in family.samples]
    assert [one.value for one in found if one.name == "ppdm_release_rows"] == [4]
    assert {one.labels["release"] for one in found if "release" in one.labels} == {name}


def test_a_stage_ends_where_the_next_begins(monkeypatch):
    now = iter([0.0, 1.0, 3.0, 6.0, 10.0, 100.0, 107.0]).__next__
    monkeypatch.setattr("time.monotonic", now)
    clock = StageClock()
    for step in ("counting", "counting", "verifying", "counting", "done"):
        clock(step, 0, None)
    assert clock.take() == {"reading the source": 1.0, "counting": 6.0, "verifying": 3.0}
    assert clock.take() == {"reading the source": 7.0}


def test_the_recipe_for_cron_runs_in_a_bare_environment(tmp_path):
    text = (ROOT / "docs" / "nightly.md").read_text()
    (line,) = re.search(r"^```cron\n(.*?)^```", text, re.M | re.S)[1].splitlines()
    (policy,) = re.findall(r"^```sql\n(.*?)^```", text, re.M | re.S)
    minute, command = re.fullmatch(r"((?:[\d*]+ ){4}[\d*]+)\s+(.*)", line).groups()
    assert minute == "15 2 * * *"
    assert "%" not in command, "cron takes it for the end of the line"
    for folder in ("clinic", "in", "bin"):
        (tmp_path / folder).mkdir()
    for old, new in (("/srv/clinic", "clinic"), ("/srv/in", "in"), ("/opt/ppdm/bin", "bin")):
        command, policy = command.replace(old, str(tmp_path / new)), policy.replace(old, str(tmp_path / new))
    script = tmp_path / "bin" / "ppdm"
    script.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m ppdm_sql "$@"\n')
    script.chmod(0o755)
    (tmp_path / "clinic" / "nightly.sql").write_text(policy)
    duckdb.connect(str(tmp_path / "clinic" / "clinic.duckdb")).close()
    with duckdb.connect(str(tmp_path / "in" / "raw.duckdb")) as raw:
        raw.execute("""CREATE TABLE patients AS SELECT range AS patient_id, 20 + range * 7 % 60 AS age,
            ['f', 'm'][1 + range % 2] AS sex, 10000 + range * 13 % 50 AS zip,
            ['flu', 'cold', 'cough'][1 + range * 31 % 3] AS diagnosis FROM range(600)""")
    for night in (1, 2):
        done = subprocess.run(
            ["/bin/sh", "-c", command], env={"SHELL": "/bin/sh"}, cwd="/", capture_output=True, text=True
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), (
            tmp_path / "clinic" / "nightly.err"
        ).read_text()
        found = samples(tmp_path / "clinic" / "ppdm.prom")
        assert found[("ppdm_release_rows", ("release", "patients_open"), ("statement", "publish"))] == 600, night
    left = {path.name for path in (tmp_path / "clinic").iterdir()}
    assert {"patients_open.parquet", "nightly.json", "ppdm.prom"} <= left
    assert (tmp_path / "clinic" / "nightly.err").read_text() == ""
    assert not any("ppdm_tmp" in name for name in left)


READER = """
import duckdb, sys
connection = duckdb.connect("clinic.duckdb", read_only=True)
print("reads", flush=True)
sys.stdin.readline()
connection.close()
print("closed", flush=True)
sys.stdin.readline()
"""


def test_a_reader_is_waited_for_and_named_and_an_exported_file_needs_no_waiting(ppdm, clinic):
    assert ppdm(*DB, "run", "policy.sql", "-c", "EXPORT people_open TO 'open.duckdb'").code == 0
    reading = subprocess.Popen(
        [sys.executable, "-c", READER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=clinic
    )
    try:
        assert reading.stdout.readline() == "reads\n"
        done = ppdm(*DB, "--lock-timeout", "0.2", "run", "policy.sql", "--metrics", "ppdm.prom")
        assert done.code == 3
        assert re.search(rf"clinic.duckdb is locked by process {reading.pid}\b.*Nothing was changed", done.err)
        assert samples("ppdm.prom")[("ppdm_run_exit_status",)] == 3
        reading.stdin.write("\n")
        reading.stdin.flush()
        assert reading.stdout.readline() == "closed\n"
        with duckdb.connect("open.duckdb", read_only=True) as held:  # last night's file goes on being readable
            assert ppdm(*DB, "run", "policy.sql", "-c", "EXPORT people_open TO 'open.duckdb'").code == 0
            assert held.execute("SELECT count(*) > 0 FROM people_open").fetchall() == [(True,)]
    finally:
        reading.kill()
        reading.communicate()


FILE_READER = """
import duckdb, sys
connection = duckdb.connect("open.duckdb", read_only=True)
for line in sys.stdin:
    if line == "close and open\\n":
        connection.close()
    if line != "go on\\n":
        connection = duckdb.connect("open.duckdb", read_only=True)
    (rows,) = connection.execute("SELECT COUNT(*) FROM people_open").fetchone()
    print(rows, flush=True)
"""
GROWING = """CREATE TABLE people_open GROWING AS SELECT id, age, illness FROM people WITH ANONYMIZATION (ALGORITHM mondrian
REQUIRE k = 2 QUASI IDENTIFIER (age) SENSITIVE (illness) KEY (id))"""


def test_a_process_that_reads_the_exported_file_is_not_disturbed_by_the_job(ppdm, clinic):
    """It goes on with last night's rows, and the next process that opens the file has tonight's."""
    export = "EXPORT people_open TO 'open.duckdb'"
    people = (
        "CREATE TABLE people AS SELECT range AS id, range % 50 AS age, 'ill ' || range % 3 AS illness FROM range(100)"
    )
    done = ppdm("--db", "grows.duckdb", "--create", "run", "-c", people, "-c", GROWING, "-c", export)
    assert done.code == 0, done.err
    reading = subprocess.Popen(
        [sys.executable, "-c", FILE_READER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=clinic
    )

    def rows(word: str) -> int:
        reading.stdin.write(f"{word}\n")
        reading.stdin.flush()
        return int(reading.stdout.readline())

    try:
        assert rows("go on") == 100
        more = "INSERT INTO people SELECT range + 100, range % 50, 'illness 1' FROM range(20)"
        done = ppdm("--db", "grows.duckdb", "run", "-c", more, "-c", "REFRESH people_open", "-c", export)
        assert done.code == 0, done.err
        # A second connection of a process that has the file open still: DuckDB takes the one that is open.
        assert (rows("go on"), rows("open"), rows("close and open")) == (100, 100, 120)
    finally:
        reading.kill()
        reading.communicate()
