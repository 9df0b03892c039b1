"""kadet where columns next to the class are sensitive: each must be diverse in every span, whatever the tree asks."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from kadet_cases import TARGET, Case, assert_same, audited_spans, is_fine, random_case, spans_by_definition
from test_kadet import MORTGAGE, case_of, mortgage

from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.trees.sound import check_tree
from tests.sizes import are_many, seeds

REQUIRES = [
    "k = 2, simple_l = 1.3", "k = 3, distinct_l = 2", "k = 2, recursive_l = (4, 2)", "k = 2, entropy_l = 1.3",
    "k = 3, confidence = 85 %", "simple_l = 1.2", "k = 2, simple_l = 2.5", "k = 2, distinct_l = 3",
]  # fmt: skip


def secret_case(seed: int) -> Case:
    """A random table whose private columns are sensitive, now and then one that says nothing of the class."""
    draw = random.Random(f"sensitive {seed}")
    case = random_case(seed)
    if draw.random() < 0.3 or set(case.attributes) == set(case.public):
        case.columns = {"id": "INTEGER", "ill": draw.choice(["TEXT", "INTEGER"]), **case.columns}
        values = [1, 2, 3] if case.columns["ill"] == "INTEGER" else ["flu", "Flu ", "\u00e9"]
        case.rows = [{**row, "ill": draw.choice(values)} for row in case.rows]
    private = [name for name in case.attributes if name not in case.public]
    hidden = draw.sample(private, draw.randint(1, len(private)))
    known = draw.random() < 0.25
    return replace(
        case, require=draw.choice(REQUIRES), hidden=hidden, class_is_public=known, class_is_open=draw.random() < 0.3,
        table=f"secret_{seed}",
    )  # fmt: skip


def one_table(engine, make_table, seed: int) -> str:
    case = secret_case(seed)
    naive = case.naive()
    if naive.root is None:
        with pytest.raises(RequirementBreached):
            case.run(engine, make_table)
        return "refused"
    plan, _, _ = case.run(engine, make_table)
    assert_same(plan.tree, plan.tree.root, naive.root, case)
    check_tree(plan.tree)
    groups = audited_spans(engine, plan.tree, case)
    assert groups == naive.partition()
    assert all(is_fine(case, group) for group in groups)
    assert all(is_fine(case, group) for group in spans_by_definition(plan.tree, case))
    asked = {plan.tree.attributes[number].name for number in plan.tree.used_attributes()}
    risks = {risk.name for risk in plan.risks}
    assert ("private tests" in risks) == bool(asked - set(case.public) - set(case.hidden))
    assert ("homogeneity" in risks) == (TARGET not in case.sensitive)
    return "split" if len(plan.tree.nodes) > 1 else "root"


@pytest.mark.duckdb
@seeds(small=4, full=20, nightly=100)
def test_every_span_is_diverse_in_every_sensitive_column(duckdb_engine, make_table, seeds):
    became = Counter(one_table(duckdb_engine, make_table, seed) for seed in seeds)
    if are_many(seeds):
        assert became["split"] > len(seeds) // 4
        assert became["refused"] > 0


@pytest.mark.parametrize("seed", [3, 8])
def test_every_engine_keeps_them(engine, make_table, seed):
    one_table(engine, make_table, seed)


@pytest.mark.duckdb
def test_a_sensitive_column_forbids_what_the_class_allows(duckdb_engine, make_table):
    """Everybody of ward a has the flu; the class is mixed in both wards, and telling them apart would tell the illness."""
    rows = [("a", "flu", "yes"), ("a", "flu", "yes"), ("a", "flu", "no"), ("b", "gout", "no"), ("b", "flu", "no"),
            ("b", "gout", "yes")] * 3  # fmt: skip
    case = case_of(["ward", "ill", "cls"], rows, ["ward"], "k = 3, confidence = 80 %", options={"prune": "false"})
    free = case.run(duckdb_engine, make_table)[0]
    assert any(free.tree.attributes[number].name == "ward" for number in free.tree.used_attributes())
    held = replace(case, hidden=["ill"], table="again").run(duckdb_engine, make_table)[0]
    assert not any(held.tree.attributes[number].name == "ward" for number in held.tree.used_attributes())
    assert held.figures["spans"] == 1


@pytest.mark.wide
@pytest.mark.duckdb
def test_persons_and_sensitive_columns_together(duckdb_engine, make_table):
    """Three equal rows each: k counts persons, the requirement counts rows, and the tree is that of everybody once."""
    for seed in range(12):
        case = replace(secret_case(seed), options={"prune": "false"})
        tripled = [{**row, "id": 3 * row["id"] + turn, "who": row["id"]} for row in case.rows for turn in range(3)]
        thrice = replace(
            case, columns={**case.columns, "who": "INTEGER"}, rows=tripled, entity="who", table=f"thrice_{seed}"
        )
        try:
            once = case.run(duckdb_engine, make_table)[0].tree
        except RequirementBreached:
            with pytest.raises(RequirementBreached):
                thrice.run(duckdb_engine, make_table)
            continue
        found = thrice.run(duckdb_engine, make_table)[0].tree
        assert [node.counts for node in found.nodes] == [tuple(3 * n for n in node.counts) for node in once.nodes]
        assert [node.split for node in found.nodes] == [node.split for node in once.nodes]


@pytest.mark.duckdb
def test_more_combinations_than_can_be_counted_are_refused(duckdb_engine, make_table):
    rows = [("a" if n % 2 else "b", f"illness {n}", "yes" if n % 3 else "no") for n in range(1_100)]
    case = case_of(["ward", "ill", "cls"], rows, ["ward"], "k = 3, distinct_l = 2", hidden=["ill"])
    with pytest.raises(
        PolicyError, match=r'at most 1,000 combinations of sensitive values diverse, but "ill" have 1,100'
    ):
        case.run(duckdb_engine, make_table)


@pytest.mark.duckdb
def test_a_public_class_is_judged_class_by_class(duckdb_engine, make_table):
    """The people of one class all have the flu: anyone who knows the class knows the illness, before any question is asked."""
    rows = [("a", "flu", "yes")] * 4 + [("b", "gout", "no"), ("b", "flu", "no")] * 3
    case = case_of(
        ["ward", "ill", "cls"], rows, ["ward"], "k = 2, distinct_l = 2", hidden=["ill"], class_is_public=True
    )  # fmt: skip
    with pytest.raises(RequirementBreached, match=r'distinct_l cannot be met for "ill": the class "cls" is public'):
        case.run(duckdb_engine, make_table)


# -- values that few have ----------------------------------------------------------------------------------


@pytest.mark.duckdb
def test_the_paper_names_values_of_private_attributes_that_few_have(duckdb_engine, make_table):
    """The mortgage example with k = 4: both words of sports are held by three, and named only on request."""
    case = mortgage("k = 4")
    assert len(case.run(duckdb_engine, make_table)[0].tree.nodes) == 1
    case = replace(case, options={**case.options, "categories": "all"}, table="again")
    plan = case.run(duckdb_engine, make_table)[0]
    assert plan.tree.root.split.groups == (("No",), ("Yes",))
    assert [node.counts for node in plan.tree.leaves] == [(3, 0), (1, 2)]
    assert (plan.figures["spans"], plan.figures["k of the model"], plan.figures["candidates dropped"]) == (1, 6, 1)
    assert "rare_values" in {risk.name for risk in plan.risks}


@pytest.mark.duckdb
def test_public_values_that_few_have_are_not_named_in_any_case(duckdb_engine, make_table):
    rows = [(marital if place else "W", sports, risk) for place, (marital, sports, risk) in enumerate(MORTGAGE)]
    case = case_of(["marital", "sports", "risk"], rows, ["marital"], "k = 2", options={"categories": "all"})
    tree = case.run(duckdb_engine, make_table)[0].tree
    assert "W" not in str(tree)


@pytest.mark.duckdb
def test_a_word_that_is_none_is_refused(duckdb_engine, make_table):
    case = mortgage("k = 2")
    with pytest.raises(PolicyError, match="categories of ALGORITHM kadet must be common or all"):
        replace(case, options={"categories": "every"}).run(duckdb_engine, make_table)
