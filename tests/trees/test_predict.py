"""SQL expression, table-driven prediction and Python say the same of every row."""

from __future__ import annotations

from dataclasses import replace

import hand
import pytest
from sqlglot import exp

from ppdm_sql.errors import PolicyError
from ppdm_sql.statements.names import Name, aliased
from ppdm_sql.statements.names import column as own_column
from ppdm_sql.trees import predict as module
from ppdm_sql.trees.expression import bind, node_expression, predict_select
from ppdm_sql.trees.follow import follower
from ppdm_sql.trees.predict import predict

ROWS = hand.rows(7, 250)


@pytest.fixture
def table(engine, make_table) -> Name:
    return make_table(engine, "people", hand.SCHEMA, ROWS, temporary=True)


def by_python(tree):
    end = follower(tree)
    return {row[0]: end(hand.as_mapping(row)) for row in ROWS}


def by_sql(engine, query):
    """The node of every row, and what was said of it."""
    found = engine.fetch(query)
    assert len(found) == len(ROWS)
    return {row[0]: row[1] for row in found}, {row[0]: row[2:] for row in found}


def test_three_ways_end_at_the_same_node(engine, table, monkeypatch):
    for seed in range(7):
        monkeypatch.setattr(module, "_LONGEST_LIST", -1 if seed % 2 else 50_000)  # by joins, by lists
        tree = hand.a_tree(seed, nodes=(1, 5, 40, 90)[seed % 4], depth=4 + seed % 7, regression=seed % 5 == 4)
        expected = by_python(tree)
        nodes, told = by_sql(engine, predict_select(engine, tree, table, ["id"]))
        assert nodes == expected, seed
        again, told_again = by_sql(engine, predict(engine, tree, table, ["id"]))
        assert again == expected, seed
        assert told_again == told, seed


def test_every_kind_of_column_alone(engine, make_table):
    """Each column is split in every way there is, so that nothing hides behind the nodes above it."""
    longest = 1 + max(len(column.values) for column in hand.COLUMNS)
    pools = [(*column.values, None) for column in hand.COLUMNS]
    rows = [(number, *(pool[number % len(pool)] for pool in pools)) for number in range(longest)]
    table = make_table(engine, "every", hand.SCHEMA, rows, temporary=True)
    for number in range(len(hand.COLUMNS)):
        trees = hand.one_split_trees(number)
        fitting = [bind(engine, tree, table) for tree in trees[:1]]
        asked = [replace(tree, attributes=fitting[0].attributes) for tree in trees]
        columns = [aliased(node_expression(engine, tree), f"t{place}") for place, tree in enumerate(asked)]
        found = engine.fetch(exp.Select(expressions=[own_column("id"), *columns]).from_(table.table()))
        ends = [follower(tree) for tree in trees]
        assert sorted(found) == [(row[0], *(end(hand.as_mapping(row)) for end in ends)) for row in rows], number
        by_levels = engine.fetch(predict(engine, trees[-1], table, ["id"]))
        assert {row[0]: row[1] for row in by_levels} == {row[0]: row[-1] for row in found}, number


def test_a_big_tree_is_one_statement_per_level(engine, table):
    tree = hand.a_tree(3, nodes=500, depth=9)
    said: list[str] = []
    engine.on_statement = said.append
    query = predict(engine, tree, table, ["id"])
    assert len(said) < 60 + 12 * tree.depth  # for PostgreSQL a loaded table is four statements
    assert by_sql(engine, query)[0] == by_python(tree)


def test_what_is_told_of_a_row_is_what_its_node_says(engine, table):
    tree = hand.a_tree(2, nodes=40)
    for id_, node, said, part in engine.fetch(predict(engine, tree, table, ["id"])):
        counts = tree.nodes[node].counts
        assert said == tree.classes[counts.index(max(counts))], id_
        assert part == max(counts) / sum(counts)


def test_kept_columns_come_back_as_they_are(engine, table):
    tree = hand.a_tree(2, nodes=40)
    keep = ["word", 'o"b; --', "id"]
    places = [list(hand.SCHEMA).index(name) for name in keep]
    for query in (predict(engine, tree, table, keep), predict_select(engine, tree, table, keep)):
        assert sorted(engine.fetch(query), key=lambda row: row[2]) == [
            (*(row[place] for place in places), *found[3:])
            for row, found in zip(ROWS, sorted(engine.fetch(query), key=lambda row: row[2]), strict=True)
        ]


@pytest.mark.duckdb
def test_the_types_of_the_table_count_not_those_of_the_training(duckdb_engine, make_table):
    """Trained on whole numbers, applied to floats: 30.2 lies below a cut at 30.5 and not below one at 30.1."""
    tree = hand.cut_tree("age", hand.Kind.INTEGER, "30.1")
    table = make_table(duckdb_engine, "t", {"id": "INTEGER", "age": "DOUBLE"}, [(0, 30.0), (1, 30.2), (2, 31.0)])
    for query in (predict, predict_select):
        found = duckdb_engine.fetch(query(duckdb_engine, tree, table, ["id"]))
        assert sorted(found)[0][1] == 1
        assert [row[1] for row in sorted(found)[1:]] == [2, 2]


@pytest.mark.duckdb
def test_what_does_not_fit_is_refused_by_name(duckdb_engine, make_table):
    tree = hand.cut_tree("age", hand.Kind.INTEGER, "30")
    table = make_table(duckdb_engine, "t", {"age": "TEXT", "ppdm_x": "TEXT"}, [])
    for message, call in (
        ('column "age" is VARCHAR; the model was trained on a column of kind integer', (table, [])),
        ("table nowhere does not exist", (Name("nowhere"), [])),
        ('t has no column "weight" to keep', (table, ["weight"])),
        ("a column to keep is listed twice", (table, ["age", "age"])),
        ('column "ppdm_x": the prefix ppdm_ is reserved', (table, ["ppdm_x"])),
    ):
        for query in (predict, predict_select):
            with pytest.raises(PolicyError, match=message.replace("(", r"\(")):
                query(duckdb_engine, tree, *call)
    other = make_table(duckdb_engine, "u", {"weight": "INTEGER"}, [])
    with pytest.raises(PolicyError, match='u has no column "age", which the model needs'):
        predict(duckdb_engine, tree, other, [])


@pytest.mark.duckdb
def test_a_prediction_leaves_no_table(duckdb_engine, make_table, monkeypatch):
    table = make_table(duckdb_engine, "people", hand.SCHEMA, ROWS)
    monkeypatch.setattr(module, "_LONGEST_LIST", -1)
    tree = hand.a_tree(3, nodes=90)
    with duckdb_engine.workspace():
        assert duckdb_engine.fetch(predict(duckdb_engine, tree, table, ["id"]))
    left = duckdb_engine._connection.execute("SELECT table_name FROM duckdb_tables() WHERE temporary").fetchall()
    assert left == []


@pytest.mark.duckdb
def test_a_table_without_rows_gives_none(duckdb_engine, make_table):
    table = make_table(duckdb_engine, "people", hand.SCHEMA, [])
    assert duckdb_engine.fetch(predict(duckdb_engine, hand.a_tree(2), table, ["id"])) == []
