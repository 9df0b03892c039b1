"""Full-domain recoding against a look at every node, on random tables."""

from __future__ import annotations

from fractions import Fraction

import pytest
from lattice_cases import QUALITIES, Case, random_case
from oracles.naive_lattice import minimal

from ppdm_sql.errors import RequirementBreached
from ppdm_sql.methods.incognito import method
from ppdm_sql.methods.lattice import search
from ppdm_sql.methods.plan import PART
from tests.sizes import seeds

pytestmark = pytest.mark.duckdb


def check_case(engine, case: Case, quality: str) -> bool:
    """Whether something was published; what was is the best node there is."""
    if quality not in ("loss", "precision", "entropy"):
        case.tunings = {name: type(one)(most_level=one.most_level) for name, one in case.tunings.items()}
    case.options = {**case.options, "quality": quality}
    expected = case.best(quality)
    try:
        plan, rows = case.run(engine)
    except RequirementBreached:
        assert expected is None
        return False
    found = plan.choices[0]
    assert expected is not None
    if quality == "entropy":
        assert float(found.value) == pytest.approx(expected[0], rel=1e-6, abs=1e-6)
    else:
        assert (
            found.value,
            sum(found.levels.values()),
            found.suppressed_rows,
            tuple(found.levels.values()),
        ) == expected
    assert plan.figures["proved optimal"] == "yes"
    check_rows(case, plan, rows)
    return True


def check_rows(case: Case, plan, rows) -> None:
    """What is printed: every value by its level, and every class as the policy asks."""
    source = {row["id"]: row for row in case.rows}
    ladders = {ladder.name: ladder for ladder in case.ladders()}
    classes = {}
    for row in rows:
        classes.setdefault(tuple(row[name] for name in case.quasi), []).append(source[row["ppdm_key0"]])
        for name, level in plan.choices[0].levels.items():
            label = ladders[name].labels[source[row["ppdm_key0"]][name]][level]
            if label == "all":
                assert row[name].strip("*") == ""
            else:
                assert row[name] == (None if label is None else label[1])
    assert all(case.holds(group, case.rows) for group in classes.values())
    assert len(classes) == plan.classes == len({row[PART] for row in rows})
    assert len(rows) + plan.suppressed_rows == len(case.rows)


@seeds(small=25, full=200, nightly=2000)
@pytest.mark.parametrize("listed", [1, 12])
def test_the_best_node_of_every_lattice(duckdb_engine, seeds, listed, monkeypatch):
    """listed: with one node to list, everything that cannot be better is passed over; with twelve, little."""
    monkeypatch.setattr(method, "_LISTED", listed)
    published = sum(check_case(duckdb_engine, random_case(seed), QUALITIES[seed % len(QUALITIES)]) for seed in seeds)
    assert published >= 0.5 * len(seeds)


@seeds(small=12, full=60, nightly=400)
def test_rows_left_out_and_ties_can_cost_what_they_cost_in_arx(duckdb_engine, seeds):
    differ = 0
    for seed in seeds:
        case = random_case(seed)
        case.options = {"left_out_cost": Fraction(seed % 4, 4), "ties": ("right", "wrong")[seed % 3 > 0]}
        usual = random_case(seed).best("classification")
        check_case(duckdb_engine, case, "classification")
        differ += case.best("classification") != usual
    assert differ


@seeds(small=10, full=60, nightly=400)
def test_minimal_all_lists_every_minimal_node(duckdb_engine, seeds):
    for seed in seeds:
        case = random_case(seed)
        case.options = {"quality": "loss", "minimal": "all"}
        expected = minimal(case.passing())
        try:
            plan, _ = case.run(duckdb_engine)
        except RequirementBreached:
            assert not expected
            continue
        assert plan.figures["minimal nodes"] == len(expected)
        step = next(one for one in plan.steps if "minimal node" in one)
        texts = {", ".join(f"{name} {level}" for name, level in zip(case.quasi, one, strict=True)) for one in expected}
        assert set(step.partition(": ")[2].split("; ")) == texts


@seeds(small=10, full=60, nightly=400)
def test_a_descent_finds_nodes_that_pass(duckdb_engine, seeds, monkeypatch):
    """Lattices that are too large to be searched are descended; what is found passes, and has no proof."""
    monkeypatch.setattr(search, "MOST_DENSE", 0)
    for seed in seeds:
        case = random_case(seed)
        passing = {node.levels: len(node.out) for node in case.passing()}
        try:
            plan, rows = case.run(duckdb_engine)
        except RequirementBreached:
            continue
        levels = tuple(plan.choices[0].levels.values())
        assert passing[levels] == plan.suppressed_rows
        assert plan.figures["proved optimal"] == "no"
        check_rows(case, plan, rows)
