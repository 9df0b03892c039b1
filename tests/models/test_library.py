"""Trees that were really learned: their own training rows end where they were counted, whichever way they go."""

from __future__ import annotations

import random
from collections import Counter
from datetime import date, timedelta
from decimal import Decimal

import pytest
from sqlglot import exp

from ppdm_sql.errors import PolicyError
from ppdm_sql.models import library
from ppdm_sql.statements.names import Name, column
from ppdm_sql.trees.expression import predict_select
from ppdm_sql.trees.follow import follower
from ppdm_sql.trees.predict import predict
from ppdm_sql.trees.tree_json import read_tree, tree_text

SCHEMA = {
    "id": "INTEGER", "age": "INTEGER", "bmi": "DOUBLE", "paid": "DECIMAL(9, 2)", "born": "DATE", "seen": "TIMESTAMPTZ",
    "ward": "TEXT", "smokes": "BOOLEAN", "risk": "TEXT", "cost": "DECIMAL(9, 2)",
}  # fmt: skip
NAMES = [name for name in SCHEMA if name not in ("id", "risk", "cost")]


def a_row(dice, number):
    age = dice.randint(18, 90)
    bmi = dice.choice(
        [round(dice.gauss(25, 4), 2), float("nan"), -0.0, float("inf")]
        if number % 20 == 0
        else [round(dice.gauss(25, 4), 2)]
    )
    ward = f"ward {dice.randint(1, 6)}" if number % 37 else f"rare {number}"
    smokes = dice.random() < 0.3
    born = date(2024, 1, 1) - timedelta(days=365 * age + dice.randint(0, 300))
    seen = f"2024-05-{dice.randint(1, 28):02d} 12:00:00+00:00"
    score = (age > 60) + (ward in ("ward 2", "ward 5")) + smokes + dice.random()
    risk = "high" if score > 1.9 else "low" if score < 1 else "some"
    values = [age, bmi, Decimal(dice.randint(0, 99999)) / 100, born, seen, ward, smokes]
    values = [None if dice.random() < 0.05 else value for value in values]
    return (
        number,
        *values,
        None if number % 50 == 3 else risk,
        Decimal(round(100 * score)) / 100 if number % 50 else None,
    )


@pytest.fixture(scope="module")
def rows():
    from datetime import datetime

    dice = random.Random(3)
    found = [a_row(dice, number) for number in range(500)]
    return [(*row[:5], row[5] and datetime.fromisoformat(row[5]), *row[6:]) for row in found]


@pytest.fixture
def people(engine, make_table, rows) -> Name:
    return make_table(engine, "people", SCHEMA, rows)


@pytest.mark.parametrize("inducer", ["c45", "cart", "regression"])
def test_training_rows_end_where_they_were_counted(engine, people, rows, inducer):
    target, other = ("cost", "risk") if inducer == "regression" else ("risk", "cost")
    listed = ", ".join(f'"{name}"' for name in (*NAMES, target))
    query = f"SELECT {listed} FROM people"
    options = {"max_depth": 4, "min_leaf": 4, "prune": False}
    model = library.train(engine, "m", query, target, inducer=inducer, options=options)
    tree = model.tree
    assert len(tree.nodes) > 5
    assert model.record.source_query == query
    assert read_tree(tree_text(tree, "m")) == (tree, "m")
    place = list(SCHEMA).index(target)
    taken = {row[0]: row[place] for row in rows if row[place] is not None}
    end = follower(tree)
    ends = {row[0]: end(dict(zip(SCHEMA, row, strict=True))) for row in rows}
    for way in (predict, predict_select):
        assert {row[0]: row[1] for row in engine.fetch(way(engine, tree, people, ["id"]))} == ends
    counted = Counter((ends[number], value if tree.classes else 0) for number, value in taken.items())
    assert counted == {
        (leaf.number, tree.classes[place] if tree.classes else 0): count
        for leaf in tree.leaves
        for place, count in enumerate(leaf.counts)
        if count
    }
    assert (model.record.rows, model.record.left_out) == (len(taken), len(rows) - len(taken))
    assert other not in {attribute.name for attribute in tree.attributes}


@pytest.mark.duckdb
def test_rare_values_are_not_in_the_model_and_not_in_the_catalog(duckdb_engine, make_table, rows):
    engine = duckdb_engine
    make_table(engine, "people", SCHEMA, rows)
    query = "SELECT ward, age, smokes, risk FROM people"
    library.train(engine, "careful", query, "risk", inducer="id3")
    stored = exp.Select(expressions=[column("value")]).from_(Name("ppdm", "model_value").table())
    assert not [row for row in engine.fetch(stored) if "rare " in row[0]]
    assert [row for row in engine.fetch(stored) if "ward " in row[0]]
    assert not library.load(engine, "careful").record.is_raw
    library.train(engine, "raw", query, "risk", inducer="id3", rare=1)
    assert [row for row in engine.fetch(stored) if "rare " in row[0]]
    assert library.load(engine, "raw").record.is_raw


def test_predictions_go_into_a_new_table_only(engine, people):
    model = library.train(engine, "m", "SELECT age, smokes, risk FROM people", "risk")
    done = library.predict_into(engine, model, "people", "told", ["ID"])
    assert done.rows == 500
    assert [info.name for info in engine.columns(Name("told"))] == ["id", "ppdm_node", "ppdm_class", "ppdm_share"]
    with pytest.raises(PolicyError, match="a prediction never overwrites a table"):
        library.predict_into(engine, model, "people", "told")


def test_a_failed_training_keeps_the_former_model(engine, people):
    first = library.train(engine, "m", "SELECT age, smokes, risk FROM people", "risk")
    with pytest.raises(PolicyError):
        library.train(engine, "m", "SELECT age, risk FROM people WHERE age > 1000", "risk", replace=True)
    assert library.load(engine, "m").tree == first.tree
