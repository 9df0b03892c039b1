"""Optimal cuts: against a look at every set of cuts, and what is promised, on random tables."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from lattice_cases import Case, random_case
from oracles.naive_koptimize import best, classes_of, metric

from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.methods.koptimize.cut_columns import best_cuts, covering_labels
from ppdm_sql.methods.koptimize.method import KOPTIMIZE
from ppdm_sql.methods.koptimize.search import CutLimits, CutSearch, FinestPieces
from ppdm_sql.methods.mondrian.level_counts import Histogram
from ppdm_sql.methods.shared.limits import Demands, Secret
from ppdm_sql.requirements import DistinctDiversity, KAnonymity, RecursiveDiversity, SimpleDiversity
from ppdm_sql.source.hierarchy import build
from tests.sizes import seeds

pytestmark = pytest.mark.duckdb
NAMES = ("a", "b", "c")
REQUIRED = (DistinctDiversity(2), SimpleDiversity(Fraction(3, 2)), RecursiveDiversity(Fraction(2), 2))


def run_search(rows, sizes, demands, most, *, nodes=10**6, seconds=600) -> CutSearch:
    """The search over these rows: a piece of every column, the class "y" and the sensitive value "s" of each."""
    names = NAMES[: len(sizes)]
    codes = np.array([[row[name] for row in rows] for name in names])
    classes = np.array([[int(row["y"] == one) for one in range(3)] for row in rows])
    sensitive = Histogram(
        np.arange(len(rows)), np.array([row["s"] for row in rows]), np.ones(len(rows), dtype=np.int64), 3
    )
    pieces = FinestPieces(codes, classes, np.ones(len(rows), dtype=np.int64), (sensitive,) * len(demands.secrets))
    search = CutSearch(pieces, sizes, demands, CutLimits(most, nodes, seconds))
    search.run()
    return search


def random_search(seed):
    rng = random.Random(seed)
    sizes = tuple(rng.choice([(3, 2), (4, 3), (3, 3, 2), (6,), (4, 2, 3)]))
    names = NAMES[: len(sizes)]
    rows = []
    for _ in range(rng.choice([6, 12, 30, 60])):
        row = {name: rng.randrange(size) for name, size in zip(names, sizes, strict=True)}
        row["y"] = (row["a"] + (rng.random() < 0.3) + rng.randrange(rng.choice([1, 3]))) % 3
        row["s"] = min(int(rng.expovariate(0.9)), 2)
        rows.append(row)
    for number, (name, size) in enumerate(zip(names, sizes, strict=True)):  # every piece occurs
        rows += [{**rows[number], name: piece} for piece in range(size)]
    asked = rng.choice([None, *REQUIRED])
    counts = np.bincount([row["s"] for row in rows], minlength=3)
    secret = Secret("s", (asked,) if asked else (), counts)
    demands = Demands(rng.randint(1, 6), (secret,) if asked else ())
    most = int(rng.choice([0, 0, 0.1, 0.3, 1.0]) * len(rows))

    def holds(group) -> bool:
        counts = np.array([[sum(row["s"] == value for row in group) for value in range(3)]])
        return len(group) >= demands.k and all(bool(one.holds(counts)[0]) for one in demands.secrets)

    return rows, names, sizes, demands, most, holds


@seeds(small=60, full=250, nightly=3000)
def test_the_cuts_are_the_best_of_all(seeds):
    tried = several = 0
    for seed in seeds:
        rows, names, sizes, demands, most, holds = random_search(seed)
        if not holds(rows):
            continue
        tried += 1
        cuts = [(name, piece) for name, size in zip(names, sizes, strict=True) for piece in range(1, size)]
        least, sets = best(rows, names, cuts, "y", holds, most)
        search = run_search(rows, sizes, demands, most)
        found = frozenset((names[column], piece) for column, piece in search.best)
        assert (search.best_cost, search.proved) == (least, True)
        assert found in sets
        assert metric(classes_of(rows, names, found), "y", holds, most) == least
        several += bool(found)
    assert tried >= 0.6 * len(seeds)
    assert several >= 0.4 * tried


def test_the_two_attributes_of_three_and_two_values():
    rows = [dict(zip("abys", one, strict=True)) for one in [
        (0, 0, 0, 0), (0, 0, 1, 1), (1, 0, 0, 0), (1, 1, 0, 0), (2, 1, 1, 1), (2, 1, 0, 0),
    ]]  # fmt: skip
    secret = Secret("s", (SimpleDiversity(Fraction(3, 2)),), np.array([4, 2]))
    search = run_search(rows, (3, 2), Demands(2, (secret,)), 0)
    assert (search.best_cost, search.proved) == (2, True)
    assert run_search(rows, (3, 2), Demands(2), 0).best_cost == 2


def test_a_search_that_is_stopped_says_so():
    rng = np.random.default_rng(1)
    rows = [
        {
            "a": int(rng.integers(9)),
            "b": int(rng.integers(9)),
            "c": int(rng.integers(9)),
            "y": int(rng.integers(3)),
            "s": 0,
        }
        for _ in range(900)
    ]
    search = run_search(rows, (9, 9, 9), Demands(20), 90, nodes=3)
    assert not search.proved
    assert search.nodes == 3
    assert search.best_cost < 900 - max(Counter(row["y"] for row in rows).values())


def test_the_cuts_that_are_offered_tell_most():
    counts = np.array([[9, 0], [9, 0], [0, 9], [0, 9], [5, 4]])
    everywhere = np.array([False, True, True, True, True])
    assert best_cuts(counts, counts.sum(axis=1), everywhere, 1, 1) == [2]
    assert best_cuts(counts, counts.sum(axis=1), everywhere, 1, 9) == [2, 4]  # nothing is gained elsewhere
    assert best_cuts(counts, counts.sum(axis=1), everywhere, 10, 9) == [2]  # nine people are too few for the last
    assert best_cuts(counts, counts.sum(axis=1), np.array([False, False, False, True, False]), 1, 9) == [3]


def test_a_run_of_a_hierarchy_is_told_by_the_fewest_labels():
    tree = build("work", [["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"], ["d", "y", "*"], ["e", "y", "*"]])
    assert covering_labels(tree, 0, 2) == ["x"]
    assert covering_labels(tree, 1, 5) == ["b", "y"]
    assert covering_labels(tree, 0, 5) == ["*"]


@seeds(small=15, full=150, nightly=1000)
def test_what_is_published_keeps_the_policy_and_costs_what_is_said(duckdb_engine, seeds):
    published = 0
    for seed in seeds:
        case = random_case(seed)
        case.algorithm, case.tunings, case.options = "koptimize", {}, {"cuts": Fraction(5)}
        try:
            plan, rows = case.run(duckdb_engine, KOPTIMIZE)
        except RequirementBreached:
            assert not case.holds(case.rows, case.rows)
            continue
        published += 1
        classes = {}
        source = {row["id"]: row for row in case.rows}
        for row in rows:
            classes.setdefault(tuple(row[name] for name in case.quasi), []).append(source[row["ppdm_key0"]])
        assert all(case.holds(group, case.rows) for group in classes.values())
        assert len(classes) == plan.classes
        assert len(rows) == len(case.rows) - plan.suppressed_rows
        assert plan.suppressed_rows <= case.suppress * len(case.rows)
        common = sum(max(Counter(row["paid"] for row in group).values()) for group in classes.values())
        assert plan.figures["classification metric"] == len(case.rows) - common
        assert plan.figures["proved optimal"] == "yes"
    assert published >= 0.4 * len(seeds)


def test_numbers_texts_and_missing_values(duckdb_engine):
    rows = [
        {
            "id": n,
            "age": None if n % 10 == 9 else 20 + n % 40,
            "town": "abcd"[n // 40 % 4],
            "paid": "well" if n % 40 < 20 and n // 40 % 4 < 2 else "badly",
        }
        for n in range(400)
    ]
    case = Case(
        {"id": "integer", "age": "integer", "town": "text", "paid": "text"},
        rows,
        ["age", "town"],
        (KAnonymity(10),),
        target="paid",
        algorithm="koptimize",
    )
    plan, found = case.run(duckdb_engine, KOPTIMIZE)
    shown = {name: {row[name] for row in found} for name in case.quasi}
    assert shown["town"] == {"{a, b}", "{c, d}"}
    assert "< 40" in shown["age"]
    assert all(row["age"] in (None, "*") for row in found if rows[row["ppdm_key0"]]["age"] is None)
    assert plan.classes == len({(row["age"], row["town"]) for row in found})


def test_a_class_is_needed(duckdb_engine):
    case = Case(
        {"id": "integer", "a": "text"},
        [{"id": 1, "a": "x"}],
        ["a"],
        (KAnonymity(1),),
        target="a",
        algorithm="koptimize",
    )
    with pytest.raises(PolicyError, match="needs a class that is no quasi-identifier"):
        case.run(duckdb_engine, KOPTIMIZE)
