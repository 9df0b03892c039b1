"""Bands: a number or a day cut into several ranges, some of which belong together, held against counting by hand."""

from __future__ import annotations

import json
import random
from datetime import date
from decimal import Decimal

import hand
import pytest
from sqlglot import exp, parse_one

from ppdm_sql.catalog import models
from ppdm_sql.catalog.migrate import migrate
from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError, Tampered
from ppdm_sql.statements.names import column
from ppdm_sql.statements.steps import Steps
from ppdm_sql.trees import predict as big
from ppdm_sql.trees import stored
from ppdm_sql.trees.expression import create_predict_macro, node_expression, predict_select
from ppdm_sql.trees.follow import follow
from ppdm_sql.trees.picture import as_svg
from ppdm_sql.trees.script import as_script
from ppdm_sql.trees.show import as_rules, as_text
from ppdm_sql.trees.sound import check_tree
from ppdm_sql.trees.tree import Attribute, Bands, Cut, Groups, Node, Tree
from ppdm_sql.trees.tree_json import read_tree, tree_text, tree_to_dict
from ppdm_sql.verify.spans import reached_nodes

AGE, BORN, X = (
    Attribute("age", Kind.INTEGER, True),
    Attribute("born", Kind.DATE, True),
    Attribute("x", Kind.FLOAT, True),
)
WORD = Attribute("word", Kind.TEXT, False)


def one_split(split, attributes=(AGE, BORN, X, WORD)) -> Tree:
    leaves = tuple(Node(number + 1, 0, 1, (number + 1, 1)) for number in range(split.width))
    counts = tuple(map(sum, zip(*(leaf.counts for leaf in leaves), strict=True)))
    return Tree(
        attributes, hand.TARGET, ("no", "yes"), (Node(0, None, 0, counts, split, tuple(range(1, split.width + 1))), *leaves)
    )  # fmt: skip


def ages(*at: str, branches: tuple[int, ...], nulls: int | None = None) -> Bands:
    return Bands(0, tuple(map(Decimal, at)), branches, nulls)


def nested() -> Tree:
    """Bands of age, and below each other branch bands of age again, of days, and a cut."""
    nodes = (
        Node(0, None, 0, (6, 6), ages("20", "40.5", "60", branches=(0, 1, 0, 2)), (1, 4, 7)),
        Node(1, 0, 1, (2, 2), ages("10", "50", branches=(0, 1, 0)), (2, 3)),
        Node(2, 1, 2, (1, 1)),
        Node(3, 1, 2, (1, 1)),
        Node(4, 0, 1, (2, 2), Bands(1, ("1990-01-01", "2000-01-01"), (1, 0, 1), 0), (5, 6)),
        Node(5, 4, 2, (2, 0)),
        Node(6, 4, 2, (0, 2)),
        Node(7, 0, 1, (2, 2), Cut(2, Decimal("0.5"), 1), (8, 9)),
        Node(8, 7, 2, (2, 0)),
        Node(9, 7, 2, (0, 2)),
    )
    return Tree((AGE, BORN, X, WORD), hand.TARGET, ("no", "yes"), nodes, "atp")


def naive_end(row) -> int:
    """The tree of `nested`, written out."""
    age, born, x = row["age"], row["born"], row["x"]
    if age is None:
        return 0
    if age < 20 or 41 <= age < 60:
        return 3 if 10 <= age < 50 else 2
    if age < 41:
        return 5 if born is None or date(1990, 1, 1) <= born < date(2000, 1, 1) else 6
    return 9 if x is None or not x < 0.5 else 8


def people(count: int, seed: int = 1) -> list[dict]:
    dice = random.Random(seed)
    days = [date(1989, 12, 31), date(1990, 1, 1), date(1999, 12, 31), date(2000, 1, 1), None]
    numbers = [0.0, 0.5, 0.4999, float("nan"), float("inf"), float("-inf"), None]
    ages_seen = [-3, 9, 10, 19, 20, 40, 41, 49, 50, 59, 60, 99, None]
    return [
        {"id": n, "age": dice.choice(ages_seen), "born": dice.choice(days), "x": dice.choice(numbers), "word": "w"}
        for n in range(count)
    ]


