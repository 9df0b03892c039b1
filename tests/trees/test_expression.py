"""A tree as one SQL expression: readable, and no deeper than engines stand."""

from __future__ import annotations

from decimal import Decimal

import hand
import pytest
from sqlglot import exp

from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.trees.expression import (
    class_expression,
    create_predict_macro,
    create_predict_view,
    node_expression,
    predict_select,
)
from ppdm_sql.trees.follow import follower
from ppdm_sql.trees.tree import Attribute, Cut, Groups, Node, Tree


def values_of(engine, expression, table):
    query = exp.Select(expressions=[column("id"), aliased(expression, "e")]).from_(table.table())
    return dict(engine.fetch(query))


@pytest.mark.duckdb
def test_it_reads_like_the_tree(duckdb_engine):
    attributes = (Attribute("age", Kind.INTEGER, True), Attribute('s"x', Kind.TEXT, False))
    nodes = (
        Node(0, None, 0, (5, 5), Cut(0, Decimal("30.5"), nulls=1), (1, 2)),
        Node(1, 0, 1, (5, 1), Groups(1, (("f", None), ("m", "it's"))), (3, 4)),
        Node(2, 0, 1, (0, 4)),
        Node(3, 1, 2, (5, 0)),
        Node(4, 1, 2, (0, 1)),
    )
    tree = Tree(attributes, hand.TARGET, ("no", "yes"), nodes)
    sex = 'CAST("s""x" AS TEXT) COLLATE "C"'
    assert node_expression(duckdb_engine, tree).sql("duckdb") == (
        f'CASE WHEN "age" < 31 THEN CASE WHEN {sex} = \'f\' OR "s""x" IS NULL THEN 3 '
        f"WHEN {sex} IN ('m', 'it''s') THEN 4 ELSE 1 END ELSE 2 END"
    )


@pytest.mark.duckdb
def test_branches_that_say_the_same_are_not_spelt_out(duckdb_engine):
    same = Tree((Attribute("age", Kind.INTEGER, True),), hand.TARGET, ("no", "yes"), (
        Node(0, None, 0, (9, 2), Cut(0, Decimal(5)), (1, 2)), Node(1, 0, 1, (5, 1)), Node(2, 0, 1, (4, 1)),
    ))  # fmt: skip
    assert class_expression(duckdb_engine, same).sql() == "'no'"
    assert node_expression(duckdb_engine, same).sql("duckdb").startswith("CASE")


def nesting(expression) -> int:
    deepest, level = 0, [(expression, 0)]
    while level:
        found, depth = level.pop()
        depth += isinstance(found, exp.Case)
        deepest = max(deepest, depth)
        level += [(child, depth) for child in found.iter_expressions()]
    return deepest


def test_deep_trees_are_not_nested_deeply(engine, make_table):
    depth = 400
    rows = hand.rows(5, 60)
    table = make_table(engine, "people", hand.SCHEMA, rows, temporary=True)
    tree = hand.a_tree(depth, nodes=3 * depth, depth=depth, chain=True)
    assert tree.depth > 0.6 * depth
    expression = node_expression(engine, tree)
    assert nesting(expression) < 60
    end = follower(tree)
    assert values_of(engine, expression, table) == {row[0]: end(hand.as_mapping(row)) for row in rows}


def test_two_thousand_nodes_are_one_expression(engine, make_table):
    rows = hand.rows(6, 40)
    table = make_table(engine, "people", hand.SCHEMA, rows, temporary=True)
    tree = hand.a_tree(6, nodes=2000, depth=14)
    end = follower(tree)
    classes = {row[0]: tree.prediction(tree.nodes[end(hand.as_mapping(row))]) for row in rows}
    assert values_of(engine, class_expression(engine, tree), table) == classes


def test_a_view_tells_the_class_of_every_row(engine, make_table):
    table = make_table(engine, "people", hand.SCHEMA, hand.rows(8, 30))
    tree = hand.a_tree(4, nodes=20, regression=True)
    create_predict_view(engine, Name("told"), tree, table, ["id"])
    told = engine.fetch(exp.select("*").from_(Name("told").table()))
    assert sorted(told) == sorted(engine.fetch(predict_select(engine, tree, table, ["id"])))
    assert {info.name for info in engine.columns(Name("told"))} == {"id", "ppdm_node", "ppdm_mean"}
    for _, node, mean in told:
        assert mean == float(tree.nodes[node].moments.mean)


def test_a_macro_where_there_are_macros(engine, make_table):
    rows = hand.rows(8, 30)
    tree = hand.a_tree(12, nodes=25)
    if not engine.has_macros:
        with pytest.raises(PolicyError, match="has no macros: create a view"):
            create_predict_macro(engine, "ill", tree)
        return
    table = make_table(engine, "people", hand.SCHEMA, rows, temporary=True)
    taken = create_predict_macro(engine, 'my "model', tree)
    assert taken == [tree.attributes[number].name for number in tree.used_attributes()]
    call = exp.Anonymous(
        this=exp.to_identifier('predict_my "model', quoted=True), expressions=[column(name) for name in taken]
    )
    expected = values_of(engine, class_expression(engine, tree), table)
    assert values_of(engine, call, table) == expected
    assert len(set(expected.values())) > 1
    create_predict_macro(engine, 'my "model', tree, replace_it=True)


@pytest.mark.duckdb
def test_a_macro_cannot_take_names_that_differ_in_case_only(duckdb_engine):
    attributes = (Attribute("age", Kind.INTEGER, True), Attribute("Age", Kind.INTEGER, True))
    nodes = (
        Node(0, None, 0, (3, 3), Cut(0, Decimal(5)), (1, 2)),
        Node(1, 0, 1, (1, 3), Cut(1, Decimal(3)), (3, 4)),
        Node(2, 0, 1, (2, 0)),
        Node(3, 1, 2, (1, 0)),
        Node(4, 1, 2, (0, 3)),
    )
    with pytest.raises(PolicyError, match="differ only in case"):
        create_predict_macro(duckdb_engine, "m", Tree(attributes, hand.TARGET, ("no", "yes"), nodes))
