"""A dictionary that is not a model of ours is refused with a PolicyError, whatever is wrong with it."""

from __future__ import annotations

import copy
import json
import random

import pytest
from classifier_tables import random_rows, store

from ppdm_sql.classifiers import conjunctive_rules, naive_bayes
from ppdm_sql.classifiers.conjunctive_rules import ConjunctiveRules
from ppdm_sql.classifiers.naive_bayes import NaiveBayes
from ppdm_sql.errors import PolicyError
from ppdm_sql.statements.names import Name


@pytest.fixture(scope="module")
def models():
    """One of each, learned once."""
    import pyarrow as pa

    from ppdm_sql.engines.duckdb import DuckDBEngine
    from tests.conftest import arrow_type

    def make(engine, name, columns, rows):
        arrays = [pa.array(c, arrow_type(w)) for c, w in zip(zip(*rows, strict=True), columns.values(), strict=True)]
        engine.load(Name(name), pa.table(dict(zip(columns, arrays, strict=True))), temporary=False)
        return Name(name)

    with DuckDBEngine.open(":memory:") as engine:
        relation, attributes, target = store(engine, make, random_rows(31))
        return {
            "bins": naive_bayes.learn(engine, relation, attributes, target),
            "gaussian": naive_bayes.learn(engine, relation, attributes, target, numeric="gaussian"),
            "rules": conjunctive_rules.learn(engine, relation, attributes, target, max_rules=4),
        }


def places(content, way=()):
    """The way to every part of a dictionary."""
    yield way
    inside = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, part in inside:
        yield from places(part, (*way, key))


def changed(content, way, junk):
    content = copy.deepcopy(content)
    if not way:
        return junk
    inside = content
    for key in way[:-1]:
        inside = inside[key]
    if junk is places:  # a sign: the part is taken out
        del inside[way[-1]]
    else:
        inside[way[-1]] = junk
    return content


JUNK = [
    None,
    -1,
    1.5,
    10**30,
    "",
    "NaN",
    "9" * 1000,
    "\ud800",
    "a\0b",
    [],
    {},
    [[]],
    {"text": "x"},
    True,
    float("nan"),
    places,
]
ROW = random_rows(31)[0]


@pytest.mark.parametrize("which", ["bins", "gaussian", "rules"])
def test_a_broken_part_is_refused_or_still_a_model(models, which):
    """Whatever is read can be used: it predicts and is written again.  Everything else is a PolicyError."""
    whole = json.loads(json.dumps(models[which].to_dict()))
    dice, refused = random.Random(1), 0
    ways = list(places(whole))
    for way in dice.sample(ways, min(len(ways), 250)):
        junk = dice.choice(JUNK)
        try:
            model = type(models[which]).from_dict(changed(whole, way, junk))
        except PolicyError as error:
            refused += len(str(error).splitlines()) == 1
            continue
        assert type(model).from_dict(model.to_dict()) == model
        learner = conjunctive_rules if which == "rules" else naive_bayes
        learner.predict_query(model, Name("t"), []).sql("duckdb")
        model.predict(ROW | {attribute.name: None for attribute in model.attributes})
    assert refused > 100


def bayes(**changes):
    model = {
        "format": "ppdm naive bayes 1",
        "target": {"name": "y", "kind": "text", "ordered": False},
        "classes": [{"text": "a"}, {"text": "b"}],
        "priors": [3, 4],
        "laplace": 1,
        "laplace_prior": True,
        "without_class": 0,
        "of_rare_classes": 0,
        "attributes": [
            {
                "column": {"name": "n", "kind": "integer", "ordered": True},
                "counted": {"boundaries": [{"decimal": "5"}, {"decimal": "9"}], "counts": [[1, 0], [1, 2], [1, 2]]},
            }
        ],
    }
    return model | changes


def attribute(column=(), counted=()):
    (part,) = bayes()["attributes"]
    return {"column": part["column"] | dict(column), "counted": part["counted"] | dict(counted)}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ([], "is not an object"),
        (bayes(format="ppdm naive bayes 99"), "must be one of"),
        (bayes(classes=[{"text": "a"}, {"text": "a"}]), "a class twice"),
        (bayes(classes=[{"integer": "1"}, {"text": "b"}]), "not a value of type text"),
        (bayes(classes=[]), "fewer than 1"),
        (bayes(priors=[3]), "must have 2 entries"),
        (bayes(priors=[3, True]), "not a whole number"),
        (bayes(target={"name": "y", "kind": "float", "ordered": True}), "cannot be a class"),
        (bayes(attributes=[attribute({"name": "y"})]), "names a column twice"),
        (bayes(attributes=[attribute({"kind": "text"})]), "is ordered, but its kind has no order"),
        (bayes(attributes=[attribute({}, {"counts": [[9, 0], [1, 2], [1, 2]]})]), "more rows than its class has"),
        (bayes(attributes=[attribute({}, {"counts": [[1, 0], [1, 2]]})]), "must have 3 entries"),
        (
            bayes(attributes=[attribute({}, {"boundaries": [{"decimal": "9"}, {"decimal": "5"}]})]),
            "are not in ascending order",
        ),
        (
            bayes(attributes=[attribute({}, {"boundaries": [{"decimal": "5.5"}, {"decimal": "9"}]})]),
            "not a whole number",
        ),
        (bayes(attributes=[attribute({}, {"boundaries": [{"moment": "2024-01-01"}]})]), "this version does not know"),
    ],
)
def test_what_is_wrong_is_told(content, reason):
    assert NaiveBayes.from_dict(bayes()).predict({"n": 7}) == "b"
    with pytest.raises(PolicyError, match=reason):
        NaiveBayes.from_dict(content)


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ([], "fewer than 1"),
        ([{"tests": [{"attribute": 0, "missing": True}], "counts": [1, 0]}], "does not end with"),
        ([{"tests": [], "counts": [1, 0]}] * 2, "does not end with"),
        ([{"tests": [{"attribute": 7, "missing": True}], "counts": [1, 0]}], "does not exist"),
        (
            [{"tests": [{"attribute": 0, "is": {"integer": "3"}}], "counts": [1, 0]}],
            "not a valid test for its attribute",
        ),
        ([{"tests": [{"attribute": 0}], "counts": [1, 0]}], "not a valid test for its attribute"),
        (
            [{"tests": [{"attribute": 0, "from": {"decimal": "9"}, "below": {"decimal": "9"}}], "counts": [1, 0]}],
            "without a value",
        ),
    ],
)
def test_what_is_wrong_with_a_rule_list_is_told(rules, reason):
    content = bayes(format="ppdm conjunctive rules 1", attributes=[{"name": "n", "kind": "integer", "ordered": True}])
    content = {key: part for key, part in content.items() if key not in ("priors", "laplace", "laplace_prior")}
    good = [{"tests": [{"attribute": 0, "from": {"decimal": "9"}}], "counts": [1, 0]}, {"tests": [], "counts": [0, 1]}]
    assert ConjunctiveRules.from_dict(content | {"rules": good}).predict({"n": 9}) == "a"
    with pytest.raises(PolicyError, match=reason):
        ConjunctiveRules.from_dict(content | {"rules": rules})


def test_a_hostile_class_is_only_a_value(models):
    evil = "x'); DROP TABLE t; --"
    model = NaiveBayes.from_dict(bayes(classes=[{"text": evil}, {"text": "b"}]))
    text = naive_bayes.predict_query(model, Name("t"), []).sql("duckdb")
    assert "'x''); DROP TABLE t; --'" in text
