"""The script for a bare DuckDB: it says what it makes, describes every branch and replaces nothing."""

from __future__ import annotations

from decimal import Decimal

import duckdb
import hand
import pytest

from ppdm_sql.engines.base import Kind
from ppdm_sql.trees.follow import follower
from ppdm_sql.trees.script import as_script
from ppdm_sql.trees.tree import Attribute, Cut, Groups, Node, Tree

LONG = "a ward with a name of more than forty characters, "


def ward_tree() -> Tree:
    attributes = (Attribute("age", Kind.INTEGER, True), Attribute('w"ard', Kind.TEXT, False))
    groups = Groups(1, ((LONG + "east", "it's"), tuple(f"{LONG}{n}" for n in range(9))), others=1, labels=("x", "y"))
    nodes = (
        Node(0, None, 0, (5, 5), Cut(0, Decimal("30.5"), nulls=1), (1, 2)),
        Node(1, 0, 1, (5, 1), groups, (3, 4)),
        Node(2, 0, 1, (0, 4)),
        Node(3, 1, 2, (5, 0)),
        Node(4, 1, 2, (0, 1)),
    )
    return Tree(attributes, hand.TARGET, (LONG + "no", "yes"), nodes)


@pytest.fixture
def con():
    with duckdb.connect() as found:
        yield found


def test_the_nodes_are_told_whole_and_answers_without_quotes(con):
    con.execute(as_script(ward_tree(), "m", "m.json.sql"))
    rows = con.execute("SELECT condition, answer FROM m_nodes ORDER BY node").fetchall()
    named = ", ".join(f"'{LONG}{n}'" for n in range(9))
    assert rows == [
        ("", LONG + "no"),
        ("age < 30.5", LONG + "no"),
        ("age >= 30.5 or NULL", "yes"),
        (f"w\"ard in ('{LONG}east', 'it''s')", LONG + "no"),
        (f'w"ard in ({named}, any other)', "yes"),
    ]


@pytest.mark.parametrize("seed", range(6))
def test_no_two_branches_read_the_same(con, seed):
    tree = hand.a_tree(seed, nodes=60)
    con.execute(as_script(tree, "m", "m.json.sql"))
    told = con.execute("SELECT parent, condition FROM m_nodes WHERE parent IS NOT NULL").fetchall()
    assert len(set(told)) == len(told) == len(tree.nodes) - 1


@pytest.mark.parametrize("seed", range(3))
def test_the_macro_says_what_the_tree_says(con, seed):
    rows, tree = hand.rows(seed, 30), hand.a_tree(seed, nodes=40)
    end = follower(tree)
    con.execute(as_script(tree, 'my "model', "m.json.sql"))
    used = [tree.attributes[number].name for number in tree.used_attributes()]
    declared = {column.attribute.name: column.declared for column in hand.COLUMNS}
    holes = ", ".join(f"CAST(? AS {declared[name]})" for name in used)
    for row in rows:
        values = {**hand.as_mapping(row), "wide": Decimal(row[0])}  # 38 digits leave DuckDB no room for a place more
        asked = con.execute(f'SELECT "predict_my ""model"({holes})', [values[name] for name in used])
        assert asked.fetchone()[0] == tree.prediction(tree.nodes[end(values)])


def test_what_is_there_stays_and_nothing_is_half_made(con):
    con.execute("CREATE TABLE m_nodes AS SELECT 'mine' AS whose")
    script = as_script(ward_tree(), "m", "m.json.sql")
    with pytest.raises(duckdb.Error, match="already exists"):
        con.execute(script)
    con.execute("ROLLBACK")
    assert con.execute("FROM m_nodes").fetchall() == [("mine",)]
    with pytest.raises(duckdb.Error, match="predict_m"):  # the macro was not left behind
        con.execute("SELECT predict_m(1, 'x')")
    con.execute("DROP TABLE m_nodes")
    con.execute(script)
    with pytest.raises(duckdb.Error, match="already exists"):
        con.execute(script)


def test_the_head_tells_how_to_call_it_and_how_to_undo_it(con):
    script = as_script(ward_tree(), "m", "m.json.sql")
    head = [line.removeprefix("--").strip() for line in script.splitlines() if line.startswith("--")]
    assert "duckdb my.duckdb < m.json.sql" in head[0]
    con.execute(script)
    con.execute('CREATE TABLE my_table AS SELECT 40 AS age, \'x\' AS "w""ard"')
    assert "predict_m(" in script.replace('"', "")
    (call,) = (line for line in head if line.startswith("SELECT *, "))
    assert con.execute(call).fetchall() == [(40, "x", "yes")]
    assert head.index("age (integer)") + 1 == head.index('w"ard (text)')
    drops = [line for line in head if line.startswith("DROP")]
    for drop in drops:
        con.execute(drop)
    con.execute(script)  # nothing of it was left


def test_hostile_names_stay_names(con):
    attribute = Attribute("x\n; DROP TABLE people; --", Kind.INTEGER, True)
    nodes = (Node(0, None, 0, (5, 5), Cut(0, Decimal(3)), (1, 2)), Node(1, 0, 1, (5, 0)), Node(2, 0, 1, (0, 5)))
    target = Attribute("t\r\nDROP TABLE people;", Kind.TEXT, False)
    con.execute("CREATE TABLE people AS SELECT 1 AS x")
    con.execute(as_script(Tree((attribute,), target, ("a\nb", "c"), nodes), "m\nn", "f\nDROP TABLE people;"))
    assert con.execute('SELECT "predict_m\nn"(2), (SELECT count(*) FROM people)').fetchall() == [("a\nb", 1)]


def test_columns_that_differ_only_in_case_have_no_macro(con):
    attributes = (Attribute("age", Kind.INTEGER, True), Attribute("Age", Kind.INTEGER, True))
    nodes = (
        Node(0, None, 0, (3, 3), Cut(0, Decimal(5)), (1, 2)),
        Node(1, 0, 1, (1, 3), Cut(1, Decimal(3)), (3, 4)),
        Node(2, 0, 1, (2, 0)),
        Node(3, 1, 2, (1, 0)),
        Node(4, 1, 2, (0, 3)),
    )
    script = as_script(Tree(attributes, hand.TARGET, ("no", "yes"), nodes), "m", "m.json.sql")
    assert "differ only in case" in script
    con.execute(script)
    assert con.execute("SELECT count(*) FROM m_nodes").fetchone() == (5,)


def test_a_regression_tree_and_a_single_leaf(con):
    con.execute(as_script(hand.a_tree(4, nodes=20, regression=True), "r", "r.json.sql"))
    assert con.execute("SELECT count(*) FROM r_nodes WHERE TRY_CAST(answer AS DOUBLE) IS NULL").fetchone() == (0,)
    con.execute(as_script(Tree((), hand.TARGET, ("no",), (Node(0, None, 0, (4,)),)), "leaf", "leaf.json.sql"))
    assert con.execute("SELECT predict_leaf()").fetchone() == ("no",)
