"""python -m benchmarks --profile: what is found out about a table without a policy, as ratios and times.

    python -m benchmarks --profile --rows 1000000 --peers .venv-peers/bin/python

Every case is a process of its own (benchmarks/profile_cases.py).  The plain GROUP BY of eight columns is measured in
the same run.  Without --peers pyCANON is left out; it is stopped after five minutes: its figure is then at least that.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import profile_data
from benchmarks.publish import LONGEST, Figures, Measured, Row, print_table, run_process

WIDE_ROWS = 100_000
_PER_COLUMN, _COLUMNS = 10, 20
ROWS = (
    Row("profile", "group_by_of_twenty", _PER_COLUMN * _COLUMNS, 1),
    Row("riskiest_sets", None, seconds=30),
    Row("every_measure", "group_by", 4),
)
PEER_ROW = Row("every_measure", "pycanon", 0.01)
DRAFT_ROW = Row("draft", None, seconds=20)


def run(rows: int, repeat: int, peers: str | None, results: Path) -> None:
    """Measures every case and prints the table; the figures go to a JSON file, too."""
    with tempfile.TemporaryDirectory(prefix="ppdm_bench_") as place:
        database, wide = Path(place) / "patients.duckdb", Path(place) / "wide.duckdb"
        print(f"making {rows:,} rows x {_COLUMNS} columns", flush=True)
        _make("patients", database, rows)
        found = list(_table(rows, database, repeat, peers))
        print(f"making {WIDE_ROWS:,} rows x {profile_data.WIDE} columns", flush=True)
        _make("wide", wide, WIDE_ROWS)
        found.append(Measured(WIDE_ROWS, DRAFT_ROW, _least(DRAFT_ROW.case, wide, repeat)))
    print_table(found, results)


def _make(table: str, database: Path, rows: int) -> None:
    subprocess.run([sys.executable, "-m", "benchmarks.profile_data", table, str(database), str(rows)], check=True)


def _table(rows: int, database: Path, repeat: int, peers: str | None) -> Iterator[Measured]:
    for row in ROWS:
        floor = None if row.floor is None else _least(row.floor, database, repeat)
        figures = _least(row.case, database, repeat)
        yield Measured(rows, row, figures, floor)
        if peers is not None and row.case == PEER_ROW.case:
            yield Measured(rows, PEER_ROW, figures, _peer(database, peers))


def _least(case: str, database: Path, repeat: int, python: str = sys.executable) -> Figures:
    """The fastest run of a case."""
    print(f"  {case}", flush=True)
    command = [python, "-m", "benchmarks.profile_cases", case, str(database)]
    return min((run_process(command) for _ in range(repeat)), key=lambda one: one["seconds"])


def _peer(database: Path, python: str) -> Figures:
    """Once, for it takes minutes; a peer that was stopped took at least as long as it had, with the start of Python."""
    before = _spent_by_cases()
    found = _least(str(PEER_ROW.floor), database, 1, python)
    return {**found, "seconds": min(found["seconds"], LONGEST), "cpu": min(found["cpu"], _spent_by_cases() - before)}


def _spent_by_cases() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime
