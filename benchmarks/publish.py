"""python -m benchmarks --publish: what a publication costs, from the statement to the verified release, as ratios.

    python -m benchmarks --publish --rows 1000000 10000000 --data FOLDER

Every case is a process of its own, with a copy of the table of its own (benchmarks/publish_cases.py).  The floors are
measured in the same run: a shuffled copy of the published columns, and the plain GROUP BY where there are nearly as
many combinations as rows.  --data names the folder of the public tables, for the grid on Adult; without it the grid is
left out.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import data, publish_data

LONGEST = 300  # seconds a case may take
SMALL = 1_000_000
_MODULE = "benchmarks.publish_cases"
Figures = dict[str, float]


@dataclass(frozen=True)
class Row:
    """A line of the table: a case, the case that it is a ratio to, and what both must reach."""

    case: str
    floor: str | None
    most: float | None = None  # times the floor
    most_gb: float | None = None
    seconds: float | None = None  # at most, where there is no floor


ADULT_ROWS = (
    Row("mondrian", "shuffled_copy", 6, 0.6),
    Row("kactus2", "shuffled_copy", 6, 0.6),
    Row("tpp", "shuffled_copy", 6, 0.6),
    Row("dmpd", "shuffled_nine", 3, 1.5),
    Row("mondrian_persons", "mondrian", 1.6),
)
CENSUS_ROWS = (Row("mondrian_census", "group_by", 20, 0.8),)
GRID_ROW = Row("grid", None, seconds=15)
# Ten times the rows: at most so many times as long as the first number of rows, in so much memory.
LARGER = {"mondrian": 1.0, "kactus2": 1.5, "tpp": 1.5, "mondrian_persons": 1.5, "mondrian_census": 1.5}
TEN_TIMES = 11


@dataclass(frozen=True)
class Measured:
    rows: int
    row: Row
    figures: Figures
    floor: Figures | None = None

    def line(self, first: Figures | None) -> str:
        """One line of the table; first: the same case with the first number of rows, where this is a later one."""
        found, row = self.figures, self.row
        floor = self.floor if first is None else first
        of, most = (row.floor, row.most) if first is None else ("fewer rows", float(TEN_TIMES))
        gb = row.most_gb if first is None else LARGER.get(row.case)
        if floor is None:
            ratio, goal, met = "", f"{row.seconds:g} s" if row.seconds else "", found["seconds"] <= (row.seconds or 1e9)
        else:
            times = found["seconds"] / floor["seconds"]
            spent = found["cpu"] / floor["cpu"]
            ratio = f"{times:6.3g} x {of} ({spent:.3g} in processor time)"
            goal, met = ("", True) if most is None else (f"{most:g} x", times <= most)
        if gb is not None:
            goal, met = f"{goal}, {gb:g} GB", met and found["peak_mb"] / 1024 <= gb
        verdict = "" if not goal else "met" if met else "missed"
        statements = f"{found['statements']:.0f}" if "statements" in found else ""
        return (
            f"{self.rows:>11,} {row.case:<22}{found['seconds']:>8.2f} s {found['cpu']:>8.2f} s "
            f"{found['peak_mb'] / 1024:>6.2f} GB {statements:>4}  {ratio:<52} {goal:<16} {verdict}"
        )


def run(rows: Sequence[int], repeat: int, folder: str | None, results: Path) -> None:
    """Measures every case and prints the table; the figures go to a JSON file, too."""
    found: list[Measured] = []
    with tempfile.TemporaryDirectory(prefix="ppdm_bench_") as place:
        for number in rows:
            times = repeat if number <= SMALL else 1
            for rows_of, table, make in (
                (ADULT_ROWS, "adult", publish_data.make), (CENSUS_ROWS, "census", data.make)
            ):  # fmt: skip
                database = Path(place) / f"{table}.duckdb"
                print(f"making {table} with {number:,} rows", flush=True)
                make(database, number)
                found += _table(rows_of, number, database, times)
                database.unlink()
        if folder is not None:
            found.append(Measured(30_162, GRID_ROW, _least(GRID_ROW.case, folder, 1)))
    print_table(found, results)


def _table(rows: Sequence[Row], number: int, database: Path, repeat: int) -> Iterator[Measured]:
    """The cases of one table; a floor is measured once."""
    known: dict[str, Figures] = {}
    for row in rows:
        for case in (row.floor, row.case):
            if case is not None and case not in known:
                known[case] = _least(case, str(database), repeat, copied=True)
        yield Measured(number, row, known[row.case], known.get(row.floor or ""))


def _least(case: str, place: str, repeat: int, *, copied: bool = False) -> Figures:
    """The fastest run of a case."""
    print(f"  {case}", flush=True)
    return min((_once(case, place, copied) for _ in range(repeat)), key=lambda one: one["seconds"])


def _once(case: str, place: str, copied: bool) -> Figures:
    if not copied:
        return run_process([sys.executable, "-m", _MODULE, case, place])
    with tempfile.TemporaryDirectory(prefix="case_", dir=Path(place).parent) as folder:
        own = shutil.copy(place, folder)
        return run_process([sys.executable, "-m", _MODULE, case, own])


def run_process(arguments: list[str]) -> Figures:
    failed = {"seconds": float("inf"), "cpu": float("inf"), "peak_mb": float("inf")}
    try:
        done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        print(f"    stopped after {LONGEST} s")
        return failed
    if done.returncode:
        print(done.stderr[-2000:])
        return failed
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def _record(one: Measured) -> dict[str, object]:
    return {"rows": one.rows, "case": one.row.case, **one.figures, "floor": one.row.floor, "of floor": one.floor}


def print_table(found: Sequence[Measured], results: Path) -> None:
    results.write_text(json.dumps([_record(one) for one in found], indent=2) + "\n")
    print(f"\n{'rows':>11} {'case':<22}{'time':>10} {'processor':>10} {'memory':>9} statements, ratio, goal")
    first: dict[str, Measured] = {}
    for one in found:
        before = first.setdefault(one.row.case, one)
        larger = before is not one and before.rows * 10 == one.rows
        print(one.line(before.figures if larger and one.row.case in LARGER else None))
        if before is one and one.floor is not None and one.row.floor not in first:
            floor = one.floor
            print(f"{'':>12}{one.row.floor:<22}{floor['seconds']:>8.2f} s {floor['cpu']:>8.2f} s "
                  f"{floor['peak_mb'] / 1024:>6.2f} GB")  # fmt: skip
            first[str(one.row.floor)] = one
