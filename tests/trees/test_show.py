"""Trees for people: every node is there, nothing runs wild."""

from __future__ import annotations

from decimal import Decimal

import hand
import pytest

from ppdm_sql.engines.base import Kind
from ppdm_sql.trees.show import as_rules, as_sql, as_text, branch_text, value_text, visible
from ppdm_sql.trees.tree import Attribute, Cut, Groups, Node, Tree


def small() -> Tree:
    attributes = (Attribute("age", Kind.INTEGER, True), Attribute("ward", Kind.TEXT, False))
    nodes = (
        Node(0, None, 0, (600, 400), Cut(0, Decimal("60"), nulls=1), (1, 2)),
        Node(1, 0, 1, (500, 12), Cut(0, Decimal("30.50"), None), (3, 4)),
        Node(2, 0, 1, (100, 388), Groups(1, (("A1", "A2", None), ("B",)), others=1), (5, 6)),
        Node(3, 1, 2, (500, 0)),
        Node(4, 1, 2, (0, 12)),
        Node(5, 2, 2, (100, 88)),
        Node(6, 2, 2, (0, 300)),
    )
    return Tree(attributes, Attribute("ill", Kind.TEXT, False), ("no", "yes"), nodes)


def test_a_tree_as_text():
    assert as_text(small()).splitlines() == [
        "ill: 'no' (1,000 rows, 60 %)",
        "├─ age < 60: 'no' (512 rows, 97.7 %)",
        "│  ├─ age < 30.5: 'no' (500 rows, 100 %)",
        "│  └─ age >= 30.5: 'yes' (12 rows, 100 %)",
        "└─ age >= 60 or NULL: 'yes' (488 rows, 79.5 %)",
        "   ├─ ward in ('A1', 'A2', NULL): 'no' (188 rows, 53.2 %)",
        "   └─ ward in ('B', any other): 'yes' (300 rows, 100 %)",
    ]


def test_a_rule_per_leaf_with_one_range_per_attribute():
    assert as_rules(small()).splitlines() == [
        "IF age < 30.5 THEN ill = 'no' (500 rows, 100 %)",
        "IF 30.5 <= age < 60 THEN ill = 'yes' (12 rows, 100 %)",
        "IF (age >= 60 or NULL) AND ward in ('A1', 'A2', NULL) THEN ill = 'no' (188 rows, 53.2 %)",
        "IF (age >= 60 or NULL) AND ward in ('B', any other) THEN ill = 'yes' (300 rows, 100 %)",
    ]


def test_of_two_groups_the_inner_one_is_enough():
    nodes = (
        Node(0, None, 0, (6,), Groups(0, (("a", "b"), ("c",))), (1, 2)),
        Node(1, 0, 1, (4,), Groups(0, (("a",), ("b",))), (3, 4)),
        Node(2, 0, 1, (2,)),
        Node(3, 1, 2, (2,)),
        Node(4, 1, 2, (2,)),
    )
    tree = Tree((Attribute("ward", Kind.TEXT, False),), hand.TARGET, ("x",), nodes)
    assert [line.split(" THEN")[0] for line in as_rules(tree).splitlines()] == [
        "IF ward = 'a'",
        "IF ward = 'b'",
        "IF ward = 'c'",
    ]


def test_a_tree_of_one_node():
    tree = Tree((), hand.TARGET, ("x",), (Node(0, None, 0, (1,)),))
    assert as_text(tree) == "class: 'x' (1 row, 100 %)"
    assert as_rules(tree) == "IF TRUE THEN class = 'x' (1 row, 100 %)"


@pytest.mark.parametrize("seed", range(4))
def test_every_node_has_a_line_and_every_leaf_a_rule(seed):
    tree = hand.a_tree(seed, nodes=120, depth=30, chain=True, regression=seed == 3)
    assert len(as_text(tree).splitlines()) == len(tree.nodes)
    assert len(as_rules(tree).splitlines()) == len(tree.leaves)


def test_deep_trees_are_shown_without_recursion():
    tree = hand.a_tree(1, nodes=4000, depth=1500, chain=True)
    assert tree.depth > 1000
    assert len(as_text(tree).splitlines()) == len(tree.nodes)


def test_values_cannot_play_tricks_on_a_terminal():
    assert visible("a\x1b[31mred\u202e\u2028\x7f\u200b") == "a\\x1b[31mred\\u202e\\u2028\\x7f\\u200b"
    assert visible("\ud800") == "\\ud800"
    assert len(visible("x" * 500)) == 40
    assert visible("x" * 40) == "x" * 40
    assert visible("漢" * 30) == "漢" * 19 + "…"
    assert [value_text(value) for value in ("NULL", None, True, 1, "it's", Decimal("1E+2"))] == ["'NULL'", "NULL", "true", "1", "'it''s'", "100"]  # fmt: skip


def test_a_long_group_is_counted():
    root = Node(0, None, 0, (1,), Groups(0, (tuple(f"v{n}" for n in range(50)), ())), (1, 2))
    tree = Tree((Attribute("a", Kind.TEXT, False),), hand.TARGET, ("x",), (root,))
    assert branch_text(tree, root, 0) == "a in ('v0', 'v1', 'v2', 'v3', 'v4', 'v5', 44 more)"


def test_a_hierarchy_gives_groups_their_names():
    root = Node(0, None, 0, (1,), Groups(0, (("a",), ("b",)), labels=("North", "South\n")), (1, 2))
    tree = Tree((Attribute("city", Kind.TEXT, False),), hand.TARGET, ("x",), (root,))
    assert [branch_text(tree, root, branch) for branch in (0, 1)] == ["city in North", "city in South\\x0a"]


@pytest.mark.duckdb
def test_as_sql_it_is_an_expression_of_the_engine(duckdb_engine):
    con = duckdb_engine._connection
    con.execute(
        "CREATE TABLE p AS SELECT * FROM (VALUES (20, 'A1'), (40, 'A1'), (70, 'B'), (70, NULL)) AS v(age, ward)"
    )
    assert con.execute(f"SELECT {as_sql(duckdb_engine, small())} FROM p").fetchall() == [
        ("no",),
        ("yes",),
        ("yes",),
        ("no",),
    ]
