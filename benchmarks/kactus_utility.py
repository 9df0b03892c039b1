"""What kACTUS costs a C4.5 that learns from its release: python -m benchmarks.kactus_utility [table ...] [--repeats n]

The papers' protocol: five times two random halves, each once the training half.  The training half is published, a
C4.5 learns from the release alone, and is tested on the other half, untouched but for being told in the words of the
release (the published cut points).  Halves are made by hashing row numbers.  The area is that under accuracy (%) over
k, by trapezoids; its mean is the area divided by the length of the grid.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd

from benchmarks.missing_c45 import learn
from ppdm_sql.anonymizers.plan import Private
from ppdm_sql.anonymizers.registry import table_method
from ppdm_sql.anonymizers.table.discretize import cut_codes
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.policy.grammar import parse
from ppdm_sql.source.relation import open_source
from ppdm_sql.statements.names import Name
from ppdm_sql.watching import silent

DATA = Path(__file__).resolve().parents[1].parent / "shared" / "data"
_SMALL_GRID = (5, 10, 15, 20, 30)
_GERMAN = (
    "credit_history", "savings_status", "duration_months", "checking_status", "credit_amount", "purpose", "property",
    "installment_rate", "other_debtors",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A table of the papers, with what they report: areas of kACTUS and kACTUS-2, missing cells per k."""

    files: tuple[str, ...]
    target: str
    grid: tuple[int, ...]
    areas: tuple[float, float]
    missing: tuple[tuple[float, ...], tuple[float, ...]]
    quasi: tuple[str, ...] = ()  # none: all but the target
    complete: bool = False  # rows with missing values are left out


CASES = {
    "ttt": Case(
        ("tic_tac_toe.csv",), "class", _SMALL_GRID, (1789.725, 1802.35),
        ((0.62, 0.67, 0.73, 0.74, 0.77), (0.58, 0.61, 0.64, 0.65, 0.68)),
    ),
    "glass": Case(
        ("glass.csv",), "class", _SMALL_GRID, (1383.2, 1372.225),
        ((0.57, 0.61, 0.64, 0.69, 0.75), (0.51, 0.55, 0.58, 0.62, 0.67)),
    ),
    "german": Case(
        ("german_credit.csv",), "class", (5, 10, 15, 20, 30, 40, 50, 80, 100), (6645.725, 6646.4),
        (
            (0.34, 0.36, 0.36, 0.37, 0.37, 0.38, 0.39, 0.42, 0.42),
            (0.34, 0.35, 0.35, 0.35, 0.37, 0.38, 0.39, 0.41, 0.42),
        ),
        _GERMAN,
    ),
    "waveform": Case(
        ("waveform40.csv",), "class", (5, 10, 15, 20, 30, 40, 50), (3185.825, 3252.475),
        ((0.82, 0.83, 0.83, 0.84, 0.85, 0.85, 0.86), (0.81, 0.81, 0.82, 0.83, 0.83, 0.84, 0.84)),
    ),
    "adult": Case(
        ("adult_train.csv", "adult_test.csv"), "income", (5, 20, 50, 100, 500, 1000), (81830.7, 82663.22),
        ((0.72, 0.72, 0.73, 0.75, 0.78, 0.83), (0.71, 0.72, 0.72, 0.73, 0.75, 0.76)), complete=True,
    ),
}  # fmt: skip
METHODS = {
    "kactus": ("kactus (min_leaf = 2)", 0),
    "kactus2 ST 0": ("kactus2 (swap_threshold = 0, min_leaf = 2)", 1),
    "kactus2 ST 0.5": ("kactus2 (swap_threshold = 0.5, min_leaf = 2)", 1),
    "kactus2 ST 1": ("kactus2 (swap_threshold = 1, min_leaf = 2)", 1),
    "kactus, min k": ("kactus (min_leaf = k)", 0),
    "kactus2 ST 0, min k": ("kactus2 (swap_threshold = 0, min_leaf = k)", 1),
    "kactus2 ST 0.5, min k": ("kactus2 (swap_threshold = 0.5, min_leaf = k)", 1),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=["ttt", "glass", "german"], help=f"of {', '.join(CASES)}")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--options", default="", help="further options of the method, as in a statement")
    options = parser.parse_args()
    for name in options.tables:
        run(name, options.repeats, options.methods, options.options)


