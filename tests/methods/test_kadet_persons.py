"""Persons with several rows: k counts persons in kadet, and one person's many rows are no group."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from kadet_cases import TARGET, Case, audited_spans, is_fine, random_case, spans_by_definition

from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.methods.kadet import model as module
from ppdm_sql.methods.kadet.split_queue import Growth


def with_persons(case: Case, persons: list, table: str, **more) -> Case:
    """The same rows, each said to be of a person."""
    rows = [{**row, "who": who} for row, who in zip(case.rows, persons, strict=True)]
    columns = {**case.columns, "who": "INTEGER"}
    return replace(case, columns=columns, rows=rows, entity="who", table=table, **more)


def result(case: Case, engine, make_table):
    try:
        return case.run(engine, make_table)[0]
    except RequirementBreached:
        return None


def shape(tree, times: int = 1):
    return [(node.parent, node.split, tuple(times * count for count in node.counts)) for node in tree.nodes]


@pytest.mark.wide
@pytest.mark.duckdb
def test_one_row_each_is_as_without_persons(duckdb_engine, make_table):
    trees = 0
    for seed in range(9):
        case = random_case(seed)
        alone = result(case, duckdb_engine, make_table)
        numbers = random.Random(seed).sample(range(1000), len(case.rows))
        told = result(with_persons(case, numbers, f"persons_{seed}"), duckdb_engine, make_table)
        assert (alone is None) == (told is None)
        if alone is not None:
            assert shape(alone.tree) == shape(told.tree)
            assert alone.figures == told.figures
            trees += len(alone.tree.nodes) > 1
    assert trees > 3


@pytest.mark.wide
@pytest.mark.duckdb
def test_copies_of_a_row_are_one_person(duckdb_engine, make_table):
    """Everybody three times: the tree of everybody once, its counts times three.  Counted by rows it would be finer."""
    trees = finer = 0
    for seed in range(9):
        case = random_case(seed)
        case.options = {name: case.options[name] for name in ("form", "prune")}
        alone = result(case, duckdb_engine, make_table)
        thrice = [{**row, "id": 3 * row["id"] + turn} for row in case.rows for turn in range(3)]
        many = replace(case, rows=thrice, table=f"thrice_{seed}")
        told = result(with_persons(many, [row["id"] // 3 for row in thrice], f"who_{seed}"), duckdb_engine, make_table)
        assert (alone is None) == (told is None)
        if alone is None:
            continue
        assert shape(alone.tree, 3) == shape(told.tree)
        assert told.figures["k of the model"] == alone.figures["k of the model"]
        trees += len(alone.tree.nodes) > 1
        rows = result(many, duckdb_engine, make_table)
        finer += rows is not None and rows.figures["spans"] > told.figures["spans"]
    assert trees > 3
    assert finer > 1


@pytest.mark.duckdb
def test_every_span_has_k_persons_whoever_has_which_rows(duckdb_engine, make_table, monkeypatch):
    """Persons with rows here and there, and rows of nobody: judged by trying every private combination."""
    grown = []

    class Watched(Growth):
        def run(self, progress):
            grown.append(self)
            return super().run(progress)

    monkeypatch.setattr(module, "Growth", Watched)
    tried = published = split = 0
    for seed in range(16):
        draw = random.Random(f"persons {seed}")
        case = random_case(seed)
        many = [draw.choice([None, *range(len(case.rows))]) for _ in case.rows]
        case = with_persons(case, many, f"some_{seed}")
        tried += 1
        plan = result(case, duckdb_engine, make_table)
        if plan is None:
            continue
        published += 1
        split += len(plan.tree.nodes) > 1
        groups = audited_spans(duckdb_engine, plan.tree, case)
        people = [len({case.rows[number]["who"] for number in group} - {None}) for group in groups]
        assert plan.figures["k of the model"] == min(people) >= case.k
        assert all(is_fine(case, group) for group in spans_by_definition(plan.tree, case))
        # the weights of a span are never more than its persons
        kept = [int(grown[-1].demands.people(counts).sum()) for counts in grown[-1].spans.population.values()]
        apart = {(who, row[TARGET] if case.class_is_public else None) for who, row in zip(many, case.rows, strict=True)}
        assert sum(kept) == len({one for one in apart if one[0] is not None})
    assert published >= 0.6 * tried
    assert split > 4


def visits(rows: list[tuple[str, str, str, int]]) -> Case:
    table = [
        {"id": number, "zip": place, "ward": ward, TARGET: ill, "who": who}
        for number, (place, ward, ill, who) in enumerate(rows)
    ]
    columns = {"id": "INTEGER", "zip": "TEXT", "ward": "TEXT", TARGET: "TEXT", "who": "INTEGER"}
    options = {"form": "id3", "prune": "false"}
    return Case(columns, table, ["zip"], "k = 3", options, table="visits", entity="who")


def test_twelve_visits_of_one_person_are_no_group(engine, make_table):
    """Alone in his town, or on his ward, with a class of his own; neither is asked about."""
    others = [("10", "a", "no", number) for number in range(20)]
    town = visits([*others, *[("99", "a", "yes", 77)] * 12])
    plan = town.run(engine, make_table)[0]
    assert len(plan.tree.nodes) == 1
    ward = replace(visits([*others, *[("10", "b", "yes", 77)] * 12]), table="wards")
    tree = ward.run(engine, make_table)[0].tree
    assert all("b" not in group for node in tree.nodes if node.split for group in node.split.groups)
    by_rows = replace(town, entity=None, columns={n: t for n, t in town.columns.items() if n != "who"}, table="rows")
    assert len(by_rows.run(engine, make_table)[0].tree.nodes) == 3  # who says nothing of persons gets rows


@pytest.mark.duckdb
def test_too_few_persons_are_refused_however_many_rows(duckdb_engine, make_table):
    case = visits([("10", "a", ill, number % 2) for number in range(40) for ill in ("no", "yes")])
    with pytest.raises(RequirementBreached, match=r"2 persons \(in 80 rows\)"):
        case.run(duckdb_engine, make_table)
    public = replace(case, class_is_public=True, require="k = 2", table="known")
    public.rows = [{**row, TARGET: "no" if row["who"] else row[TARGET]} for row in public.rows]
    with pytest.raises(RequirementBreached, match=r"1 of its values have fewer persons \(1 together\)"):
        public.run(duckdb_engine, make_table)


@pytest.mark.duckdb
def test_ldm_takes_persons_with_one_row_each(duckdb_engine, make_table):
    rows = [(str(number % 2), "a", "yes" if number % 2 else "no", number) for number in range(12)]
    case = replace(visits(rows), method="ldm", public=["zip", "ward"], options={"form": "id3"})
    plan = case.run(duckdb_engine, make_table)[0]
    assert plan.figures["k of the model"] == 6
    twice = replace(case, rows=[{**row, "who": row["who"] // 2} for row in case.rows], table="twice")
    with pytest.raises(PolicyError, match="12 rows belong to 6 persons"):
        twice.run(duckdb_engine, make_table)


@pytest.mark.duckdb
def test_the_person_is_in_no_model(duckdb_engine, make_table):
    tree = visits([("10", "a", "no", number) for number in range(9)]).run(duckdb_engine, make_table)[0].tree
    assert Counter(attribute.name for attribute in tree.attributes) == {"zip": 1, "ward": 1}
