"""Tables with nothing, too much or odd things in them: each works, or is refused in one sentence without a value."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest

from ppdm_sql.classifiers import conjunctive_rules, naive_bayes
from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.errors import PolicyError, PpdmError
from ppdm_sql.statements.names import Name
from ppdm_sql.trees.tree import plain

LEARNERS = [pytest.param(naive_bayes, id="bayes"), pytest.param(conjunctive_rules, id="rules")]
both = pytest.mark.parametrize("learner", LEARNERS)


def check(engine, learner, relation, **options):
    """Learns, and finds SQL, Python and the model after JSON of one mind on every row; gives the model and its classes."""
    *attributes, target = engine.columns(relation)
    model = learner.learn(engine, relation, attributes, target, **options)
    again = type(model).from_dict(json.loads(json.dumps(model.to_dict())))
    assert again == model
    names = [info.name for info in attributes]
    found = engine.fetch(learner.predict_query(again, relation, names, engine=engine))
    for *values, label in found:
        assert plain(label) == learner.predict_one(model, dict(zip(names, values, strict=True)))
    return model, {plain(row[-1]) for row in found}


UNIQUE = {
    "TEXT": lambda n: f"word {n}",
    "INTEGER": lambda n: n * 7 - 300,
    "BIGINT": lambda n: (1 << 62) + n,
    "DECIMAL(38, 10)": lambda n: Decimal(10**27 + n).scaleb(-10),
    "DECIMAL(4, 2)": lambda n: Decimal(n).scaleb(-2),
    "DOUBLE": lambda n: n * 1e-300,
    "REAL": lambda n: n / 7,
    "DATE": lambda n: date(1, 1, 1) + timedelta(days=n * 40_000 % 3_000_000),
    "TIMESTAMP": lambda n: datetime(2024, 1, 1) + timedelta(microseconds=n),
    "BOOLEAN": lambda n: n % 2 == 0,
}


@both
def test_unique_values_of_every_kind(engine, make_table, learner):
    rows = [(*(value(n) for value in UNIQUE.values()), "xy"[n * 7 % 10 > 4]) for n in range(90)]
    columns = {f"c{place}": kind for place, kind in enumerate(UNIQUE)}
    relation = make_table(engine, "t", columns | {"y": "TEXT"}, rows)
    model, found = check(engine, learner, relation, **({"max_rules": 4} if learner is conjunctive_rules else {}))
    assert found == {"x", "y"}
    assert "word" not in json.dumps(model.to_dict())


@pytest.mark.parametrize("kind", UNIQUE)
def test_a_single_cut_of_every_kind_parts_the_classes(engine, make_table, kind):
    values = sorted({UNIQUE[kind](n) for n in range(60)})
    rows = [
        (value, "low" if place < len(values) / 2 else "high") for place, value in enumerate(values) for _ in range(6)
    ]
    relation = make_table(engine, "t", {"a": kind, "y": "TEXT"}, rows)
    for learner in (naive_bayes, conjunctive_rules):
        *attributes, target = engine.columns(relation)
        model = learner.learn(
            engine, relation, attributes, target, bins=2, **({"max_rules": 1} if learner is conjunctive_rules else {})
        )
        found = engine.fetch(learner.predict_query(model, relation, ["a", "y"], engine=engine))
        assert all(label == y == model.predict({"a": a}) for a, y, label in found) or kind == "TEXT"


@both
def test_zoned_timestamps_are_compared_as_moments(engine, make_table, learner):
    from datetime import UTC

    start = datetime(2024, 3, 30, 20, tzinfo=UTC)
    rows = [(start + timedelta(hours=n), "early" if n < 20 else "late") for n in range(60)]
    relation = make_table(engine, "t", {"a": "TIMESTAMPTZ", "y": "TEXT"}, rows)
    model, found = check(engine, learner, relation, bins=3)
    assert found == {"early", "late"}
    assert [model.predict({"a": moment}) == label for moment, label in rows].count(True) == 60


@both
@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("INTEGER", [3, -(1 << 31)]),
        ("DECIMAL(6, 3)", [Decimal("1.500"), Decimal("-2.000")]),
        ("BOOLEAN", [True, False]),
        ("DATE", [date(2024, 2, 29), date(1, 1, 1)]),
        ("TEXT", ["'; --", "é"]),
    ],
)
def test_classes_of_every_kind(engine, make_table, learner, kind, values):
    rows = [(n % 2, values[n % 2]) for n in range(40)]
    relation = make_table(engine, "t", {"a": "INTEGER", "y": kind}, rows)
    model, found = check(engine, learner, relation)
    assert found == set(model.classes) == set(map(plain, values))
    assert list(model.classes) == sorted(model.classes)


@both
def test_one_class_is_always_the_answer(engine, make_table, learner):
    relation = make_table(engine, "t", {"a": "TEXT", "y": "TEXT"}, [("u", "only")] * 6 + [("v", None)] * 2)
    model, found = check(engine, learner, relation)
    assert found == {"only"}
    assert model.without_class == 2


@both
@pytest.mark.parametrize(
    "rows", [[], [("a", None)] * 9, [("a", f"class {n}") for n in range(30)]], ids=["empty", "NULL", "unique"]
)
def test_nothing_to_learn_from_is_refused(engine, make_table, learner, rows):
    relation = make_table(engine, "t", {"a": "TEXT", "y": "TEXT"}, rows)
    *attributes, target = engine.columns(relation)
    with pytest.raises(PpdmError, match='^t: no class of column "y" has enough rows to learn from$'):
        learner.learn(engine, relation, attributes, target)


@both
@pytest.mark.parametrize(
    ("kinds", "values"),
    [
        (["TEXT", "INTEGER", "DOUBLE", "DATE", "BOOLEAN", "TIMESTAMP"], [None] * 6),
        (["TEXT", "INTEGER", "DOUBLE", "DOUBLE", "DATE"], ["same", 5, float("nan"), 1e308, date(2024, 1, 1)]),
    ],
    ids=["NULL", "constant"],
)
def test_columns_that_are_the_same_everywhere_say_nothing(engine, make_table, learner, kinds, values):
    columns = {f"c{place}": kind for place, kind in enumerate(kinds)}
    relation = make_table(engine, "t", columns | {"y": "TEXT"}, [(*values, "x")] * 6 + [(*values, "y")] * 7)
    for options in ({}, {"numeric": "gaussian"}) if learner is naive_bayes else ({},):
        model, found = check(engine, learner, relation, **options)
        assert found == {"y"}
        assert model.predict(dict.fromkeys(columns)) == "y"
        if learner is naive_bayes:
            assert model.scores(dict(zip(columns, values, strict=True))) == model.prior_weights


@both
def test_no_attribute_at_all_gives_the_majority(engine, make_table, learner):
    relation = make_table(engine, "t", {"y": "TEXT"}, [("x",)] * 6 + [("y",)] * 7)
    _, found = check(engine, learner, relation)
    assert found == {"y"}


@pytest.mark.parametrize("learner", LEARNERS)
def test_ten_thousand_categories(duckdb_engine, make_table, learner):
    rows = [(f"'category {n % 10_000}'", "xy"[n % 10_000 % 3 == 0]) for n in range(20_000)]
    relation = make_table(duckdb_engine, "t", {"a": "TEXT", "y": "TEXT"}, rows)
    options = {"max_rules": 2, "min_rows": 2} if learner is conjunctive_rules else {}
    *attributes, target = duckdb_engine.columns(relation)
    model = learner.learn(duckdb_engine, relation, attributes, target, rare=2, **options)
    found = dict(duckdb_engine.fetch(learner.predict_query(model, relation, ["a"], engine=duckdb_engine)))
    assert found == {row[0]: model.predict({"a": row[0]}) for row in rows}
    if learner is naive_bayes:
        assert found == dict(rows)


def test_more_categories_than_branches_are_joined(engine, make_table):
    rows = [(f"w{n % 60}" if n % 11 else None, "xyz"[n % 60 % 3]) for n in range(600)] + [("rare", "x")]
    relation = make_table(engine, "t", {"a": "TEXT", "y": "TEXT"}, rows)
    model, found = check(engine, naive_bayes, relation)
    assert found == {"x", "y", "z"}
    assert len(model.parts[0].domain.values) == 60
    check(engine, conjunctive_rules, relation, max_rules=3)


@both
def test_wrong_calls_are_refused_in_one_sentence(duckdb_engine, make_table, learner):
    relation = make_table(
        duckdb_engine, "t", {"a": "TEXT", "f": "DOUBLE", "s": "TIMESTAMP", "y": "TEXT"}, [("u", 1.0, None, "x")] * 6
    )
    a, f, s, y = duckdb_engine.columns(relation)
    odd = ColumnInfo("list", Kind.UNSUPPORTED, "INTEGER[]")

    def refused(match, attributes, target, **options):
        with pytest.raises(PolicyError, match=match) as caught:
            learner.learn(duckdb_engine, relation, attributes, target, **options)
        assert "\n" not in str(caught.value)

    refused("is the target", [a, y], y)
    refused("twice", [a, a], y)
    refused('"f" is DOUBLE: a class must be', [a], f)
    refused('"s" is TIMESTAMP: a class must be', [a], s)
    refused("cannot be learned from", [odd], y)
    refused("a class must be", [a], odd)
    refused(r"bins of \w+ must be a whole number from 1 to", [a], y, bins=0)
    refused(r"bins of \w+ must be a whole number from 1 to", [a], y, bins=100_000)
    refused(r"rare of \w+ must be a whole number", [a], y, rare=0)
    refused(r"rare of \w+ must be a whole number", [a], y, rare=2.5)
    if learner is naive_bayes:
        refused("numeric of naive_bayes must be", [a], y, numeric="kernel")
        refused("laplace of naive_bayes must be", [a], y, laplace=-1)
    else:
        refused("beam of conjunctive_rules must be a whole number from 1 to 5", [a], y, beam=6)
        refused("max_rules of conjunctive_rules must be", [a], y, max_rules=0)
        refused("min_rows of conjunctive_rules must be", [a], y, min_rows=0)


@both
def test_kept_columns_that_would_collide_are_refused(duckdb_engine, make_table, learner):
    relation = make_table(duckdb_engine, "t", {"a": "TEXT", "y": "TEXT"}, [("u", "x")] * 6)
    a, y = duckdb_engine.columns(relation)
    model = learner.learn(duckdb_engine, relation, [a], y)
    for keep in (["ppdm_class"], ["ppdm_score_0"], ["a", "a"]):
        with pytest.raises(PolicyError, match="listed twice among the columns to keep|cannot be kept"):
            learner.predict_query(model, relation, keep)


def test_a_row_without_a_column_is_refused(duckdb_engine, make_table):
    relation = make_table(duckdb_engine, "t", {"a": "TEXT", "y": "TEXT"}, [("u", "x")] * 6 + [("v", "y")] * 6)
    a, y = duckdb_engine.columns(relation)
    for learner in (naive_bayes, conjunctive_rules):
        with pytest.raises(PolicyError, match='no column "a"'):
            learner.learn(duckdb_engine, relation, [a], y).predict({"b": 1})


@pytest.mark.postgres
def test_infinite_dates_and_numbers_have_their_place(postgres_engine):
    postgres_engine.pass_through(
        "CREATE TABLE t AS SELECT CASE WHEN n < 10 THEN date '-infinity' WHEN n < 20 THEN date '2020-01-01' + n ELSE date 'infinity' END AS d,"
        " CASE WHEN n < 10 THEN 'NaN'::numeric WHEN n < 20 THEN n / 3.0 ELSE 'infinity'::numeric END AS q,"
        " CASE WHEN n < 10 THEN 'x' WHEN n < 20 THEN 'y' ELSE 'z' END AS y FROM generate_series(0, 29) AS n"
    )
    relation = Name("t")
    *attributes, target = postgres_engine.columns(relation)
    for learner in (naive_bayes, conjunctive_rules):
        for info in attributes:
            model = learner.learn(postgres_engine, relation, [info], target, bins=12)
            query = learner.predict_query(model, relation, ["y"], engine=postgres_engine)
            assert {(y, label) for y, label in postgres_engine.fetch(query) if y == "y"} == {("y", "y")}
    odd = {"d": "-infinity"}
    assert naive_bayes.learn(postgres_engine, relation, attributes[:1], target, bins=12).predict(odd) == "x"
    number = naive_bayes.learn(postgres_engine, relation, attributes[1:], target, bins=12, numeric="gaussian")
    assert sum(moments[0] for moments in number.parts[0].moments) == 10
