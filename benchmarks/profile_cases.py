"""What is found out about a table without a policy, and every measure that pyCANON has; floors and the peer.

One case per process, so that peak memory is the case's own:  python -m benchmarks.profile_cases NAME DATABASE
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from benchmarks.data import QUASI, SENSITIVE

if TYPE_CHECKING:
    from ppdm_sql.requirements import Requirement
    from ppdm_sql.session import Session

EVERY_MEASURE = (
    "k = 2", "alpha = 0.5", "distinct_l = 2", "entropy_l = 1.5", "recursive_l = (3, 2)", "t = 0.2 equal", "beta = 1",
    "enhanced_beta = 1", "delta = 1",
)  # fmt: skip
SAMPLE = 200_000


def group_by(database: str) -> Callable[[], object]:
    """The floor: the plain GROUP BY of eight columns."""
    return _counted(database, "census")


def group_by_of_twenty(database: str) -> Callable[[], object]:
    """The same GROUP BY in the table that is profiled."""
    return _counted(database, "patients")


def _counted(database: str, table: str) -> Callable[[], object]:
    import duckdb

    con = duckdb.connect(database, read_only=True)
    con.execute("SET enable_progress_bar = false")
    query = f"SELECT count(*), min(n) FROM (SELECT count(*) AS n FROM {table} GROUP BY {', '.join(QUASI)})"
    return lambda: con.execute(query).fetchall()


def profile(database: str) -> Callable[[], object]:
    """`ppdm profile` of 20 columns, from the call to the figures."""
    session = _session(database)
    return lambda: session.profile("patients")


def riskiest_sets(database: str) -> Callable[[], object]:
    """The sets of up to three of the 20 columns, on a sample of 200,000 rows, then those that are printed on all."""
    from ppdm_sql.profile.column_sets import columns_to_combine, hash_rows, riskiest_sets
    from ppdm_sql.profile.table_profile import profile_columns
    from ppdm_sql.statements.names import Name
    from ppdm_sql.watching import silent

    engine, relation = _session(database).engine, Name("patients")
    with engine.workspace():
        columns, _ = profile_columns(engine, relation, silent)
    infos, names, rows = [one.info for one in columns], columns_to_combine(columns), columns[0].rows

    def found() -> object:
        with engine.workspace():
            hashed = hash_rows(engine, relation, infos, rows, SAMPLE)
            return riskiest_sets(engine, relation, hashed, infos, names, rows, silent)

    return found


def every_measure(database: str) -> Callable[[], object]:
    """What pyCANON measures, by `ppdm check` without a policy."""
    session = _session(database)
    return lambda: session.check_table("census", QUASI, sensitive=[SENSITIVE], requirements=_asked())


def pycanon(database: str) -> Callable[[], object]:
    """The peer, on a data frame that is already in memory."""
    import duckdb
    from pycanon import anonymity

    frame = duckdb.connect(database, read_only=True).execute("SELECT * FROM census").df()
    quasi, sensitive = list(QUASI), [SENSITIVE]

    def measured() -> object:
        return [
            anonymity.k_anonymity(frame, quasi),
            anonymity.alpha_k_anonymity(frame, quasi, sensitive),
            anonymity.l_diversity(frame, quasi, sensitive),
            anonymity.entropy_l_diversity(frame, quasi, sensitive),
            anonymity.recursive_c_l_diversity(frame, quasi, sensitive),
            anonymity.t_closeness(frame, quasi, sensitive),
            anonymity.basic_beta_likeness(frame, quasi, sensitive),
            anonymity.enhanced_beta_likeness(frame, quasi, sensitive),
            anonymity.delta_disclosure(frame, quasi, sensitive),
        ]

    return measured


def draft(database: str) -> Callable[[], object]:
    """`ppdm draft` of 200 columns, from the call to the text of the policy and its files."""
    session = _session(database)
    return lambda: session.draft("wide")


def _session(database: str) -> Session:
    """The database, after small questions elsewhere: modules that load at first use are not what is timed."""
    import duckdb

    import ppdm_sql

    con = duckdb.connect()
    con.execute("CREATE TABLE small AS SELECT range % 3 AS a, range % 5 AS b, 'x' || range % 2 AS c FROM range(50)")
    first = ppdm_sql.connect(con)
    first.profile("small")
    first.draft("small")
    first.check_table("small", ["a"], sensitive=["c"], requirements=_asked())
    return ppdm_sql.connect(database)


def _asked() -> Sequence[Requirement]:
    from ppdm_sql.policy.stored_requirements import requirements

    return requirements(list(EVERY_MEASURE))


CASES = {
    one.__name__: one
    for one in (group_by, group_by_of_twenty, profile, riskiest_sets, every_measure, pycanon, draft)
}  # fmt: skip


def main() -> None:
    timed = CASES[sys.argv[1]](sys.argv[2])
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    timed()
    spent = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({
        "seconds": time.perf_counter() - started,
        "cpu": spent.ru_utime + spent.ru_stime - before.ru_utime - before.ru_stime,
        "peak_mb": spent.ru_maxrss / 1024,
    }))  # fmt: skip


if __name__ == "__main__":
    main()
