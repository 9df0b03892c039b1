"""Full-domain recoding from the statement to the verified release, compared with a shuffled copy of the same table.

    python -m benchmarks.full_domain --data FOLDER --hierarchies FOLDER --rows 1000000 --method incognito tds tdr

The table is made of the complete training rows of Adult, drawn again and again; with --noise the age of every row is
moved by up to so many years, which makes more combinations.  The bars at a million rows, 8 quasi-identifiers, k = 10
and 5 % of rows that may be left out: the search below a second, the publication at most 6 times the shuffled copy,
below 0.8 GB.  Processor time is that of both, search time the clock's.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import duckdb

import ppdm_sql
from ppdm_sql.methods.lattice.search import LatticeSearch

QUASI = ("sex", "age", "race", "marital_status", "education", "native_country", "workclass", "occupation")


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="ppdm_bench_") as folder:
        database = Path(folder) / "adult.duckdb"
        copied = _make(database, options)
        print(f"{options.rows:,} rows; shuffled copy {copied}")
        for method in options.method:
            taken, searched, told = _publish(database, method, options)
            print(f"{method}: {taken}, {taken.ratio(copied)}, search {searched:.2f} s; {told}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory {peak:.2f} GB")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.full_domain", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--noise", type=int, default=0)
    parser.add_argument("--data", type=Path, required=True, help="a folder with adult_train.csv")
    parser.add_argument("--hierarchies", type=Path, required=True, help="a folder with sex.csv, age.csv, ...")
    parser.add_argument("--method", nargs="+", default=["incognito"])
    return parser.parse_args()


@dataclass(frozen=True)
class Taken:
    """Seconds by the clock and of the processor."""

    seconds: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.seconds:.2f} s ({self.cpu:.2f} s of the processor)"

    def ratio(self, floor: Taken) -> str:
        return f"{self.seconds / floor.seconds:.1f} times the copy ({self.cpu / floor.cpu:.1f} in processor time)"


class Clock:
    def __init__(self) -> None:
        self._started, self._cpu = time.perf_counter(), time.process_time()

    def taken(self) -> Taken:
        return Taken(time.perf_counter() - self._started, time.process_time() - self._cpu)


def _make(database: Path, options: argparse.Namespace) -> Taken:
    """The table, and how long a shuffled copy of it takes."""
    source = options.data / "adult_train.csv"
    complete = " AND ".join(f"{name} IS NOT NULL" for name in QUASI)
    with duckdb.connect(str(database)) as con:
        con.execute(
            f"CREATE TABLE complete AS SELECT row_number() OVER () - 1 AS place, * FROM read_csv(?) WHERE {complete}",
            [str(source)],
        )
        con.execute(
            "CREATE TABLE adult AS SELECT c.* EXCLUDE (place) REPLACE (least(greatest(age + "
            "(random() * 2 * ? - ?)::INTEGER, 17), 90) AS age) FROM (SELECT (hash(number) % (SELECT count(*) FROM "
            "complete))::BIGINT AS place FROM range(?) AS r (number)) AS n JOIN complete AS c USING (place)",
            [options.noise, options.noise, options.rows],
        )
        con.execute("DROP TABLE complete")
        clock = Clock()
        con.execute("CREATE TABLE copied AS SELECT * FROM adult ORDER BY hash(age, education, occupation, fnlwgt)")
        taken = clock.taken()
        con.execute("DROP TABLE copied")
    return taken


def _publish(database: Path, method: str, options: argparse.Namespace) -> tuple[Taken, float, str]:
    columns = ", ".join(f"{name} HIERARCHY '{options.hierarchies.absolute() / name}.csv'" for name in QUASI)
    more = "SUPPRESS AT MOST 5 %" if method == "incognito" else ""
    text = (
        f"CREATE OR REPLACE TABLE adult_open AS SELECT {', '.join(QUASI)}, income FROM adult WITH ANONYMIZATION ("
        f"ALGORITHM {method} REQUIRE k = 10 {more} QUASI IDENTIFIER ({columns}) TARGET (income) SUPERSEDES ALL)"
    )
    searched = 0.0
    run = LatticeSearch.run

    def timed(search: LatticeSearch) -> None:
        nonlocal searched
        started = time.perf_counter()
        run(search)
        searched += time.perf_counter() - started

    LatticeSearch.run = timed  # type: ignore[method-assign]
    try:
        with ppdm_sql.connect(str(database), allow=(str(options.hierarchies.absolute()),)) as session:
            clock = Clock()
            release = session.publish(text)
            taken = clock.taken()
    finally:
        LatticeSearch.run = run  # type: ignore[method-assign]
    return taken, searched, f"{release.rows:,} rows in {release.classes:,} classes"


if __name__ == "__main__":
    main()