def run(name: str, repeats: int, methods: list[str], extra: str = "") -> None:
    case = CASES[name]
    started = time.monotonic()
    found: dict[str, dict[int, list[Run]]] = {method: defaultdict(list) for method in methods}
    raw = []
    with duckdb.connect() as con:
        columns = load(con, case)
        for repeat in range(repeats):
            for half in (0, 1):
                split(con, repeat, half)
                raw.append(accuracy(con, case, columns, "train"))
                for method in methods:
                    for k in case.grid:
                        found[method][k].append(measured(con, case, columns, METHODS[method][0], k, extra))
    print(f"\n{name}: C4.5 from the original rows {100 * sum(raw) / len(raw):.2f} %, {repeats} x 2 halves, ", end="")
    print(f"{time.monotonic() - started:.0f} s")
    for method in methods:
        show(case, method, found[method])


# -- one measurement -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    accuracy: float
    missing: float  # share of all cells
    dropped: float  # share of rows
    swapped: float


def load(con: duckdb.DuckDBPyConnection, case: Case) -> dict[str, str]:
    """The table `whole` with a row number; column -> type."""
    manifest = json.loads((DATA / "MANIFEST.json").read_text("utf-8"))
    entry = next(one for one in manifest["datasets"] if one["file"] == case.files[0])
    types = {column["name"]: column["sql_type"] for column in entry["columns"]}
    files = [str(DATA / file) for file in case.files]
    known = " AND ".join(f"{name} IS NOT NULL" for name in types) if case.complete else "true"
    con.execute(
        "CREATE TABLE whole AS SELECT row_number() OVER () AS row_number, * "
        f"FROM read_csv(?, header = true, columns = ?) WHERE {known}",
        [files, types],
    )
    return types


def split(con: duckdb.DuckDBPyConnection, repeat: int, half: int) -> None:
    number = f"(row_number() OVER (ORDER BY md5(row_number || '-{repeat}')) + {half}) % 2"
    con.execute(f"CREATE OR REPLACE TEMP TABLE halves AS SELECT *, {number} AS half FROM whole")
    for name, which in (("train", 0), ("test", 1)):
        con.execute(
            f"CREATE OR REPLACE TABLE {name} AS SELECT * EXCLUDE (half, row_number) FROM halves WHERE half = {which}"
        )


def measured(
    con: duckdb.DuckDBPyConnection, case: Case, columns: dict[str, str], algorithm: str, k: int, extra: str
) -> Run:
    """The training half as the method plans it; that the plan keeps its promises is tested elsewhere."""
    quasi = case.quasi or tuple(name for name in columns if name != case.target)
    others = [name for name in columns if name not in (*quasi, case.target)]
    insensitive = f"INSENSITIVE ({', '.join(others)})" if others else ""
    if extra:
        algorithm = algorithm.removesuffix(")") + (", " if algorithm.endswith(")") else " (") + extra + ")"
    statement = parse(
        f"CREATE TABLE open AS SELECT {', '.join(columns)} FROM train WITH ANONYMIZATION (ALGORITHM {algorithm} "
        f"REQUIRE k = {k} QUASI IDENTIFIER ({', '.join(quasi)}) TARGET ({case.target}) {insensitive});",
        dialect="duckdb",
    )[0]
    engine = DuckDBEngine(con)
    source = open_source(engine, statement.query, statement.policy)
    method = table_method(statement.policy.algorithm, statement.place)
    plan = method(engine, source, statement.policy, {}, Private(), silent)
    con.execute("DROP TABLE IF EXISTS open")
    engine.create_table(Name("open"), plan.query)
    missing = plan.figures["suppressed cells"] * len(quasi) / len(columns)
    return Run(
        accuracy(con, case, columns, "open"), float(missing), plan.suppressed_rows / plan.rows,
        float(plan.figures["swap rate"]),
    )  # fmt: skip


