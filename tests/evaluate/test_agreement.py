"""Class match and path match against rows followed in Python and regions tested by points; areas over k."""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction

import pytest
from evaluate_tables import COLUMNS, QUICK, TARGET, random_rows, store

from ppdm_sql.classifiers import conjunctive_rules, naive_bayes
from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.evaluate.agreement import area_over, class_match, path_match, ways
from ppdm_sql.induction.inducers import induce, settings
from ppdm_sql.statements.names import Name
from ppdm_sql.trees.follow import follow
from ppdm_sql.trees.tree import Attribute, Bands, Cut, Groups, Node, Tree


def learned(engine, relation, inducer="c45", **options):
    infos = {info.name: info for info in engine.columns(relation)}
    chosen = settings(inducer, {"rare": 1, **options})
    return induce(engine, relation, [infos[name] for name in COLUMNS], infos[TARGET], chosen).tree


@QUICK
def test_class_match_counts_equal_answers(engine, make_table):
    rows = random_rows(31, 120)
    relation = store(engine, make_table, rows)
    other = store(engine, make_table, random_rows(32, 120), "u")
    infos = {info.name: info for info in engine.columns(relation)}
    attributes = [infos[name] for name in COLUMNS]
    trees = [learned(engine, relation), learned(engine, other, "id3"), learned(engine, relation, "cart", max_depth=1)]
    bayes = naive_bayes.learn(engine, relation, attributes, infos[TARGET], rare=1)
    rules = conjunctive_rules.learn(engine, relation, attributes, infos[TARGET], rare=1)
    answers = [[tree.prediction(tree.nodes[follow(tree, row)]) for row in rows] for tree in trees]
    answers += [[bayes.predict(row) for row in rows], [rules.predict(row) for row in rows]]
    models = [*trees, bayes, rules]
    for first, second in ((0, 0), (0, 1), (2, 0), (0, 3), (4, 1)):
        same = sum(a == b for a, b in zip(answers[first], answers[second], strict=True))
        assert class_match(engine, relation, models[first], models[second]) == Fraction(same, len(rows))
    assert class_match(engine, relation, bayes, bayes) == 1
    empty = store(engine, make_table, [], "empty")
    with pytest.raises(PolicyError, match="no rows"):
        class_match(engine, empty, trees[0], trees[0])
    with pytest.raises(PolicyError, match="does not exist"):
        class_match(engine, Name("nowhere"), trees[0], trees[0])


# -- path match ----------------------------------------------------------------------------------------------------

AGE, TOWN, TARGET_ = (
    Attribute("age", Kind.INTEGER, True),
    Attribute("town", Kind.TEXT, False),
    Attribute("y", Kind.TEXT, False),
)


def tree_of(nested, attributes=(AGE, TOWN)):
    """(split, child, ...) or a class's place, as a tree over two classes."""
    nodes = []

    def add(part, parent, depth):
        number = len(nodes)
        nodes.append(None)
        if isinstance(part, int):
            nodes[number] = Node(number, parent, depth, (1 - part, part))
            return number
        children = tuple(add(child, number, depth + 1) for child in part[1:])
        nodes[number] = Node(number, parent, depth, (1, 1), part[0], children)
        return number

    add(nested, None, 0)
    return Tree(attributes, TARGET_, ("no", "yes"), tuple(nodes))


def test_paths_are_compared_by_what_they_let_through():
    thirty, fifty = Cut(0, Decimal(30)), Cut(0, Decimal("50.0"))
    towns = Groups(1, (("a",), ("b", None)), 1)
    one = tree_of((thirty, 0, (fifty, (towns, 0, 1), 1)))
    asked_otherwise = tree_of((Cut(0, Decimal(50)), (Cut(0, Decimal("30.00")), 1, (towns, 0, 1)), 0))
    assert path_match(one, asked_otherwise) == 1  # the order of the questions and the classes do not matter
    assert path_match(one, asked_otherwise, with_class=True) == Fraction(2, 6)
    assert path_match(one, one, with_class=True) == 1
    banded = tree_of((Bands(0, (Decimal(30), Decimal(50)), (0, 1, 2)), 0, (towns, 0, 1), 1))
    assert path_match(one, banded) == 1
    joined = tree_of((Bands(0, (Decimal(30), Decimal(50)), (0, 1, 0)), 0, 1))
    assert path_match(one, joined) == 0
    assert path_match(one, tree_of((thirty, 0, 1))) == Fraction(1, 5)
    assert path_match(tree_of(0), tree_of(1)) == 1  # a leaf alone has one way, the empty one
    assert path_match(tree_of(0), one) == 0
    renamed = (Attribute("ages", Kind.INTEGER, True), TOWN)
    assert path_match(tree_of((thirty, 0, 1)), tree_of((thirty, 0, 1), renamed)) == 0


def test_a_category_asked_twice_is_the_values_that_are_left():
    first, second = Groups(1, (("a", "b"), ("c",)), 1), Groups(1, (("a",), ("b",)), 1)
    twice = tree_of((first, (second, 0, 1), (Groups(1, (("c",), ("d",)), 1), 0, 1)))
    assert {region for way, _ in ways(twice) for _, region in way} == {
        (True, frozenset("a")),
        (True, frozenset("b")),
        (True, frozenset("c")),
        (False, frozenset(["a", "b", "c", None])),
    }


@pytest.mark.parametrize("seed", range(3))
def test_the_match_of_learned_trees_is_symmetric_and_between_0_and_1(duckdb_engine, make_table, seed):
    trees = [
        learned(duckdb_engine, store(duckdb_engine, make_table, random_rows(seed + more, 120)), "id3", min_leaf=5)
        for more in (0, 500)
    ]
    one, other = trees
    assert path_match(one, one) == 1
    assert path_match(one, other) == path_match(other, one)
    assert 0 <= path_match(one, other) < 1
    assert len(ways(one)) == len(one.leaves)  # no two leaves are reached alike


# -- areas -----------------------------------------------------------------------------------------------------------


def test_areas_are_sums_of_trapezoids():
    dice = random.Random(1)
    points = [(k, Fraction(dice.randrange(600, 900), 1000)) for k in (5, 10, 15, 20, 30)]
    expected = sum((points[i + 1][0] - points[i][0]) * (points[i][1] + points[i + 1][1]) / 2 for i in range(4))
    found = area_over(dice.sample(points, 5))
    assert (found.area, found.mean) == (expected, expected / 25)
    assert area_over([(5, Fraction(3, 4))]).mean == Fraction(3, 4)
    constant = area_over([(5, 80.5), (1000, 80.5)])
    assert (constant.area, constant.mean) == (Fraction(995 * 161, 2), Fraction(161, 2))
    for wrong in ([], [(5, 1), (5, 2)]):
        with pytest.raises(PolicyError, match="each k only once"):
            area_over(wrong)