TYPES = {"id": "INTEGER", "age": "INTEGER", "born": "DATE", "x": "DOUBLE", "word": "TEXT"}


def ends(engine, query) -> dict[int, int]:
    return {row[0]: row[1] for row in engine.fetch(query)}


def test_every_way_of_following_a_row_ends_where_counting_by_hand_does(engine, make_table):
    tree, rows = nested(), people(200)
    check_tree(tree)
    expected = {row["id"]: naive_end(row) for row in rows}
    assert set(expected.values()) == {0, 2, 3, 5, 6, 8, 9}
    assert {row["id"]: follow(tree, row) for row in rows} == expected
    name = make_table(engine, "banded", TYPES, [tuple(row.values()) for row in rows])
    assert ends(engine, predict_select(engine, tree, name, ["id"])) == expected
    assert ends(engine, big.predict(engine, tree, name, ["id"])) == expected
    told = node_expression(engine, tree)
    assert ends(engine, exp.Select(expressions=[column("id"), told]).from_(name.table())) == expected
    # the judge writes all nodes on the way; the last one is where the row ends
    steps = Steps("r")
    spans = reached_nodes(engine, tree_to_dict(tree), ["age", "born", "x"], steps)
    found = engine.fetch(steps.over(exp.Select(expressions=[column("id", "r"), spans]), name.table()))
    assert {row[0]: int(row[1].split()[-1]) for row in found} == expected


@pytest.mark.duckdb
def test_the_macro_and_the_script_say_the_same(duckdb_engine, make_table):
    import duckdb

    tree, rows = nested(), people(60)
    expected = [tree.prediction(tree.nodes[naive_end(row)]) for row in rows]
    make_table(duckdb_engine, "banded", TYPES, [tuple(row.values()) for row in rows])
    taken = create_predict_macro(duckdb_engine, "m", tree)
    assert taken == ["age", "born", "x"]
    with duckdb.connect() as bare:
        bare.execute("CREATE TABLE banded (id INTEGER, age INTEGER, born DATE, x DOUBLE, word TEXT)")
        bare.executemany("INSERT INTO banded VALUES (?, ?, ?, ?, ?)", [tuple(row.values()) for row in rows])
        bare.execute(as_script(tree, "m"))
        found = bare.execute("SELECT predict_m(age, born, x) FROM banded ORDER BY id").fetchall()
        assert [row[0] for row in found] == expected
        words = bare.execute("SELECT condition FROM m_nodes WHERE node = 1").fetchone()
    assert words == ("age < 20 or 40.5 <= age < 60",)


def test_people_read_ranges():
    tree = nested()
    assert as_text(tree).splitlines()[1] == "├─ age < 20 or 40.5 <= age < 60: 'no' (4 rows, 50 %)"
    assert "│  ├─ born < 1990-01-01 or born >= 2000-01-01" not in as_text(tree)  # the branch of NULL comes first
    assert as_rules(tree).splitlines() == [
        "IF (age < 10 or 50 <= age < 60) THEN class = 'no' (2 rows, 50 %)",
        "IF (10 <= age < 20 or 40.5 <= age < 50) THEN class = 'no' (2 rows, 50 %)",
        "IF 20 <= age < 40.5 AND (1990-01-01 <= born < 2000-01-01 or NULL) THEN class = 'no' (2 rows, 100 %)",
        "IF 20 <= age < 40.5 AND (born < 1990-01-01 or born >= 2000-01-01) THEN class = 'yes' (2 rows, 100 %)",
        "IF age >= 60 AND x < 0.5 THEN class = 'no' (2 rows, 100 %)",
        "IF age >= 60 AND (x >= 0.5 or NULL) THEN class = 'yes' (2 rows, 100 %)",
    ]
    assert "<title>age &lt; 20 or 40.5 &lt;= age &lt; 60</title>" in as_svg(tree)