def accuracy(con: duckdb.DuckDBPyConnection, case: Case, columns: dict[str, str], table: str) -> float:
    """Of a C4.5 learned from a table, on the test half."""
    names = [name for name in columns if name != case.target]
    train = con.sql(f"SELECT {', '.join([*names, case.target])} FROM {table}").df()
    test = con.sql(f"SELECT {', '.join([*names, case.target])} FROM test").df()
    classes = {value: code for code, value in enumerate(sorted(set(train[case.target])))}
    known = train[case.target].map(classes)
    coded = [in_codes(train[name], test[name], known) for name in names]
    rows = pd.DataFrame({str(number): one[0] for number, one in enumerate(coded)} | {"y": known})
    counted = rows.value_counts(sort=False).reset_index()
    codes = counted[[str(number) for number in range(len(names))]].to_numpy(np.int64)
    tree = learn(codes, counted["y"].to_numpy(np.int64), counted["count"].to_numpy(np.float64), len(classes))
    found = tree.predict(np.column_stack([one[1] for one in coded]).astype(np.int64))
    return float((found == test[case.target].map(classes).fillna(-1).to_numpy()).mean())


def in_codes(train: pd.Series, test: pd.Series, classes: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Both columns as codes, -1 for missing; what training did not see is a code of its own."""
    if pd.api.types.is_numeric_dtype(train):  # not anonymized: cut by the same rule
        values = np.sort(train.unique())
        counts = pd.crosstab(train, classes).to_numpy(np.int64)
        bounds = values[cut_codes(counts, counts.sum(axis=1), 1)]
        first, second = (pd.Series(np.searchsorted(bounds, one, side="right")) for one in (train, test))
        return first, second
    if pd.api.types.is_numeric_dtype(test):
        test = in_words(train, test)
    known = {value: code for code, value in enumerate(sorted(train.dropna().unique()))}
    return train.map(known).fillna(-1), test.map(known).fillna(len(known))


def in_words(train: pd.Series, values: pd.Series) -> pd.Series:
    """Numbers as the intervals the release prints: it says where they meet."""
    found = pd.Series([None] * len(values), index=values.index, dtype=object)
    for text in train.dropna().unique():
        if text.startswith("< "):
            inside = values < float(text[2:])
        elif text.startswith(">= "):
            inside = values >= float(text[3:])
        else:
            low, high = text[1:-1].split(", ")
            inside = (values >= float(low)) & (values < float(high))
        found[inside] = text
    return found


# -- telling ---------------------------------------------------------------------------------------------


def area(points: list[tuple[int, float]]) -> float:
    return sum((high - low) * (first + second) / 2 for (low, first), (high, second) in pairwise(points))


def show(case: Case, method: str, runs: dict[int, list[Run]]) -> None:
    paper = METHODS[method][1]
    names = ("accuracy", "missing", "dropped", "swapped")
    mean = {
        k: {name: sum(getattr(one, name) for one in some) / len(some) for name in names} for k, some in runs.items()
    }
    total = area([(k, 100 * mean[k]["accuracy"]) for k in case.grid])
    width = case.grid[-1] - case.grid[0]
    print(f"  {method:22} area {total:10.1f} (paper {case.areas[paper]:10.1f})   ", end="")
    print(f"mean accuracy {total / width:.2f} % (paper {case.areas[paper] / width:.2f} %)")
    for k, told in zip(case.grid, case.missing[paper], strict=True):
        one = mean[k]
        print(f"    k {k:5} accuracy {100 * one['accuracy']:.2f} %  missing cells {one['missing']:.2f} ", end="")
        print(f"(paper {told:.2f})  dropped {100 * one['dropped']:.2f} %  swapped {100 * one['swapped']:.1f} %")


if __name__ == "__main__":
    main()
