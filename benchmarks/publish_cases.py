"""Publications from the statement to the verified release, and the floors they are compared with.

One case per process, so that peak memory is the case's own:

    python -m benchmarks.publish_cases NAME DATABASE [MEMORY LIMIT]

A case gets a database file of its own, which has a catalog and in which the same method has published a small table:
modules that load at first use and the making of the catalog are not what is timed.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks import data
from benchmarks import publish_data as adult

Timed = Callable[[], dict[str, float]]


@dataclass(frozen=True)
class Publication:
    """A publication of one of the tables of the benchmarks."""

    method: str
    table: str = "adult"
    quasi: tuple[str, ...] = adult.QUASI
    target: str | None = None
    more: tuple[str, ...] = ()  # further columns
    clauses: str = ""
    few: int = 2000  # rows of the small table

    def statement(self, source: str, name: str) -> str:
        columns = ", ".join([*self.quasi, *([self.target] if self.target else []), *self.more])
        target = f"TARGET ({self.target})" if self.target else ""
        return (
            f"CREATE TABLE {name} AS SELECT {columns} FROM {source} WITH ANONYMIZATION (ALGORITHM {self.method} "
            f"REQUIRE k = 10 QUASI IDENTIFIER ({', '.join(self.quasi)}) {target} {self.clauses} SEED 7)"
        )


_PERSONS = f"ENTITY ({adult.PERSON}) INSENSITIVE ({', '.join(adult.INSENSITIVE)})"
_NINE = (*adult.QUASI, "relationship")
_PARTS = "((sex, native_country), (age, relationship), (race, marital_status, workclass), (education, occupation))"
PUBLICATIONS = {
    "mondrian": Publication("mondrian"),
    "kactus2": Publication("kactus2", target=adult.CLASS),
    "tpp": Publication("tpp", target=adult.CLASS),
    "dmpd": Publication(f"dmpd (parts = {_PARTS})", quasi=_NINE, target=adult.CLASS, few=100_000),
    "mondrian_persons": Publication("mondrian", more=(adult.PERSON, *adult.INSENSITIVE), clauses=_PERSONS),
    "mondrian_census": Publication(
        "mondrian", "census", data.QUASI, more=(data.SENSITIVE,), clauses=f"SENSITIVE ({data.SENSITIVE})"
    ),
}


def publication(name: str, database: str, memory_limit: str | None = None) -> Timed:
    """From the statement to the verified release; also how many statements it took."""
    import ppdm_sql

    one = PUBLICATIONS[name]
    session = ppdm_sql.connect(database, memory_limit=memory_limit)
    session.execute(f"CREATE TABLE few AS SELECT * FROM {one.table} LIMIT {one.few}")
    session.execute(one.statement("few", "few_open"))
    session.execute("DROP RELEASE few_open")

    def publish() -> dict[str, float]:
        sent: list[str] = []
        session.engine.on_statement = sent.append
        record = session.publish(one.statement(one.table, f"{one.table}_open"))
        return {"classes": record.classes or 0, "statements": len(sent)}

    return publish


def shuffled_copy(database: str) -> Timed:
    """The floor of a publication: the published columns of Adult in a random order, in a table of the same file."""
    columns = ", ".join([*adult.QUASI, adult.CLASS])
    return _plain(database, f"CREATE TABLE copied AS SELECT {columns} FROM adult ORDER BY hash(rowid, 7)")


def shuffled_nine(database: str) -> Timed:
    """The floor of a publication of nine columns in several tables."""
    columns = ", ".join([*_NINE, adult.CLASS])
    return _plain(database, f"CREATE TABLE copied AS SELECT {columns} FROM adult ORDER BY hash(rowid, 7)")


def group_by(database: str) -> Timed:
    """The floor where there are nearly as many combinations as rows."""
    grouped = f"SELECT count(*) AS n FROM census GROUP BY {', '.join(data.QUASI)}"
    return _plain(database, f"SELECT count(*), min(n) FROM ({grouped})")


def _plain(database: str, statement: str) -> Timed:
    import duckdb

    con = duckdb.connect(database)
    con.execute("SET enable_progress_bar = false")

    def run() -> dict[str, float]:
        con.execute(statement).fetchall()
        return {}

    return run


def grid(folder: str) -> Timed:
    """Three methods and six k on Adult, each point published on working tables, verified and scored."""
    from pathlib import Path

    import duckdb

    import ppdm_sql

    con = duckdb.connect()
    con.execute("CREATE TABLE adult AS SELECT * FROM read_csv(?)", [str(Path(folder) / "adult_train.csv")])
    known = ", ".join(f"{name} IS NOT NULL" for name in adult.QUASI).replace(", ", " AND ")
    session = ppdm_sql.connect(con)
    text = (
        f"CREATE TABLE adult_open AS SELECT {', '.join(adult.QUASI)}, income FROM adult WHERE {known} "
        f"WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 10 QUASI IDENTIFIER ({', '.join(adult.QUASI)}) "
        "TARGET (income) SEED 7)"
    )

    def evaluate() -> dict[str, float]:
        found = session.evaluate(text, methods=["mondrian", "kactus2", "tpp"], grid=["k=3,5,10,25,50,100"])
        return {"points": len(found.points)}

    return evaluate


FLOORS = {"shuffled_copy": shuffled_copy, "shuffled_nine": shuffled_nine, "group_by": group_by}


def case_named(name: str, place: str, memory_limit: str | None = None) -> Timed:
    """A case by its name; what this function does is not timed."""
    if name == "grid":
        return grid(place)
    return FLOORS[name](place) if name in FLOORS else publication(name, place, memory_limit)


def main() -> None:
    timed = case_named(*sys.argv[1:4])
    started, cpu = time.perf_counter(), time.process_time()
    found = timed()
    measured = {
        "seconds": time.perf_counter() - started,
        "cpu": time.process_time() - cpu,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(measured | found))


if __name__ == "__main__":
    main()
