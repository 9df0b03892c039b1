"""ldm: every leaf meets the policy, no split that was possible is missing, and without a policy it is the plain tree."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import log2

import pytest
from kadet_cases import Case, audited_spans, is_fine, random_case

from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.induction.inducers import induce, settings
from ppdm_sql.methods.ldm import Refused
from ppdm_sql.methods.shared.class_limits import ClassDemands
from ppdm_sql.trees.follow import follow


def public_case(seed: int, **options) -> Case:
    case = replace(random_case(seed), method="ldm", hierarchies={}, class_is_public=False, options=options)
    case.public = [name for name in case.columns if name not in ("id", "cls")]
    return case


def entropy(classes) -> float:
    return -sum(n / len(classes) * log2(n / len(classes)) for n in Counter(classes).values())


def possible_splits(case: Case, rows: list[int]):
    """(gain, what) of every split whose children all meet the policy."""
    classes = [case.rows[r]["cls"] for r in rows]
    for name in case.public:
        values = sorted({case.rows[r][name] for r in rows})
        if case.columns[name] == "TEXT":
            ways = [{value: value for value in values}] if len(values) > 1 else []
        else:
            ways = [{value: value > cut for value in values} for cut in values[:-1]]
        for way in ways:
            parts: dict = {}
            for r in rows:
                parts.setdefault(way[case.rows[r][name]], []).append(r)
            if all(is_fine(case, part) for part in parts.values()):
                left = sum(len(p) * entropy([case.rows[r]["cls"] for r in p]) for p in parts.values())
                yield len(rows) * entropy(classes) - left, name


@pytest.mark.duckdb
def test_every_leaf_meets_the_policy_and_every_split_is_the_best_that_may_be(duckdb_engine, make_table):
    split = 0
    for seed in range(12):
        case = public_case(seed)
        if not is_fine(case, range(len(case.rows))):
            with pytest.raises(RequirementBreached):
                case.run(duckdb_engine, make_table)
            continue
        plan = case.run(duckdb_engine, make_table)[0]
        tree = plan.tree
        rows_of: dict[int, list[int]] = {}
        for number, row in enumerate(case.rows):
            end = tree.nodes[follow(tree, row)]
            for node in (end, *(step for step, _ in tree.path(end))):
                rows_of.setdefault(node.number, []).append(number)
        for node in tree.nodes:
            here = rows_of[node.number]
            assert is_fine(case, here)
            best = max((gain for gain, _ in possible_splits(case, here)), default=0)
            assert node.gain == pytest.approx(best, abs=1e-6)
        groups = audited_spans(duckdb_engine, tree, case)
        assert groups == {frozenset(rows_of[leaf.number]) for leaf in tree.leaves}
        assert plan.figures["spans"] == len(groups)
        split += len(tree.nodes) > 1
    assert split > 4


@pytest.mark.duckdb
@pytest.mark.parametrize(("seed", "form"), [(3, "id3"), (5, "c45")])
def test_without_a_requirement_it_is_the_plain_tree(duckdb_engine, make_table, seed, form):
    case = public_case(seed, form=form)
    case.require = "k = 2"
    source = case.run(duckdb_engine, make_table)[1]
    infos = [source.info(name) for name in source.columns]
    chosen = settings(form, {"rare": 1, "min_leaf": 1})
    veto = Refused(ClassDemands(1))
    freely = induce(duckdb_engine, source.relation, infos[:-1], infos[-1], chosen, veto=veto)
    assert freely.tree.nodes == induce(duckdb_engine, source.relation, infos[:-1], infos[-1], chosen).tree.nodes
    assert veto.splits == 0


@pytest.mark.duckdb
def test_with_bins_every_node_meets_the_policy(duckdb_engine, make_table):
    split = 0
    for seed in range(12):
        case = public_case(seed, bins="3")
        if not is_fine(case, range(len(case.rows))):
            continue
        plan = case.run(duckdb_engine, make_table)[0]
        tree = plan.tree
        rows_of: dict[int, list[int]] = {}
        for number, row in enumerate(case.rows):
            end = tree.nodes[follow(tree, row)]
            for node in (end, *(step for step, _ in tree.path(end))):
                rows_of.setdefault(node.number, []).append(number)
        for node in tree.nodes:
            assert is_fine(case, rows_of[node.number])
        assert {frozenset(rows_of[leaf.number]) for leaf in tree.leaves} == audited_spans(duckdb_engine, tree, case)
        split += len(tree.nodes) > 1
    assert split > 2


@pytest.mark.duckdb
def test_with_bins_it_grows_the_tree_that_atp_prunes(duckdb_engine, make_table):
    """With a requirement that every child meets, both have the same bins and make the same splits."""
    compared = 0
    for seed in range(10):
        ldm = replace(public_case(seed, bins="4"), require="k = 2", table=f"first{seed}")
        ldm.rows = [row | {"id": place} for place, row in enumerate([*ldm.rows, *ldm.rows])]  # every child has two
        atp = replace(ldm, method="atp", table=f"again{seed}", options={"bins": "4", "allow_root_leaf": "true"})
        one, other = ldm.run(duckdb_engine, make_table)[0].tree, atp.run(duckdb_engine, make_table)[0].tree
        assert one.nodes == other.nodes
        compared += len(one.nodes) > 3
    assert compared > 2


@pytest.mark.parametrize("seed", [2])
def test_every_engine_gives_the_same_tree(engine, make_table, seed, duckdb_engine):
    case = replace(public_case(seed, form="c45"), require="k = 3")
    here = case.run(engine, make_table)[0]
    there = replace(case, table="again").run(duckdb_engine, make_table)[0]
    assert (here.tree, here.figures) == (there.tree, there.figures)
    assert all(leaf.rows >= 3 for leaf in here.tree.leaves)


@pytest.mark.duckdb
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"public": ["p0"]}, r'add "p1" to QUASI IDENTIFIER, or use kadet'),
        ({"class_is_public": True}, '"cls" is a quasi-identifier: use kadet'),
        ({"hierarchies": {"p0": [["a", "*"]]}}, 'does not generalize: leave out the HIERARCHY of "p0"'),
        ({"options": {"form": "cart"}}, "form of ALGORITHM ldm must be id3 or c45"),
        ({"options": {"bins": "1"}}, "bins of ALGORITHM ldm must be"),
        ({"options": {"bins": "3", "prune": "true"}}, "prune of ALGORITHM ldm is for splits at thresholds"),
        ({"options": {"cuts": "(p0, 3)"}}, "cuts of ALGORITHM ldm"),
    ],
)
def test_what_it_cannot_keep_is_refused(duckdb_engine, make_table, change, told):
    rows = [{"id": n, "p0": "ab"[n % 2], "p1": n, "cls": "xy"[n % 3 == 0]} for n in range(9)]
    columns = {"id": "INTEGER", "p0": "TEXT", "p1": "INTEGER", "cls": "TEXT"}
    case = replace(Case(columns, rows, ["p0", "p1"], "k = 2", method="ldm"), **change)
    with pytest.raises(PolicyError, match=told):
        case.run(duckdb_engine, make_table)
