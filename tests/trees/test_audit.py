"""The span audit against the definition: every private combination is tried, and people are grouped by what can come out."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter, defaultdict
from fractions import Fraction

import pytest
from sqlglot import exp

from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.statements.names import aliased, column
from ppdm_sql.statements.steps import Steps
from ppdm_sql.trees.audit import audit
from ppdm_sql.trees.follow import follow
from ppdm_sql.trees.tree import Attribute, Groups, Node, Tree
from ppdm_sql.trees.tree_json import tree_to_dict
from ppdm_sql.verify.spans import reached_nodes
from tests.sizes import each_seed

Spec = tuple  # (attribute, {value: child}), or "leaf"


def words(name: str) -> Attribute:
    return Attribute(name, Kind.TEXT, ordered=False)


def tree_of(names: list[str], target: str, classes: list[str], spec) -> Tree:
    """A tree from nested (name, {value: spec}) pairs; leaves are None.  Counts do not matter to the audit."""
    nodes: list[Node] = []

    def add(part, parent: int | None, depth: int) -> int:
        number = len(nodes)
        nodes.append(Node(number, parent, depth, (0,) * len(classes)))
        if part is None:
            return number
        name, branches = part
        children = tuple(add(child, number, depth + 1) for child in branches.values())
        split = Groups(names.index(name), tuple((value,) for value in branches))
        nodes[number] = Node(number, parent, depth, (0,) * len(classes), split, children)
        return number

    add(spec, None, 0)
    return Tree(tuple(map(words, names)), words(target), tuple(classes), tuple(nodes))


def stored(engine, make_table, names: list[str], rows: list[tuple]):
    return make_table(engine, "people", dict.fromkeys(names, "TEXT"), rows)


MORTGAGE = [("U", "Yes", "good"), ("M", "Yes", "good"), ("M", "No", "bad"), ("M", "No", "bad"), ("U", "Yes", "bad"), ("U", "No", "bad")]  # fmt: skip
SPORTS = ("sports", {"Yes": ("marital", {"M": None, "U": None}), "No": None})


def test_the_mortgage_example_has_two_spans_of_three(engine, make_table):
    """Friedman et al., table 1: leaves of one and two rows, and still nobody is distinguished from two others."""
    tree = tree_of(["marital", "sports"], "risk", ["bad", "good"], SPORTS)
    name = stored(engine, make_table, ["marital", "sports", "risk"], MORTGAGE)
    found = audit(engine, tree, name, public=["marital"], k=3)
    assert (found.spans, found.k, found.rows, found.exposed_rows, found.below) == (2, 3, 6, 0, 0)
    assert found.confidence == Fraction(2, 3)
    assert math.isclose(found.entropy_bits, 0.918296, abs_tol=1e-6)


def test_a_public_class_makes_spans_smaller(engine, make_table):
    tree = tree_of(["marital", "sports"], "risk", ["bad", "good"], ("sports", {"Yes": None, "No": None}))
    name = stored(engine, make_table, ["marital", "sports", "risk"], MORTGAGE)
    found = audit(engine, tree, name, public=["marital"], class_is_public=True, k=3)
    assert (found.spans, found.k, found.below, found.rows_below) == (2, 2, 1, 2)


def test_leaves_of_three_rows_can_single_somebody_out(engine, make_table):
    rows = [
        *[("0", "0", "0")] * 3,
        *[("0", "1", "0")] * 3,
        *[("1", "0", "0")] * 3,
        *[("1", "0", "1")] * 2,
        ("1", "1", "1"),
    ]
    tree = tree_of(
        ["q", "p1", "p2"], "y", ["x"],
        ("q", {"0": ("p1", {"0": None, "1": None}), "1": ("p2", {"0": None, "1": None})}),
    )  # fmt: skip
    name = stored(engine, make_table, ["q", "p1", "p2", "y"], [(*row, "x") for row in rows])
    found = audit(engine, tree, name, public=["p1", "p2"], k=3)
    assert (found.spans, found.k, found.below, found.rows_below) == (4, 1, 2, 3)
    assert found.exposed_rows == found.rows == 12  # one class only


def test_k_counts_persons_where_there_are_some(engine, make_table):
    tree = tree_of(["p"], "y", ["n", "y"], ("p", {"a": None, "b": None}))
    rows = [("a", "n", "1"), ("a", "y", "1"), ("a", "y", "2"), ("b", "n", "3"), ("b", "n", "4"), ("b", "n", None)]
    name = stored(engine, make_table, ["p", "y", "who"], rows)
    assert audit(engine, tree, name, entity="who").k == 2
    assert audit(engine, tree, name).k == 3


def test_mistakes_are_told(engine, make_table):
    tree = tree_of(["p"], "y", ["n"], ("p", {"a": None, "b": None}))
    name = stored(engine, make_table, ["p", "z"], [("a", "n")])
    with pytest.raises(PolicyError, match="the target of the model"):
        audit(engine, tree, name)
    with pytest.raises(PolicyError, match="no attribute"):
        audit(engine, tree, name, public=["nobody"])
    empty = make_table(engine, "empty", {"p": "TEXT", "y": "TEXT"}, [])
    with pytest.raises(PolicyError, match="no rows"):
        audit(engine, tree, empty)


def judged_sizes(engine, tree, name, public) -> list[int]:
    """The sizes of the groups that the judge forms from the model file, which shares no code with the audit."""
    steps = Steps("r")
    span = aliased(reached_nodes(engine, tree_to_dict(tree), public, steps), "span")
    grouped = steps.over(exp.Select(expressions=[span]), name.table()).subquery("s")
    counted = exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(grouped).group_by(column("span", "s"))
    return sorted(int(row[0]) for row in engine.fetch(counted))


@each_seed(small=6, full=40)
def test_random_trees_by_the_definition(duckdb_engine, make_table, seed):
    """Span = the set of (leaf, class) that some private values can lead to; people are grouped by it."""
    draw = random.Random(seed)
    domains = {name: ["a", "b", "c"][: draw.randint(2, 3)] for name in ("p", "q'", 'r"', "s")[: draw.randint(2, 4)]}
    names = list(domains)
    public = [name for name in names if draw.random() < 0.6]
    classes = ["n", "y"]

    def grown(left: list[str], depth: int):
        if depth == 3 or not left or draw.random() < 0.15:
            return None
        name = draw.choice(left)
        rest = [other for other in left if other != name]
        return name, {value: grown(rest, depth + 1) for value in domains[name]}

    tree = tree_of(names, "y", classes, grown(names, 0))
    rows = [(*(draw.choice(domains[n]) for n in names), draw.choice(classes)) for _ in range(draw.randint(1, 60))]
    class_is_public = draw.random() < 0.3
    groups = defaultdict(Counter)
    private = [name for name in names if name not in public]
    for row in rows:
        known = {name: value for name, value in zip(names, row, strict=False) if name in public}
        leaves = frozenset(
            follow(tree, known | dict(zip(private, guess, strict=True)))
            for guess in itertools.product(*(domains[name] for name in private))
        )
        groups[(leaves, row[-1] if class_is_public else None)][row[-1]] += 1
    name = stored(duckdb_engine, make_table, [*names, "y"], rows)
    found = audit(duckdb_engine, tree, name, public=public, class_is_public=class_is_public)
    if not class_is_public:
        assert judged_sizes(duckdb_engine, tree, name, public) == sorted(sum(g.values()) for g in groups.values())
    sizes = [sum(group.values()) for group in groups.values()]
    assert (found.spans, found.k, found.rows) == (len(groups), min(sizes), len(rows))
    assert found.exposed_rows == sum(sum(group.values()) for group in groups.values() if len(group) == 1)
    assert found.confidence == max(Fraction(max(g.values()), sum(g.values())) for g in groups.values())
