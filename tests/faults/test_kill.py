"""kill -9 at any moment of a publication: the old release or the new one, never a mixture, nothing left over.

Every child first judges what the one before it left behind, then publishes until it is killed.  The parent
never opens the database: it only forks, waits a random while, and kills.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path

import pytest

KILLS = [pytest.param(15, marks=pytest.mark.wide), pytest.param(40, marks=pytest.mark.nightly)]
POLICY = """
CREATE OR REPLACE TABLE people_open AS
SELECT id, age, zip, illness, {batch} AS batch FROM people
WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 5 IDENTIFIER (id) QUASI IDENTIFIER (age, zip)
    SENSITIVE (illness) INSENSITIVE (batch) SUPERSEDES ALL)
"""
PEOPLE = """
CREATE TABLE people AS SELECT range AS id, (range * 7919) % 60 AS age, '1000' || (range * 31) % 9 AS zip,
    'illness ' || range % 5 AS illness FROM range(3000)
"""


def publish(database: Path, batch: int) -> None:
    from ppdm_sql.session import connect

    with connect(str(database), create=True) as session:
        session.publish(POLICY.format(batch=batch))


def judge(database: Path) -> dict[str, object]:
    """What a reader finds: one batch, a release that verifies, and no relation that nobody declared."""
    from sqlglot import exp

    from ppdm_sql.session import connect
    from ppdm_sql.statements.names import Name

    with connect(str(database)) as session:
        query = exp.select("*").from_(Name("people_open").table())
        rows = session.engine.fetch(query)
        return {
            "batches": sorted({row[3] for row in rows}),
            "rows": len(rows),
            "holds": session.verify("people_open").holds,
            "relations": sorted(session.engine.relations("main")),
            "links": len([name for name in session.engine.relations("ppdm") if name.startswith("ppdm_link_")]),
        }


def in_child(work, report: Path | None = None) -> int:
    """Forks a child that does the work and ends; what it returns is written to report."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.setpgrp()
        found = work()
        if report is not None:
            report.write_text(json.dumps(found))
        code = 0
    finally:
        os._exit(code)


def finished(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def setup(database: Path) -> None:
    from ppdm_sql.session import connect

    with connect(str(database), create=True) as session:
        session.execute(PEOPLE)


@pytest.mark.parametrize("kills", KILLS)
def test_kills_spread_over_a_publication(tmp_path, kills):
    database, report = tmp_path / "clinic.duckdb", tmp_path / "report.json"
    assert finished(in_child(lambda: setup(database))) == 0
    started = time.monotonic()
    assert finished(in_child(lambda: publish(database, 0))) == 0
    length = time.monotonic() - started
    draw = random.Random(5)
    last, killed = 0, 0
    for batch in range(1, kills + 1):
        pid = in_child(lambda batch=batch: publish(database, batch))
        time.sleep(draw.uniform(0.02, 1.1) * length)
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            os.kill(pid, signal.SIGKILL)
        in_time = finished(pid) != 0
        killed += in_time
        if not in_time:  # the first one made the catalog, too, and the machine may be less busy now
            length *= 0.9
        assert finished(in_child(lambda: judge(database), report)) == 0, "the database cannot be read after a kill"
        found = json.loads(report.read_text())
        assert found["batches"] in ([last], [batch]), found
        assert (found["rows"], found["holds"], found["links"]) == (3000, True, 1), found
        assert found["relations"] == ["people", "people_open"], found
        last = found["batches"][0]
    assert killed >= kills // 2, "most kills came too late to mean anything"
    left = {path.name for path in tmp_path.iterdir()} - {"clinic.duckdb", "clinic.duckdb.wal", "report.json"}
    assert not left


@pytest.mark.wide
def test_kills_during_an_export_leave_no_half_file(tmp_path):
    database = tmp_path / "clinic.duckdb"
    out = tmp_path / "out"
    out.mkdir()
    assert finished(in_child(lambda: setup(database))) == 0
    assert finished(in_child(lambda: publish(database, 0))) == 0

    def hand_over() -> None:
        from ppdm_sql.session import connect

        with connect(str(database), out=out) as session:
            session.export("people_open", "open.parquet")

    def check() -> list[object]:
        from ppdm_sql.release.reverify import reverify_file

        found = reverify_file(out / "open.parquet")
        return [found.holds, found.rows]

    started = time.monotonic()
    assert finished(in_child(hand_over)) == 0
    length = time.monotonic() - started
    draw, report = random.Random(6), tmp_path / "report.json"
    for _ in range(10):
        pid = in_child(hand_over)
        time.sleep(draw.uniform(0.1, 1.0) * length)
        os.kill(pid, signal.SIGKILL)
        finished(pid)
        if (out / "open.parquet.manifest.json").exists():
            assert finished(in_child(check, report)) == 0
            assert json.loads(report.read_text()) == [True, 3000]
    assert finished(in_child(hand_over)) == 0
    assert {path.name for path in out.iterdir()} == {
        "open.parquet",
        "open.parquet.manifest.json",
        "open.parquet.certificate.sql",
        "open.parquet.recode.sql",
        "open.parquet.recode_postgres.sql",
    }
