"""kill -9 between any two renames of an export: the next one knows the files as its own and completes them."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import duckdb
import pytest

from ppdm_sql.errors import PolicyError
from ppdm_sql.release.export import write as export
from ppdm_sql.release.reverify import reverify_file
from ppdm_sql.session import connect

pytestmark = [pytest.mark.duckdb, pytest.mark.wide]

PEOPLE = """CREATE TABLE t AS SELECT range AS id, range % 5 AS age,
    CASE WHEN range % 5 < 2 THEN 'a' ELSE 'b' END AS class FROM range(200)"""
RULES = "WITH ANONYMIZATION (ALGORITHM {} REQUIRE k = 10 IDENTIFIER (id) QUASI IDENTIFIER (age) {} SUPERSEDES ALL)"
STATEMENTS = {
    "o.csv": "CREATE OR REPLACE TABLE o AS SELECT id, age, class FROM t "
    + RULES.format("mondrian", "SENSITIVE (class)"),
    "o.json": "CREATE OR REPLACE MODEL o AS SELECT id, age, class FROM t "
    + RULES.format("kadet", "SENSITIVE (class) TARGET (class)"),
}
RENAMES = {"o.csv": 6, "o.json": 6}  # one for each file, and one for what stands in for the manifest before
CASES = [(file, at, again) for file, most in RENAMES.items() for at in range(most + 1) for again in (False, True)]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory) -> Path:
    """A folder with a database for each file, before and after a first export of an earlier generation."""
    folder = tmp_path_factory.mktemp("prepared")
    for file, statement in STATEMENTS.items():
        for name in (f"new_{file}", f"again_{file}"):
            out = folder / name
            out.mkdir()
            with duckdb.connect(str(folder / f"{name}.duckdb")) as con:
                con.execute(PEOPLE)
            with connect(folder / f"{name}.duckdb", out=out) as session:
                session.publish(statement)
                if name.startswith("again"):
                    session.export("o", file)
                    session.publish(statement)
    return folder


def lay_out(prepared: Path, name: str, into: Path) -> tuple[Path, Path]:
    """A copy of a prepared database, and of the folder of its exports."""
    shutil.copy(prepared / f"{name}.duckdb", into / "c.duckdb")
    shutil.copytree(prepared / name, into / "out")
    return into / "c.duckdb", into / "out"


def export_and_die(database: Path, file: str, at: int) -> int:
    """Exports in a child that is killed right before its rename number `at`; gives its exit code."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    done, rename = 0, os.replace

    def killing(source, target):
        nonlocal done
        if done == at:
            os.kill(os.getpid(), signal.SIGKILL)
        done += 1
        rename(source, target)

    try:
        export.os.replace = killing
        with connect(database, out=database.parent / "out") as session:
            session.export("o", file)
        os._exit(0)
    finally:
        os._exit(1)


@pytest.mark.parametrize(("file", "at", "again"), CASES)
def test_the_next_export_replaces_what_a_killed_one_left(prepared, file, at, again, tmp_path):
    database, out = lay_out(prepared, f"{'again' if again else 'new'}_{file}", tmp_path)
    assert export_and_die(database, file, at) == (-signal.SIGKILL if at < RENAMES[file] else 0)
    left = {one.name for one in out.iterdir() if not one.name.startswith(".ppdm_tmp-")}
    assert (f"{file}.manifest.json" in left) or not left, "whose the files are is always said"
    if 0 < at < RENAMES[file]:
        with pytest.raises(PolicyError, match="stopped before it was complete; export it again"):
            reverify_file(out / file)
    with connect(database, out=out) as session:
        session.export("o", file)
    assert reverify_file(out / file).holds
    assert len(list(out.iterdir())) == RENAMES[file] - 1, "nothing is left over"


def test_files_of_others_are_kept_after_a_kill(prepared, tmp_path):
    database, out = lay_out(prepared, "new_o.csv", tmp_path)
    assert export_and_die(database, "o.csv", 2) == -signal.SIGKILL
    beside = out / "o.csv.manifest.json"
    content = json.loads(beside.read_text("utf-8"))
    content["release"]["id"] = "of another database"
    beside.write_text(json.dumps(content))
    with connect(database, out=out) as session, pytest.raises(PolicyError, match="will not be overwritten"):
        session.export("o", "o.csv")
