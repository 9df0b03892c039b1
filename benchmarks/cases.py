"""One measurement per process, so that peak memory is the case's own: python -m benchmarks.cases NAME DATABASE."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable

from benchmarks.data import QUASI, SENSITIVE, TARGET
from benchmarks.model_cases import MODEL_CASES
from benchmarks.pseudo_cases import PSEUDO_CASES
from benchmarks.release_cases import RELEASE_CASES
from benchmarks.tree_cases import TREE_CASES, after_lightgbm

CASES: dict[str, Callable[[str], Callable[[], object]]] = {
    **TREE_CASES, **MODEL_CASES, **PSEUDO_CASES, **RELEASE_CASES,
}  # fmt: skip


def case(function: Callable[[str], Callable[[], object]]) -> Callable[[str], Callable[[], object]]:
    """A case prepares (not timed) and returns what is timed."""
    CASES[function.__name__] = function
    return function


@case
def group_by(database: str) -> Callable[[], object]:
    """The floor: the plain GROUP BY of the quasi-identifiers."""
    import duckdb

    con = duckdb.connect(database, read_only=True)
    con.execute("SET enable_progress_bar = false")
    query = f"SELECT count(*), min(n) FROM (SELECT count(*) AS n FROM census GROUP BY {', '.join(QUASI)})"
    return lambda: con.execute(query).fetchall()


@case
def all_measures(database: str) -> Callable[[], object]:
    """k, four kinds of l, t, risks, histogram, both NULL readings: ppdm check."""
    session = _session(database)
    required = "k = 10, distinct_l = 3, simple_l = 2, recursive_l = (3, 2), entropy_l = 1.5, t = 0.2"
    statement = session.parse(_policy(required))[0]
    return lambda: session.check(statement)


@case
def k_only(database: str) -> Callable[[], object]:
    session = _session(database)
    statement = session.parse(_policy("k = 10"))[0]
    return lambda: session.check(statement)


@case
def k_narrow(database: str) -> Callable[[], object]:
    """The k-check of table narrow."""
    session = _session(database)
    statement = session.parse(
        "CREATE TABLE narrow_open AS SELECT age, sex, zip, marital, disease FROM narrow WITH ANONYMIZATION ("
        "ALGORITHM mondrian REQUIRE k = 10 QUASI IDENTIFIER (age, sex, zip, marital) SENSITIVE (disease))"
    )[0]
    return lambda: session.check(statement)


@case
def mondrian(database: str) -> Callable[[], object]:
    """From the statement to the verified release, median splits."""
    return _publish(database, "k = 10", "")


@case
def mondrian_target(database: str) -> Callable[[], object]:
    """The same with information-gain splits."""
    return _publish(database, "k = 10", f"TARGET ({TARGET})")


@case
def mondrian_diverse(database: str) -> Callable[[], object]:
    """The same with l-diversity as a stop condition."""
    return _publish(database, "k = 10, simple_l = 2", "")


@case
def pycanon_measures(database: str) -> Callable[[], object]:
    """The peer: pyCANON's functions for the same measures, on a data frame that is already in memory."""
    import duckdb
    from pycanon import anonymity

    frame = duckdb.connect(database, read_only=True).execute("SELECT * FROM census").df()
    quasi, sensitive = list(QUASI), [SENSITIVE]

    def measured() -> object:
        return [
            anonymity.k_anonymity(frame, quasi),
            anonymity.l_diversity(frame, quasi, sensitive),
            anonymity.entropy_l_diversity(frame, quasi, sensitive),
            anonymity.recursive_c_l_diversity(frame, quasi, sensitive),
            anonymity.t_closeness(frame, quasi, sensitive),
        ]

    return measured


def _session(database: str):
    """The database, after a first small check elsewhere: modules that load at first use are not what is timed."""
    import duckdb

    import ppdm_sql

    con = duckdb.connect()
    con.execute(f"CREATE TABLE census AS SELECT {', '.join(f'range % 3 AS {name}' for name in QUASI)}, "
                f"'x' || range % 2 AS {SENSITIVE} FROM range(50)")  # fmt: skip
    ppdm_sql.connect(con).check(_policy("k = 2, distinct_l = 2, t = 0.5"))
    return ppdm_sql.connect(database, memory_limit=_limit())


def _limit() -> str | None:
    return sys.argv[3] if len(sys.argv) > 3 else None


def _policy(required: str, more: str = "", columns: str = f"{', '.join(QUASI)}, {SENSITIVE}") -> str:
    return (
        f"CREATE OR REPLACE TABLE census_open AS SELECT {columns} FROM census WITH ANONYMIZATION ("
        f"ALGORITHM mondrian REQUIRE {required} QUASI IDENTIFIER ({', '.join(QUASI)}) "
        f"SENSITIVE ({SENSITIVE}) {more} SUPERSEDES ALL SEED 7)"
    )


def _publish(database: str, required: str, more: str) -> Callable[[], object]:
    session = _session(database)
    columns = f"{', '.join(QUASI)}, {SENSITIVE}" + (f", {TARGET}" if TARGET in more else "")
    return lambda: session.publish(_policy(required, more, columns))


def main() -> None:
    name, database = sys.argv[1], sys.argv[2]
    timed = CASES[name](database)
    started, cpu = time.perf_counter(), time.process_time()
    result = timed()
    measured = {
        "seconds": time.perf_counter() - started,
        "cpu": time.process_time() - cpu,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    if name == "lightgbm_tree":
        measured |= after_lightgbm(result)
    elif isinstance(result, dict):
        measured |= result
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
