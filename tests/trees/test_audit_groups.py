"""The groups of an audit one by one: by the definition, of several models together, and of trees of any depth."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter, defaultdict
from decimal import Decimal
from fractions import Fraction

import pytest
from test_audit import MORTGAGE, SPORTS, judged_sizes, stored, tree_of

from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.trees.audit import audit
from ppdm_sql.trees.follow import follow
from ppdm_sql.trees.sound import check_tree
from ppdm_sql.trees.tree import Attribute, Bands, Cut, Groups, Node, Tree
from tests.sizes import each_seed


def test_the_mortgage_example_tells_two_groups_of_three(engine, make_table):
    """Friedman et al., table 1 and figure 2: married and unmarried, one good and two bad each."""
    tree = tree_of(["marital", "sports"], "risk", ["bad", "good"], SPORTS)
    name = stored(engine, make_table, ["marital", "sports", "risk"], MORTGAGE)
    found = audit(engine, tree, name, public=["marital"], k=3, groups=None)
    assert {group.words for group in found.groups} == {"marital = 'M'", "marital = 'U'"}
    for group in found.groups:
        assert (group.size, group.rows, group.classes, group.other_rows) == (3, 3, (("bad", 2), ("good", 1)), 0)
        assert group.confidence == Fraction(2, 3)
        assert math.isclose(group.entropy_bits, 0.918296, abs_tol=1e-6)
    assert audit(engine, tree, name, public=["marital"]).groups == ()


@each_seed(small=6, full=30)
def test_random_groups_are_those_of_the_definition(duckdb_engine, make_table, seed):
    """One or two trees, tried with every private combination: the same groups with the same classes, each once."""
    draw = random.Random(seed)
    domains = {name: ["a", "b", "c;1"][: draw.randint(2, 3)] for name in ("p", "q'", 'r"', "s")[: draw.randint(2, 4)]}
    names, classes = list(domains), ["0;", "n", "|y"]

    def grown(left: list[str], depth: int):
        if depth == 3 or not left or draw.random() < 0.15:
            return None
        name = draw.choice(left)
        rest = [other for other in left if other != name]
        return name, {value: grown(rest, depth + 1) for value in domains[name]}

    trees = [tree_of(names, "y", classes, grown(names, 0)) for _ in range(draw.randint(1, 2))]
    public = [name for name in names if draw.random() < 0.6]
    private = [name for name in names if name not in public]
    class_is_public = draw.random() < 0.3
    rows = [
        (*(draw.choice(domains[n]) for n in names), draw.choice([*classes, "new"])) for _ in range(draw.randint(1, 60))
    ]
    expected = defaultdict(Counter)
    for row in rows:
        known = {name: value for name, value in zip(names, row, strict=False) if name in public}
        spans = tuple(
            frozenset(
                follow(tree, known | dict(zip(private, guess, strict=True)))
                for guess in itertools.product(*(domains[name] for name in private))
            )
            for tree in trees
        )
        expected[(spans, row[-1] if class_is_public else None)][row[-1]] += 1
    name = stored(duckdb_engine, make_table, [*names, "y"], rows)
    found = audit(duckdb_engine, trees, name, public=public, class_is_public=class_is_public, groups=None)

    def told(counts: Counter) -> tuple:
        return (
            counts.total(),
            frozenset((value, number) for value, number in counts.items() if value != "new"),
            Fraction(max(counts.values()), counts.total()),
            round(-sum(n / counts.total() * math.log2(n / counts.total()) for n in counts.values()), 9) + 0.0,
        )

    groups = Counter(
        (group.size, frozenset(group.classes), group.confidence, round(group.entropy_bits, 9) + 0.0)
        for group in found.groups
    )
    assert groups == Counter(told(counts) for counts in expected.values())
    assert all(group.rows == group.other_rows + sum(rows for _, rows in group.classes) for group in found.groups)
    assert len({group.words for group in found.groups}) == found.spans  # the words tell them apart, too
    assert [group.size for group in found.groups] == sorted(group.size for group in found.groups)
    fewer = audit(duckdb_engine, trees, name, public=public, class_is_public=class_is_public, groups=2)
    assert fewer.groups == found.groups[:2]


def numbers(name: str) -> Attribute:
    return Attribute(name, Kind.INTEGER, ordered=True)


def test_conditions_of_one_column_are_told_as_one(engine, make_table):
    """Cuts below each other become a range; NULL and a value that no branch names stop at their node."""
    nodes = (
        Node(0, None, 0, (0,), Cut(0, Decimal("30.5"), nulls=None), (1, 2)),
        Node(1, 0, 1, (0,)),
        Node(2, 0, 1, (0,), Cut(0, Decimal("50")), (3, 4)),
        Node(3, 2, 2, (0,), Groups(1, (("A",), ("B",))), (5, 6)),
        Node(4, 2, 2, (0,), Bands(0, (Decimal(60), Decimal(70)), (0, 1, 0)), (7, 8)),
        *(Node(number, parent, 3, (0,)) for number, parent in ((5, 3), (6, 3), (7, 4), (8, 4))),
    )
    tree = Tree(
        (numbers("age"), Attribute("ward", Kind.TEXT, False)), Attribute("ill", Kind.TEXT, False), ("x",), nodes
    )
    check_tree(tree)
    rows = [(20, "A", "x"), (40, "A", "x"), (41, "Z", "x"), (55, "A", "x"), (80, "B", "x"), (65, "B", "y"), (None, "A", "x")]  # fmt: skip
    name = make_table(engine, "people", {"age": "INTEGER", "ward": "TEXT", "ill": "TEXT"}, rows)
    found = audit(engine, tree, name, groups=None)
    assert {group.words: group.rows for group in found.groups} == {
        "age < 30.5": 1,
        "30.5 <= age < 50 and ward = 'A'": 1,
        "30.5 <= age < 50 and ward is none of the values in its tests": 1,
        "(50 <= age < 60 or age >= 70)": 2,
        "60 <= age < 70": 1,
        "age is NULL": 1,
    }
    other = next(group for group in found.groups if group.words == "60 <= age < 70")
    assert (other.classes, other.other_rows) == ((), 1)  # a class that is not in the model is not told


def test_a_value_that_is_known_is_not_told_to_be_none_of_others(duckdb_engine, make_table):
    """Below a private question and in another model the same column is asked for other values."""
    tree = tree_of(["p", "s"], "y", ["n"], ("p", {"a": ("s", {"x": None, "z": None}), "b": ("s", {"y": None})}))
    other = tree_of(["s"], "y", ["n"], ("s", {"z": None, "w": None}))
    name = stored(duckdb_engine, make_table, ["p", "s", "y"], [("a", s, "n") for s in "xyzv"])
    found = audit(duckdb_engine, [tree, other], name, public=["s"], groups=None)
    assert {group.words for group in found.groups} == {
        "s = 'x'",
        "s = 'y'",
        "s = 'z'",
        "s is none of the values in its tests",
    }


def test_a_class_that_looks_like_a_span_parts_people_all_the_same(engine, make_table):
    """A public class is part of what is known: written before the span, x and x0; would have met."""
    tree = tree_of(["p"], "y", ["x", "x0;"], ("p", {"a": ("p", {"b": None, "a": None}), "b": None}))
    name = stored(engine, make_table, ["p", "y"], [("a", "x0;"), ("b", "x"), ("b", ""), ("b", None)])
    found = audit(engine, tree, name, class_is_public=True, groups=None)
    assert (found.spans, found.k) == (4, 1)
    known = audit(engine, tree, name, public=["p", "y"], groups=None)  # the same, said in another way
    assert known == found


def test_two_models_single_out_whom_each_of_them_hides(engine, make_table):
    rows = [(a, b, "n") for a in "xy" for b in "uv" for _ in range(3)] + [("x", "u", "y")]
    name = stored(engine, make_table, ["a", "b", "y"], rows)
    one = tree_of(["a"], "y", ["n", "y"], ("a", {"x": None, "y": None}))
    other = tree_of(["b"], "y", ["n", "y"], ("b", {"u": None, "v": None}))
    assert audit(engine, one, name).k == audit(engine, other, name).k == 6
    both = audit(engine, [one, other], name, k=6, groups=None)
    assert (both.spans, both.k, both.below, both.public) == (4, 3, 4, ("a", "b"))
    assert both.groups[-1].words == "a = 'x' and b = 'u'"
    assert both.groups[-1].classes == (("n", 3), ("y", 1))


def test_models_of_two_targets_have_no_common_public_class(engine, make_table):
    name = stored(engine, make_table, ["a", "y", "z"], [("x", "n", "m")])
    trees = [tree_of(["a"], target, ["n"], ("a", {"x": None, "y": None})) for target in ("y", "z")]
    assert audit(engine, trees, name).spans == 1
    with pytest.raises(PolicyError, match="different targets"):
        audit(engine, trees, name, class_is_public=True)


def test_columns_are_found_whatever_their_case(duckdb_engine, make_table):
    tree = tree_of(["p"], "y", ["n"], ("p", {"a": None, "b": None}))
    rows = [("a", "n", "1"), ("a", "n", "1"), ("b", "n", "2")]
    name = stored(duckdb_engine, make_table, ["P", "Y", "PID"], rows)
    found = audit(duckdb_engine, tree, name, public=["p"], entity="pid", groups=None)
    assert (found.spans, found.k, found.rows) == (2, 1, 3)
    assert {(group.words, group.size, group.rows) for group in found.groups} == {("P = 'a'", 1, 2), ("P = 'b'", 1, 1)}
    with pytest.raises(PolicyError, match='no column "nobody"'):
        audit(duckdb_engine, tree, name, entity="nobody")


def test_a_public_column_that_the_model_does_not_ask_for_tells_nobody_apart(engine, make_table):
    tree = tree_of(["p"], "y", ["n"], ("p", {"a": None, "b": None}))
    name = stored(engine, make_table, ["p", "zip", "y"], [("a", "1", "n"), ("a", "2", "n"), ("b", "3", "n")])
    found = audit(engine, tree, name, public=["p", "zip"])
    assert (found.public, found.not_asked, found.spans) == (("p",), ("zip",), 2)


# -- depth and width -------------------------------------------------------------------------------------


def chain(depth: int) -> Tree:
    """One question below the other, about the columns in turn: x < 0.5, y < 1.5, x < 2.5 ..."""
    nodes: list[Node] = []
    for level in range(depth):
        above = None if level == 0 else 2 * level - 2
        split = Cut(level % 2, Decimal(level) + Decimal("0.5"))
        nodes.append(Node(2 * level, above, level, (depth - level + 1,), split, (2 * level + 1, 2 * level + 2)))
        nodes.append(Node(2 * level + 1, 2 * level, level + 1, (1,)))
    nodes.append(Node(2 * depth, 2 * depth - 2, depth, (1,)))
    return Tree((numbers("x"), numbers("y")), Attribute("c", Kind.TEXT, False), ("n",), tuple(nodes))


@pytest.mark.parametrize("public", [["x"], ["x", "y"], []])
@pytest.mark.parametrize(
    "which",
    [pytest.param("duckdb_engine", marks=pytest.mark.duckdb), pytest.param("postgres_engine", marks=pytest.mark.postgres)],
)  # fmt: skip
def test_a_deep_tree_is_audited(request, make_table, which, public):
    """Three hundred questions, private ones among them: too deep for one CASE within the other."""
    engine, tree, depth = request.getfixturevalue(which), chain(300), 300
    check_tree(tree)
    people = [number * 31 for number in range(40)]  # x and y are the same, so a person stops at the level of his number
    name = make_table(engine, "deep", {"x": "INTEGER", "y": "INTEGER", "c": "TEXT"}, [(n, n, "n") for n in people])
    asked = [level for level in range(depth) if "xy"[level % 2] in public]
    expected = Counter(next((level for level in asked if number < level + 0.5), None) for number in people)
    found = audit(engine, tree, name, public=public, groups=3)
    assert (found.spans, found.rows, len(found.groups)) == (len(expected), 40, min(3, len(expected)))
    assert [group.rows for group in found.groups] == sorted(expected.values())[:3]
    assert judged_sizes(engine, tree, name, public) == sorted(expected.values())


def test_a_wide_private_question_is_audited(duckdb_engine, make_table):
    """More branches than an expression may be nested: they stand next to each other."""
    asked = {f"v{number}": None if number % 10 else ("p", {"a": None, "b": None}) for number in range(1200)}
    tree = tree_of(["q", "p"], "y", ["n"], ("q", asked))
    name = stored(duckdb_engine, make_table, ["q", "p", "y"], [("v1", "a", "n"), ("v2", "a", "n"), ("v3", "b", "n")])
    found = audit(duckdb_engine, tree, name, public=["p"], groups=None)
    assert [(group.words, group.rows) for group in found.groups] == [("p = 'b'", 1), ("p = 'a'", 2)]
    assert judged_sizes(duckdb_engine, tree, name, ["p"]) == [1, 2]
