"""TPP on Adult by number of leaves: K, L and accuracy, beside what the paper reports.

    python -m benchmarks.tpp_adult ../shared/data

The folder holds adult_train.csv.  Rows whose occupation is known; ten attributes; the response is the income, the
sensitive column the occupation.  No requirement is asked, so that the K and L of every size of tree can be seen.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pyarrow.csv
from sqlglot import exp

from ppdm_sql.anonymizers.plan import Private, TablePlan
from ppdm_sql.anonymizers.table.tpp import tpp
from ppdm_sql.engines.base import Engine
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.policy.policy import Inducer, Policy, Roles
from ppdm_sql.policy.requirements import KAnonymity, SimpleDiversity
from ppdm_sql.source.relation import resolve
from ppdm_sql.statements.names import Word, column, own
from ppdm_sql.verify.same_model import tree_differences
from ppdm_sql.watching import silent

ATTRIBUTES = (
    "age", "education_num", "capital_gain", "capital_loss", "hours_per_week",
    "workclass", "marital_status", "relationship", "race", "sex",
)  # fmt: skip
PAPER = {4: "K 120 (table I, tree 2)"}
_SOURCE, _RELEASE = own("ppdm_source"), own("ppdm_release")


@dataclass(frozen=True)
class Measured:
    leaves: int
    classes: int
    k: int
    k_with_response: int
    l: float
    accuracy: float
    rare_boundaries: int
    same_trees: bool
    seconds: float


def measured(engine: Engine, file: Path, leaves: int, criterion: str = "entropy") -> Measured:
    """The release of the tree with this many leaves."""
    began = time.perf_counter()
    plan = _plan(engine, file, leaves, criterion)
    engine.create_table(_RELEASE, plan.query, temporary=True)
    different = tree_differences(engine, _RELEASE, plan.patterns)
    figures = plan.figures
    return Measured(
        plan.patterns[0]["leaves"],
        plan.classes,
        int(figures["smallest class"]),
        int(figures["smallest class when the response is known"]),
        float(Fraction(figures["least l occupation"])),
        float(Fraction(figures["training accuracy of tree 1"])),
        int(figures["boundary values held by few"]),
        not different,
        time.perf_counter() - began,
    )


def _plan(engine: Engine, file: Path, leaves: int, criterion: str) -> TablePlan:
    words = {name: Word(name) for name in (*ATTRIBUTES, "occupation", "income")}
    missing = pyarrow.csv.ConvertOptions(strings_can_be_null=True)
    rows = pyarrow.csv.read_csv(file, convert_options=missing).select(list(words))
    engine.load(own("ppdm_adult"), rows)
    known = exp.Not(this=exp.Is(this=column("occupation"), expression=exp.Null()))
    query = exp.Select(expressions=[column(name) for name in words]).from_(own("ppdm_adult").table()).where(known)
    engine.create_table(_SOURCE, query, temporary=True)
    roles = Roles(
        quasi=tuple(words[name] for name in ATTRIBUTES), sensitive=(words["occupation"],), target=words["income"]
    )
    policy = Policy(
        "tpp",
        (KAnonymity(1), SimpleDiversity(Fraction(1))),
        roles,
        options={"max_leaves": Fraction(leaves)},
        preserve=(Inducer(Word("cart"), {"criterion": criterion, "min_leaf": Fraction(1)}),),
    )
    source = resolve(engine.columns(_SOURCE), policy, ("adult",))
    return tpp(engine, source, policy, {}, Private(), silent)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--criterion", choices=("entropy", "gini"), default="entropy")
    given = options.parse_args()
    print(
        "| leaves | classes | K | K, response known | L | training accuracy | rare boundaries | same tree | s | paper |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for leaves in range(2, 11):
        with DuckDBEngine.open(":memory:") as engine:
            one = measured(engine, given.folder / "adult_train.csv", leaves, given.criterion)
        same = "yes" if one.same_trees else "NO"
        cells = [one.leaves, one.classes, f"{one.k:,}", f"{one.k_with_response:,}", f"{one.l:.2f}"]
        cells += [f"{one.accuracy:.4f}", one.rare_boundaries, same, f"{one.seconds:.1f}", PAPER.get(leaves, "")]
        print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
