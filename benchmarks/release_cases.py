"""Tables guided by trees, from the statement to the verified release, next to the C4.5 tree of the same table alone.

The bars, at a million rows with 9 quasi-identifiers and k = 10: kactus2 at most 3 times, tpp at most 4 times the tree,
below 1.5 GB; ten times the rows at most 12 times the time.  From a Parquet file mondrian takes at most 1.2 times as
long as from the same rows in a table.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb

from benchmarks.model_cases import plain_c45
from benchmarks.tree_data import CATEGORIES, CLASS
from ppdm_sql.session import connect

NINE = (*CATEGORIES, "age")
K = 10


def c45_nine(database: str) -> Callable[[], object]:
    """The floor: a C4.5 tree of the nine attributes."""
    return plain_c45(database, NINE)


def kactus2(database: str) -> Callable[[], object]:
    return _published(database, "kactus2")


def tpp(database: str) -> Callable[[], object]:
    return _published(database, "tpp")


def mondrian_nine(database: str) -> Callable[[], object]:
    """The floor of a release from a file: the same from a table."""
    return _published(database, "mondrian")


def mondrian_parquet(database: str) -> Callable[[], object]:
    file = Path(database).with_suffix(".parquet")
    if not file.exists():
        with duckdb.connect(database, read_only=True) as con:
            con.execute("COPY people TO ?", [str(file)])
    return _published(database, "mondrian", f"read_parquet('{file}')")


def _published(database: str, algorithm: str, source: str = "people") -> Callable[[], object]:
    session = connect(database, allow=[str(Path(database).parent)])
    columns = ", ".join(NINE)
    text = (
        f"CREATE OR REPLACE TABLE people_open AS SELECT {columns}, {CLASS} FROM {source} WITH ANONYMIZATION ("
        f"ALGORITHM {algorithm} REQUIRE k = {K} QUASI IDENTIFIER ({columns}) TARGET ({CLASS}) SUPERSEDES ALL)"
    )

    def published() -> dict[str, float]:
        sent: list[str] = []
        session.engine.on_statement = sent.append
        classes = session.publish(text).classes
        return {"classes": classes, "statements": len(sent)}

    return published


RELEASE_CASES: dict[str, Callable[[str], Callable[[], object]]] = {
    one.__name__: one for one in (c45_nine, kactus2, tpp, mondrian_nine, mondrian_parquet)
}
FLOORS = {"kactus2": "c45_nine", "tpp": "c45_nine", "mondrian_parquet": "mondrian_nine"}
