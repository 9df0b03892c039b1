"""The tables of paper 000 from a few rows: every figure is there, and what must hold of any run holds."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from public_data import DATA, needs_data
from sqlglot import exp

from benchmarks.papers import sharing_000
from benchmarks.papers import sharing_runs as runs
from benchmarks.papers.pooling_000 import limit_of_pseudo_rows, volume
from benchmarks.papers.sharing_000 import FULL, Size, tables_of
from ppdm_sql.engines.connect import open_engine
from ppdm_sql.pseudodata.paths import recipes
from ppdm_sql.requirements import RecursiveDiversity, SimpleDiversity
from ppdm_sql.sharing.collect import Shared, pooled_domains
from ppdm_sql.statements.names import column
from ppdm_sql.trees.expression import NODE
from ppdm_sql.trees.predict import predict
from ppdm_sql.watching import silent

pytestmark = [pytest.mark.duckdb, needs_data]


@pytest.fixture(scope="module")
def found():
    size = Size({"Nursery": 600}, 1, (1, 2), {"Nursery": ("simple_l = 5", "recursive_l = (20, 2)")}, 2)
    return tables_of(DATA, silent, size, [replace(sharing_000.NURSERY, leaves=(1, 5))])


def lines(table):
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


MADE = ("PGEN", "PGEN counts", "BASEGEN", "PGEN x4", "PGEN counts x4", "BASEGEN x4")


@pytest.mark.wide
def test_one_source_is_the_base_tree_and_two_are_not(found):
    accuracy, match = lines(found[0]), lines(found[1])
    assert [(row["leaf"], row["sources"]) for row in accuracy] == [("1", "1"), ("1", "2"), ("5", "1"), ("5", "2")]
    for one, two in (accuracy[:2], accuracy[2:]):
        assert len({one[f"{way} %"] for way in ("BASIS", "BAGGING", *MADE)}) == 1
        assert all(0 < float(two[f"{way} %"]) <= 100 for way in ("BASIS", "BAGGING", *MADE))
        assert one["PGEN x4 - BAGGING %"] == "+0.0"
        lead = float(two["PGEN x4 %"]) - float(two["BASEGEN x4 %"])
        assert float(two["PGEN x4 - BASEGEN x4 %"]) == pytest.approx(lead, abs=0.11)
        assert int(two["local leaves"]) < int(one["local leaves"])
    for one, two in (match[:2], match[2:]):
        assert {one[f"{name} %"] for name in ("match BAGGING", "paths PGEN", *(f"match {way}" for way in MADE))} == {
            "100.0"
        }
        assert float(two["paths PGEN %"]) < 100
    assert int(accuracy[2]["local leaves"]) < int(accuracy[0]["local leaves"])


@pytest.mark.wide
def test_trees_naive_bayes_and_rules_are_learned_from_the_same_rows(found):
    [row] = lines(found[2])
    kinds = ("tree", "bayes", "rules")
    for way in ("BASIS", "PGEN", "BASEGEN"):
        assert all(30 < float(row[f"{kind} {way} %"]) <= 100 for kind in kinds)
    assert len({row[f"{kind} BASIS %"] for kind in kinds}) == 3


@pytest.mark.wide
def test_what_no_method_can_meet_has_no_figure(found):
    rows = {row["requirement"]: row for row in lines(found[3])}
    assert set(rows) == {"simple_l = 5", "recursive_l = (20, 2)"}
    assert set(list(rows["simple_l = 5"].values())[2:]) == {"none"}
    row = rows["recursive_l = (20, 2)"]
    for name in ("ATP", "LDM"):
        if row[f"{name} leaves"] != "none":
            assert int(row[f"{name} leaves"].replace(",", "")) > 1
            assert all(0 <= float(row[f"{what} %"]) <= 100 for what in (name, f"match {name}", f"paths {name}"))
            assert 0 < float(row[f"CM {name} %"]) < 100
    assert {row["ATP leaves"], row["LDM leaves"]} != {"none"}


@pytest.mark.wide
def test_atp_on_all_of_nursery_ends_as_computed_by_hand():
    """41 leaves that are right in 0.591 of all rows for (5, 2); nothing is left for simple 2 (a class is pure)."""
    with open_engine(":memory:") as engine:
        task = sharing_000._task(engine, DATA, sharing_000.NURSERY, FULL)
        tree = runs.anonymous(engine, task, task.relation, "atp", RecursiveDiversity(Fraction(5), 2), 1)
        assert tree is not None
        assert (len(tree.leaves), round(1 - runs.metric([tree]), 3)) == (41, 0.591)
        assert runs.anonymous(engine, task, task.relation, "atp", SimpleDiversity(Fraction(2)), 1) is None


def test_the_classification_metric_is_that_of_the_pseudo_rows():
    """By quota a leaf's pseudo-rows miss its commonest class as often as its rows do: counted in the rows made."""
    with open_engine(":memory:") as engine:
        task = sharing_000._task(engine, DATA, sharing_000.NURSERY, Size({"Nursery": 900}, 1, (), None, 2))
        tree = runs.learned(engine, task, task.relation, 20)
        runs.make_pool(engine, task, [tree], runs.Way("pgen"), 3)
        told = predict(engine, tree, runs.POOL, [task.target]).subquery("t")
        counts = exp.Select(expressions=[column(NODE, "t"), column(task.target, "t"), exp.Count(this=exp.Star())])
        found = engine.fetch(counts.from_(told).group_by(column(NODE, "t"), column(task.target, "t")))
        most: dict[int, int] = {}
        for node, _, rows in found:
            most[node] = max(most.get(node, 0), rows)
        assert 0 < len(most) == len(tree.leaves)
        assert 1 - sum(most.values()) / sum(rows for _, _, rows in found) == pytest.approx(runs.metric([tree]))


def test_the_whole_run_asks_for_what_the_paper_asked_for():
    adult, nursery = sharing_000.ADULT.asked, sharing_000.NURSERY.asked
    assert (len(adult), len(nursery)) == (13 + 39, 4 + 16)
    assert FULL.sources == tuple(range(1, 11))


def test_the_limit_of_one_tree_is_the_tree_and_its_leaves_fill_the_domain():
    """With one tree the densest class of a place is the leaf's commonest; the volumes of all leaves are the whole."""
    with open_engine(":memory:") as engine:
        size = Size({"Nursery": 900}, 1, (), None, 2)
        task = sharing_000._task(engine, DATA, sharing_000.NURSERY, size)
        for _ in sharing_000._parts(engine, task, size):
            tree = sharing_000.runs.learned(engine, task, sharing_000.TRAIN, 5)
            said = sharing_000.runs.said(engine, tree, "global")
            share = sharing_000.runs.same(engine, sharing_000.runs.truth(engine, task), said)
            assert limit_of_pseudo_rows(engine, task, [tree]) == pytest.approx(share)
            common = pooled_domains([Shared("one", "one", tree, ())], {})
            mine = {place: common[one.name] for place, one in enumerate(tree.attributes) if one.name in common}
            volumes = [volume(recipe, mine) for recipe in recipes(tree, mine, None, 0)]
            assert len(volumes) == len(tree.leaves)
            assert sum(volumes) == pytest.approx(1)
