"""Rule lists: the learner finds what the definition finds row by row, and SQL and Python give the same answers."""

from __future__ import annotations

import json
import re

import pytest
from classifier_tables import TARGET, random_rows, store, strange_rows

from ppdm_sql.classifiers.cells import count_cells, find_classes
from ppdm_sql.classifiers.conjunctive_rules import (
    Between,
    ConjunctiveRules,
    Is,
    Missing,
    learn,
    predict_one,
    predict_query,
)
from ppdm_sql.classifiers.values import checked_columns
from ppdm_sql.statements.names import Name
from tests.oracles import naive_rules as oracle

MOMENTS = ("Größe 🙂", "ppdm_value")


def as_told(row):
    return {name: str(value) if name in MOMENTS and value is not None else value for name, value in row.items()}


def boundaries(engine, relation, attributes, target, bins):
    """The candidate boundaries, as counted; that they are right is test_naive_bayes's business."""
    classes = find_classes(engine, relation, target, 5)
    known, _ = checked_columns(attributes, target)
    found = {}
    for info, attribute in zip(attributes, known, strict=True):
        cells = count_cells(engine, relation, info, attribute, classes)
        found[info.name] = list(cells.bins(bins)[0].boundaries) if attribute.ordered else None
    return found


@pytest.mark.parametrize(
    ("seed", "limits"),
    [
        (1, {"beam": 1, "max_rules": 4, "max_tests": 3, "min_rows": 5}),
        (2, {"beam": 4, "max_rules": 2, "max_tests": 3, "min_rows": 3}),
        (3, {"beam": 2, "max_rules": 1, "max_tests": 5, "min_rows": 1}),
    ],
)
def test_rules_are_those_of_the_definition(engine, make_table, seed, limits):
    rows = random_rows(seed, rows=90)
    relation, attributes, target = store(engine, make_table, rows)
    attributes = [info for info in attributes if info.name not in ("r", "small")]
    model = learn(engine, relation, attributes, target, bins=6, **limits)
    told = boundaries(engine, relation, attributes, target, 6)
    expected = oracle.rule_list([as_told(row) for row in rows], told, TARGET, rare=5, **limits)
    assert [rule.counts for rule in model.rules] == [counts for _, counts in expected]
    assert [[test.attribute for test in rule.tests] for rule in model.rules] == [
        [place for place, _, _ in tests] for tests, _ in expected
    ]
    assert len(model.rules) > 1


def test_sql_and_python_agree_on_every_row(engine, make_table):
    rows = random_rows(4, rows=100)
    relation, attributes, target = store(engine, make_table, rows)
    model = learn(engine, relation, attributes, target, beam=2, min_rows=2, max_rules=5)
    asked = rows + strange_rows(rows)
    everything, _, _ = store(engine, make_table, asked, "asked")
    query = predict_query(model, everything, ["key"], engine=engine, scores=True)
    found = {key: tuple(rest) for key, *rest in engine.fetch(query)}
    assert found == {row["key"]: (predict_one(model, row), *model.scores(row)) for row in asked}
    kinds = {type(test) for rule in model.rules for test in rule.tests}
    assert Between in kinds
    assert len(set(found.values())) > 2


def test_counts_are_of_the_rows_that_were_left(engine, make_table):
    rows = random_rows(6)
    relation, attributes, target = store(engine, make_table, rows)
    model = learn(engine, relation, attributes, target, max_rules=3)
    for rule in model.rules:
        ended = [row for row in rows if row[TARGET] in model.classes and model.rule_of(row) is rule]
        counts = tuple(sum(row[TARGET] == label for row in ended) for label in model.classes)
        assert counts == rule.counts
        assert rule is model.rules[-1] or sum(counts) >= 5


def test_each_kind_of_test_is_found(engine, make_table):
    """A NULL, a word and a range each tell one class for sure."""
    rows = (
        [(None, "u", 1, "gone")] * 9
        + [("w", "v", 2, "word")] * 8
        + [("o", "v", 30, "high")] * 7
        + [("o", "v", 3, "low")] * 6
    )
    relation = make_table(engine, "t", {"a": "TEXT", "b": "TEXT", "n": "INTEGER", "y": "TEXT"}, rows)
    *attributes, target = engine.columns(relation)
    model = learn(engine, relation, attributes, target)
    assert [rule.counts for rule in model.rules] == [(9, 0, 0, 0), (0, 0, 0, 8), (0, 7, 0, 0), (0, 0, 6, 0)]
    assert model.rules[0].tests == (Is(1, "u"),) or model.rules[0].tests == (Missing(0),)
    assert model.rules[1].tests == (Is(0, "w"),)
    assert isinstance(model.rules[2].tests[0], Between)
    assert model.rules[3].tests == ()
    only = learn(engine, relation, attributes[:1], target, max_rules=1)
    assert only.rules[0].tests == (Missing(0),)
    assert only.predict({"a": None}) == "gone"


def test_nothing_better_than_the_majority_gives_one_rule(engine, make_table):
    rows = [(word, label) for word in "ab" for label in "xy" for _ in range(5)] + [("a", "x"), ("b", "x")]
    relation = make_table(engine, "t", {"a": "TEXT", "y": "TEXT"}, rows)
    attribute, target = engine.columns(relation)
    model = learn(engine, relation, [attribute], target)
    assert [rule.tests for rule in model.rules] == [()]
    assert set(engine.fetch(predict_query(model, relation, []))) == {("x",)}


def test_a_list_that_covers_everything_ends_with_the_majority_of_all_rows(engine, make_table):
    rows = [("a", "x")] * 5 + [("b", "y")] * 6 + [("c", "z")] * 7
    relation = make_table(engine, "t", {"a": "TEXT", "y": "TEXT"}, rows)
    attribute, target = engine.columns(relation)
    model = learn(engine, relation, [attribute], target)
    assert [rule.counts for rule in model.rules] == [(0, 0, 7), (0, 6, 0), (5, 0, 0)]
    assert model.predict({"a": "never seen"}) == "x"


def test_a_rule_list_survives_json(duckdb_engine, make_table):
    rows = random_rows(8)
    relation, attributes, target = store(duckdb_engine, make_table, rows)
    model = learn(duckdb_engine, relation, attributes, target, max_rules=4)
    assert ConjunctiveRules.from_dict(json.loads(json.dumps(model.to_dict()))) == model


def test_nothing_of_ours_is_left_behind(engine, make_table):
    rows = [(f"w{number % 50}", "xy"[number % 2]) for number in range(400)]
    relation = make_table(engine, "t", {"a": "TEXT", "y": "TEXT"}, rows)
    attribute, target = engine.columns(relation)
    heard: list[str] = []
    engine.on_statement = heard.append
    model = learn(engine, relation, [attribute], target, max_rules=2)
    engine.on_statement = None
    assert len(model.rules) == 3
    made = {name for sql in heard for name in re.findall(r"TABLE .?(ppdm_[a-z_]+_[0-9]+)", sql)}
    assert {name.rstrip("0123456789") for name in made} == {"ppdm_cells_", "ppdm_rules_", "ppdm_rule_list_"}
    assert [name for name in made if engine.relation_kind(Name(name))] == []
