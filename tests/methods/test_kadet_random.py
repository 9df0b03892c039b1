"""kadet against the naive one over rows, and against the attack by its definition, on random tables."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from kadet_cases import Case, assert_same, audited_spans, is_fine, random_case, spans_by_definition

from ppdm_sql.errors import RequirementBreached
from ppdm_sql.methods.base import Job
from ppdm_sql.methods.kadet import model as module
from ppdm_sql.methods.kadet.split_queue import Growth
from ppdm_sql.methods.shared.class_limits import demands_of
from ppdm_sql.methods.shared.linking_attack import span_histograms
from ppdm_sql.trees.sound import check_tree
from ppdm_sql.trees.tree import Cut
from tests.sizes import are_many, seeds


@pytest.fixture
def growths(monkeypatch):
    """The growths of a run; after every split each span must meet the demands, not only at the end."""
    seen = []

    class Watched(Growth):
        def _split(self, one):
            fresh = super()._split(one)
            populations = np.stack(list(self.spans.population.values()))
            assert self.demands.hold(populations).all()
            assert (populations.sum(axis=0) == self.spans.table.whole).all()
            return fresh

        def run(self, progress):
            seen.append(self)
            return super().run(progress)

    monkeypatch.setattr(module, "Growth", Watched)
    return seen


def check(engine, make_table, seed, growths):
    case = random_case(seed)
    naive = case.naive()
    if naive.root is None:
        with pytest.raises(RequirementBreached):
            case.run(engine, make_table)
        return None
    plan, source, policy = case.run(engine, make_table)
    assert_same(plan.tree, plan.tree.root, naive.root, case)
    check_tree(plan.tree)
    if set(case.public) != set(case.columns) - {"id", "cls"}:  # else small nodes are not looked at
        assert plan.figures["candidates dropped"] == naive.dropped
    # the groups of the audit are the spans, and nobody gets finer ones by trying every private combination
    groups = audited_spans(engine, plan.tree, case)
    assert groups == naive.partition()
    attacked = spans_by_definition(plan.tree, case)
    assert all(any(group <= whole for whole in attacked) for group in groups)
    assert all(is_fine(case, group) for group in attacked)
    assert plan.figures["spans"] == len(groups)
    assert plan.figures["k of the model"] == min(map(len, groups)) >= case.k
    assert sum(leaf.rows for leaf in plan.tree.leaves) == len(case.rows)
    # what the growth kept in its books is what the audit counts
    kept = np.stack(list(growths[-1].spans.population.values()))
    counted = span_histograms(engine, plan.tree, source, demands_of(Job(engine, source, policy, {})))
    if not case.class_is_public:
        assert Counter(map(tuple, np.sort(kept, axis=1))) == Counter(
            map(tuple, np.sort(np.pad(counted, ((0, 0), (0, kept.shape[1] - counted.shape[1]))), axis=1))
        )
    else:
        assert np.count_nonzero(kept) == len(groups)
    return plan


@pytest.mark.duckdb
@seeds(small=4, full=20, nightly=100)
def test_the_tree_is_the_naive_one_and_its_spans_hold(duckdb_engine, make_table, seeds, growths):
    split = small = 0
    for seed in seeds:
        plan = check(duckdb_engine, make_table, seed, growths)
        if plan is not None:
            split += len(plan.tree.nodes) > 1
            small += any(leaf.rows < plan.figures["k of the model"] for leaf in plan.tree.leaves)
    if are_many(seeds):
        assert split > len(seeds) / 2  # the tables are no trivial ones
        assert small > len(seeds) / 8  # and a leaf smaller than k is no breach


@pytest.mark.parametrize("seed", [5, 12])
def test_every_engine_grows_the_same_tree(engine, make_table, seed, growths):
    check(engine, make_table, seed, growths)


def people(rows: int) -> Case:
    """A table on which few rows move in most rounds: private tests part nobody and go deep."""
    rng = random.Random(11)
    columns = {"id": "INTEGER", "p": "TEXT", "q": "INTEGER", "r": "TEXT", "s": "INTEGER", "cls": "TEXT"}
    drawn = []
    for number in range(rows):
        row = {"id": number, "p": rng.choice("abcd"), "q": rng.randint(0, 30), "r": rng.choice("xyz")}
        row["s"] = rng.randint(0, 9)
        lean = row["q"] > 14 if row["p"] < "c" else row["s"] > 6 or row["r"] == "x"
        drawn.append(row | {"cls": "yes" if lean ^ (rng.random() < 0.2) else "no"})
    return Case(columns, drawn, ["p", "q"], "k = 6", {"prune": "false"})


@pytest.mark.wide
@pytest.mark.duckdb
def test_a_tree_whose_private_tests_go_deep_is_the_naive_one(duckdb_engine, make_table, growths):
    case = people(400)
    plan = case.run(duckdb_engine, make_table)[0]
    assert_same(plan.tree, plan.tree.root, case.naive().root, case)


@pytest.mark.wide
@pytest.mark.duckdb
@pytest.mark.parametrize("method", ["kadet", "ldm"])
def test_pinned_borders_keep_the_policy_and_tell_no_value_that_few_have(duckdb_engine, make_table, method):
    """The default: fewer cuts are possible, and one between neighbouring whole numbers has enough rows at both."""
    cuts = 0
    for seed in range(12):
        case = random_case(seed)
        if method == "ldm":
            public = [name for name in case.columns if name not in ("id", "cls")]
            case = replace(case, method="ldm", hierarchies={}, class_is_public=False, public=public, options={})
        case = replace(case, options={**case.options, "borders": "pinned"})
        try:
            plan, source, policy = case.run(duckdb_engine, make_table)
        except RequirementBreached:
            continue
        check_tree(plan.tree)
        assert all(is_fine(case, group) for group in spans_by_definition(plan.tree, case))
        least = demands_of(Job(duckdb_engine, source, policy, {})).least_rows
        for split in (node.split for node in plan.tree.nodes):
            if isinstance(split, Cut):
                cuts += 1
                name, at = plan.tree.attributes[split.attribute].name, split.at
                held = Counter(row[name] for row in case.rows)
                assert sum(held[value] for value in held if value < at) > 0
                if at % 1:  # only 30 and 31 make 30.5
                    assert min(held[int(at - Decimal("0.5"))], held[int(at + Decimal("0.5"))]) >= least
    assert cuts > 3
