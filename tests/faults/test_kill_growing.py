"""kill -9 in the middle of a night: last night's state or tonight's, never a mixture."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path

import pytest
from test_kill import finished, in_child

KILLS = [pytest.param(15, marks=pytest.mark.wide), pytest.param(40, marks=pytest.mark.nightly)]
PEOPLE = """
CREATE TABLE people AS SELECT range AS id, (range * 7919) % 60 AS age, '1000' || (range * 31) % 9 AS zip,
    'illness ' || range % 5 AS illness FROM range(1500)
"""
POLICY = """
CREATE TABLE people_open GROWING AS SELECT id, age, zip, illness FROM people
WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 5 QUASI IDENTIFIER (age, zip) SENSITIVE (illness) KEY (id))
"""


def start(database: Path) -> None:
    from ppdm_sql.session import connect

    with connect(str(database), create=True) as session:
        session.execute(PEOPLE)
        session.publish(POLICY)


def arrive(database: Path) -> None:
    from ppdm_sql.session import connect

    with connect(str(database)) as session:
        session.execute(
            "INSERT INTO people SELECT range + (SELECT MAX(id) + 1 FROM people), range % 60, '10001', 'illness 1' "
            "FROM range(20)"
        )


def refresh(database: Path) -> None:
    from ppdm_sql.session import connect

    with connect(str(database)) as session:
        session.run("REFRESH people_open")


def judge(database: Path) -> dict[str, object]:
    """What a reader finds, and whether release, ledger and catalog tell the same."""
    from ppdm_sql.session import connect

    with connect(str(database)) as session:
        release = session.release("people_open")
        shown = len(session.engine.fetch(release.query))
        private = [name for name in session.engine.relations("ppdm") if name.startswith("ppdm_")]
        kinds = sorted({name.rpartition("_")[0] for name in private})
        return {
            "rows": [shown, release.rows, session.verify("people_open").rows],
            "night": release.record.manifest.growing.night,
            "holds": session.verify("people_open").holds,
            "private": [len(private), kinds],
        }


@pytest.mark.parametrize("kills", KILLS)
def test_kills_spread_over_a_night(tmp_path, kills):
    database, report = tmp_path / "clinic.duckdb", tmp_path / "report.json"
    assert finished(in_child(lambda: start(database))) == 0
    started = time.monotonic()
    assert finished(in_child(lambda: refresh(database))) == 0
    length = time.monotonic() - started
    draw, killed, arrived = random.Random(5), 0, 0
    for _ in range(kills):
        assert finished(in_child(lambda: arrive(database))) == 0
        arrived += 20
        pid = in_child(lambda: refresh(database))
        time.sleep(draw.uniform(0.02, 1.1) * length)
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            os.kill(pid, signal.SIGKILL)
        in_time = finished(pid) != 0
        killed += in_time
        if not in_time:
            length *= 0.9
        assert finished(in_child(lambda: judge(database), report)) == 0, "the database cannot be read after a kill"
        found = json.loads(report.read_text())
        assert len(set(found["rows"])) == 1, found
        assert found["rows"][0] <= 1500 + arrived, found
        assert found["holds"], found
        assert found["private"] == [3, ["ppdm_link", "ppdm_release", "ppdm_waiting"]], found
    assert killed >= kills // 2, "most kills came too late to mean anything"
    assert finished(in_child(lambda: refresh(database))) == 0  # and the next night goes on where it was
    assert finished(in_child(lambda: judge(database), report)) == 0
    assert json.loads(report.read_text())["rows"] == [1500 + arrived] * 3
