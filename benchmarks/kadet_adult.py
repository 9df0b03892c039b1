"""python -m benchmarks.kadet_adult FOLDER: kADET on the Adult data, complete rows, beside plain induction.

The folder holds adult_train.csv, adult_test.csv and hierarchies/adult/<column>.csv.  All attributes are public, the
income is private, as in the paper; test rows are classified as they are.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import duckdb
from sqlglot import exp

from ppdm_sql.anonymizers.model.kadet import kadet
from ppdm_sql.engines.base import Engine
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.policy.grammar import parse
from ppdm_sql.policy.policy import HierarchyFile, Publish
from ppdm_sql.source.hierarchy import Hierarchy, load_hierarchy
from ppdm_sql.source.relation import open_source
from ppdm_sql.statements.names import Name, column
from ppdm_sql.trees.expression import bound, class_expression
from ppdm_sql.trees.inducers import induce, settings
from ppdm_sql.trees.tree import Tree
from ppdm_sql.watching import silent

CATEGORIES = (
    "workclass", "education", "marital_status", "occupation", "relationship", "race", "sex", "native_country",
)  # fmt: skip
NUMBERS = ("age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week")
ATTRIBUTES = {"id3": CATEGORIES, "c45": (*CATEGORIES, *NUMBERS)}
SIZES = (10, 25, 50, 100, 250, 500, 750, 1000)
HEAD = ("form", "k", "test error %", "leaves", "spans", "k of the model", "exposed rows", "max confidence %", "seconds")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kadet_adult", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--k", type=int, nargs="*", default=SIZES)
    options = parser.parse_args()
    with DuckDBEngine.open(":memory:") as engine:
        _load(engine, options.folder)
        print("| " + " | ".join(HEAD) + " |\n|" + "---|" * len(HEAD))
        for form in ATTRIBUTES:
            _plain(engine, form)
            hierarchies = _hierarchies(engine, options.folder / "hierarchies" / "adult")
            for k in options.k:
                _anonymous(engine, form, k, hierarchies)


def _load(engine: Engine, folder: Path) -> None:
    complete = "workclass IS NOT NULL AND occupation IS NOT NULL AND native_country IS NOT NULL"
    for part in ("train", "test"):
        file = folder / f"adult_{part}.csv"
        rows = duckdb.sql(f"SELECT * FROM read_csv('{file}', header = true) WHERE {complete}").to_arrow_table()
        engine.load(Name(part), rows, temporary=False)


def _hierarchies(engine: Engine, folder: Path) -> dict[str, Hierarchy]:
    infos = {info.name: info for info in engine.columns(Name("train"))}
    found = {}
    for name in CATEGORIES:
        distinct = exp.Select(expressions=[column(name)]).from_(Name("train").table()).distinct()
        values = [row[0] for row in engine.fetch(distinct)]
        found[name] = load_hierarchy(
            HierarchyFile(f"{name}.csv"),
            column=name,
            kind=infos[name].kind,
            values=values,
            engine=engine,
            folder=folder,
        )
    return found


def _anonymous(engine: Engine, form: str, k: int, hierarchies: dict[str, Hierarchy]) -> None:
    names = ", ".join(ATTRIBUTES[form])
    statement = parse(
        f"CREATE MODEL m AS SELECT {names}, income FROM train WITH ANONYMIZATION (ALGORITHM kadet (form = {form}) "
        f"REQUIRE k = {k} QUASI IDENTIFIER ({names}) TARGET (income))"
    )[0]
    assert isinstance(statement, Publish)
    source = open_source(engine, statement.query, statement.policy)
    start = time.perf_counter()
    plan = kadet(engine, source, statement.policy, hierarchies, silent)
    seconds = time.perf_counter() - start
    told = [plan.figures[name] for name in ("spans", "k of the model", "exposed rows")]
    share = f"{100 * float(plan.figures['max confidence']):.1f}"
    _print(form, k, _error(engine, plan.tree), len(plan.tree.leaves), *told, share, f"{seconds:.1f}")


def _plain(engine: Engine, form: str) -> None:
    infos = {info.name: info for info in engine.columns(Name("train"))}
    attributes = [infos[name] for name in ATTRIBUTES[form]]
    start = time.perf_counter()
    tree = induce(engine, Name("train"), attributes, infos["income"], settings(form)).tree
    seconds = time.perf_counter() - start
    _print(f"{form}, plain", "", _error(engine, tree), len(tree.leaves), "", "", "", "", f"{seconds:.1f}")


def _error(engine: Engine, tree: Tree) -> str:
    """The share of test rows that are taken for another class."""
    said = class_expression(engine, bound(engine, tree, Name("test")))
    wrong = exp.Count(
        this=exp.Case(ifs=[exp.If(this=exp.NEQ(this=said, expression=column("income")), true=exp.true())])
    )
    query = exp.Select(expressions=[wrong, exp.Count(this=exp.Star())]).from_(Name("test").table())
    errors, rows = engine.fetch_one(query)
    return f"{100 * errors / rows:.2f}"


def _print(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
