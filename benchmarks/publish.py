"""python -m benchmarks --publish: what a publication costs, from the statement to the verified release, as ratios.

    python -m benchmarks --publish --rows 1000000 10000000 --data FOLDER
    python -m benchmarks --publish --rows 10000000 --case mondrian tpp --memory-limit 1GB

Every line is printed when it was measured.  Every case is a process of its own, with a copy of the table of its own
(benchmarks/publish_cases.py).  The floors are measured in the same run: a shuffled copy of the published columns, and
the plain GROUP BY where there are nearly as many combinations as rows.  --data names the folder of the public tables,
for the grid on Adult; without it the grid is left out.
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

LONGEST = 900  # seconds a case may take
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
CASES = [row.case for row in (*ADULT_ROWS, *CENSUS_ROWS, GRID_ROW)]
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


@dataclass(frozen=True)
class Chosen:
    """What is measured: numbers of rows, runs of a case, the cases by name (all where none is named)."""

    rows: Sequence[int]
    repeat: int
    cases: Sequence[str] = ()
    folder: str | None = None  # of the public tables
    memory_limit: str | None = None

    def of(self, rows: Sequence[Row]) -> list[Row]:
        return [one for one in rows if not self.cases or one.case in self.cases]


def run(chosen: Chosen, results: Path) -> None:
    """Measures the cases and prints every line when it is known; the figures go to a JSON file, too."""
    found: list[Measured] = []
    _print_head()
    with tempfile.TemporaryDirectory(prefix="ppdm_bench_") as place:
        for number in chosen.rows:
            for rows_of, table, make in (
                (ADULT_ROWS, "adult", publish_data.make), (CENSUS_ROWS, "census", data.make)
            ):  # fmt: skip
                if chosen.of(rows_of):
                    database = Path(place) / f"{table}.duckdb"
                    make(database, number)
                    for one in _table(chosen.of(rows_of), number, database, chosen):
                        _print(one, found)
                        found.append(one)
                    database.unlink()
    if chosen.folder is not None and chosen.of([GRID_ROW]):
        grid = Measured(30_162, GRID_ROW, _process_of(GRID_ROW.case, chosen.folder, None))
        _print(grid, found)
        found.append(grid)
    _write(found, results)


def _table(rows: Sequence[Row], number: int, database: Path, chosen: Chosen) -> Iterator[Measured]:
    """The cases of one table; a floor is measured once."""
    known: dict[str, Figures] = {}
    repeat = chosen.repeat if number <= SMALL else 1
    for row in rows:
        for case in (row.floor, row.case):
            if case is not None and case not in known:
                known[case] = _least(case, database, repeat, chosen.memory_limit)
        yield Measured(number, row, known[row.case], known.get(row.floor or ""))


def _least(case: str, database: Path, repeat: int, memory_limit: str | None) -> Figures:
    """The fastest run of a case, each on a copy of its own."""
    found = []
    for _ in range(repeat):
        with tempfile.TemporaryDirectory(prefix="case_", dir=database.parent) as folder:
            found.append(_process_of(case, shutil.copy(database, folder), memory_limit))
    return min(found, key=lambda one: one["seconds"])


def _process_of(case: str, place: str, memory_limit: str | None) -> Figures:
    limit = [] if memory_limit is None or case == GRID_ROW.case else [memory_limit]
    return run_process([sys.executable, "-m", _MODULE, case, place, *limit])


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


def _write(found: Sequence[Measured], results: Path) -> None:
    results.write_text(json.dumps([_record(one) for one in found], indent=2) + "\n")


def print_table(found: Sequence[Measured], results: Path) -> None:
    _write(found, results)
    _print_head()
    for place, one in enumerate(found):
        _print(one, found[:place])


def _print_head() -> None:
    print(f"{'rows':>11} {'case':<22}{'time':>10} {'processor':>10} {'memory':>9} statements, ratio, goal", flush=True)


def _print(one: Measured, before: Sequence[Measured]) -> None:
    """A line, behind that of its floor; a case with ten times the rows of its first one is compared with that."""
    floor, row = one.floor, one.row
    if floor is not None and not any(row.floor in (each.row.floor, each.row.case) for each in before):
        print(f"{one.rows:>11,} {row.floor:<22}{floor['seconds']:>8.2f} s {floor['cpu']:>8.2f} s "
              f"{floor['peak_mb'] / 1024:>6.2f} GB", flush=True)  # fmt: skip
    first = next((each for each in before if each.row.case == row.case), None)
    larger = first is not None and first.rows * 10 == one.rows and row.case in LARGER
    print(one.line(first.figures if first is not None and larger else None), flush=True)