# -- files -----------------------------------------------------------------------------------------------------------


def test_only_a_file_with_bands_is_of_version_2():
    plain = one_split(Cut(0, Decimal(30)))
    assert json.loads(tree_text(plain))["version"] == 1
    text = tree_text(nested(), "b")
    assert json.loads(text)["version"] == 2
    assert read_tree(text) == (nested(), "b")
    assert read_tree(tree_text(plain).replace('"version": 1', '"version": 2'))[0] == plain
    with pytest.raises(PolicyError, match="a file of version 1 has no bands"):
        read_tree(text.replace('"version": 2', '"version": 1'))


@pytest.mark.parametrize(
    ("split", "told"),
    [
        (ages("20", "20", branches=(0, 1, 2)), "thresholds that are not in ascending order"),
        (ages("30", "20", branches=(0, 1, 2)), "thresholds that are not in ascending order"),
        (Bands(1, ("2000-01-01", "1990-01-01"), (0, 1, 2)), "thresholds that are not in ascending order"),
        (ages("20", branches=(0, 1, 2)), "one band more"),
        (ages(branches=(0, 1)), "must have thresholds"),
        (ages("20", "30", branches=(0, 0, 1)), "between two bands of one branch"),
        (ages("20", "30", branches=(0, 2, 0)), "a branch without a band"),
        (ages("20", "30", branches=(0, 1, 0), nulls=2), "a branch that does not exist"),
        (ages("20", "NaN", branches=(0, 1, 0)), "does not fit its attribute"),
        (ages("20", "Infinity", branches=(0, 1, 0)), "infinite threshold"),
        (Bands(0, ("2000-01-01",), (0, 1)), "not of kind integer"),
        (Bands(1, (Decimal(1),), (0, 1)), "does not fit"),
        (Bands(3, (Decimal(1),), (0, 1)), "has no order"),
    ],
)
def test_bands_that_make_no_sense_are_refused(split, told):
    with pytest.raises(PolicyError, match=told):
        check_tree(one_split(split))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"at": [{"decimal": "x"}]}, "not a number"),
        ({"at": {"decimal": "1"}}, "must be a list"),
        ({"branches": [0, -1]}, "must lie between 0"),
        ({"branches": [0, True]}, "whole number"),
        ({"more": 1}, "does not know"),
        ({"branches": ...}, "has no branches"),
    ],
)
def test_a_damaged_file_is_refused(change, told):
    text = json.loads(tree_text(one_split(ages("20", branches=(0, 1)))))
    split = text["model"]["nodes"][0]["split"]
    split |= change
    text["model"]["nodes"][0]["split"] = {name: value for name, value in split.items() if value is not ...}
    with pytest.raises(PolicyError, match=told):
        read_tree(json.dumps(text))


@pytest.mark.duckdb
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("DELETE FROM ppdm.model_value WHERE node = 0 AND branch = 1", "leave a gap|number of children|without a band"),
        ("""UPDATE ppdm.model_value SET value = '{"from": null, "below": null}' WHERE branch = 1""", "leave a gap"),
        ("""UPDATE ppdm.model_value SET value = '"x"' WHERE branch = 1""", "must be an object"),
    ],
)
def test_bands_come_back_from_the_catalog_or_are_refused(duckdb_engine, change, told):
    migrate(duckdb_engine)
    tree = one_split(Bands(1, ("1990-01-01", "2000-01-01"), (1, 0, 1), 0))
    models.save(duckdb_engine, stored.record_of("m", tree, rows=3), stored.rows_of(tree))
    assert stored.tree_of(duckdb_engine, models.find(duckdb_engine, "m")) == tree
    duckdb_engine.execute(parse_one(change, dialect="duckdb"))
    with pytest.raises(Tampered, match=told):
        stored.tree_of(duckdb_engine, models.find(duckdb_engine, "m"))


def test_a_group_is_still_a_group_when_its_values_look_like_bands():
    split = Groups(3, (('{"from": null}',), ("below",)))
    tree = one_split(split)
    assert read_tree(tree_text(tree))[0] == tree
