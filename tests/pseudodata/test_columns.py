"""Columns of every kind: each value in its leaf, of the model's own type, over the whole domain, alike on every engine."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from sqlglot import exp

from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.pseudodata.domains import domains_of, read_domains
from ppdm_sql.pseudodata.generate import GenerationOrder, generate
from ppdm_sql.pseudodata.paths import quota, recipes
from ppdm_sql.statements.names import own
from ppdm_sql.trees.follow import follow
from ppdm_sql.trees.tree import Attribute, Cut, Groups, Node, Tree

_MADE = own("ppdm_made")
_YES_NO = Attribute("y", Kind.TEXT, ordered=False)


def chain(attribute: Attribute, cuts: list, rows: int = 40, target: Attribute = _YES_NO, classes=("n", "y")) -> Tree:
    """A leaf below every cut, and one from the last on."""
    nodes, leaves = [], len(cuts) + 1
    for step, at in enumerate(cuts):
        left = (rows, 0) if step % 2 else (0, rows)
        more = rows * (leaves - step - 1) // 2
        here = (left[0] + more, left[1] + more)
        number, parent = 2 * step, 2 * step - 2 if step else None
        nodes += [
            Node(number, parent, step, here, Cut(0, at), (number + 1, number + 2)),
            Node(number + 1, number, step + 1, left),
        ]
    last = 2 * len(cuts)
    nodes.append(Node(last, last - 2, len(cuts), (rows // 2, rows // 2)))
    return Tree((attribute,), target, classes, tuple(nodes))


def made_of(engine, tree: Tree, order: GenerationOrder) -> list[dict]:
    """The raw rows stored, and so with the types of the columns."""
    made = generate(engine, tree, order)
    engine.create_table(_MADE, made.query, temporary=True)
    return [dict(zip(made.columns, row, strict=True)) for row in engine.fetch(exp.select("*").from_(_MADE.table()))]


def printed(rows: list[dict]) -> Counter:
    """The rows as texts: drivers have objects of their own for a time zone."""
    return Counter(tuple(map(str, row.values())) for row in rows)


MOMENTS = ["2024-05-01 08:30:00", "2024-05-01 17:45:10", "2024-05-02 00:00:00", "2024-05-03 12:00:01"]
CASES = {
    "timestamp": (Attribute("v", Kind.TIMESTAMP, ordered=True), MOMENTS),
    "before 1970": (Attribute("v", Kind.TIMESTAMP, ordered=True), ["1911-11-11 11:11:11", "1969-12-31 23:59:59"]),
    "zoned": (Attribute("v", Kind.TIMESTAMP, ordered=True, zoned=True), ["2024-05-01 08:30:00+02", MOMENTS[2]]),
    "within a second": (Attribute("v", Kind.TIMESTAMP, ordered=True), ["2024-05-01 00:00:00.25", "2024-05-01 00:00:00.250004"]),
    "date": (Attribute("v", Kind.DATE, ordered=True), ["0001-03-01", "1985-01-01", "1985-01-02", "9900-01-01"]),
    "decimal": (Attribute("v", Kind.DECIMAL, ordered=True, scale=2), [Decimal("-0.05"), Decimal("0.01"), Decimal("12.5")]),
    "loose decimal": (Attribute("v", Kind.DECIMAL, ordered=True), [Decimal("0.000125"), Decimal("0.5")]),
    "long decimal": (Attribute("v", Kind.DECIMAL, ordered=True, scale=10), [Decimal(-5), Decimal(22 * 10**25), Decimal(33 * 10**25)]),
    "bigint": (Attribute("v", Kind.INTEGER, ordered=True), [Decimal(-(10**17)), Decimal(12), Decimal(13), Decimal(10**18)]),
    "float": (Attribute("v", Kind.FLOAT, ordered=True), [Decimal("1e-300"), Decimal("2.5"), Decimal("1e300")]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_every_value_lies_in_its_leaf_and_is_the_same_on_every_engine(engine, duckdb_engine, case):
    """Proposition 18, column by column; basegen: the tree says the class."""
    attribute, cuts = CASES[case]
    tree = chain(attribute, cuts)
    rows = made_of(engine, tree, GenerationOrder(seed=4))
    assert Counter(follow(tree, row) for row in rows) == {leaf.number: leaf.rows for leaf in tree.leaves}
    assert printed(rows) == printed(made_of(duckdb_engine, tree, GenerationOrder(seed=4)))
    based = made_of(engine, tree, GenerationOrder("basegen", 300, 4))
    assert all(row["y"] == tree.prediction(tree.nodes[follow(tree, row)]) for row in based)


def test_moments_are_drawn_to_the_second_and_days_over_all_days(engine):
    tree = chain(*CASES["timestamp"], rows=400)
    rows = made_of(engine, tree, GenerationOrder(seed=1))
    assert all(row["v"].microsecond == 0 for row in rows)
    assert len({row["v"].time() for row in rows}) > 1000
    days = chain(Attribute("v", Kind.DATE, ordered=True), ["1985-01-01"], rows=4000)
    order = GenerationOrder(seed=1, domains={"v": ("1930-01-01", "2020-01-01")})
    born = [row["v"] for row in made_of(engine, days, order)]
    assert min(born) >= date(1930, 1, 1)
    assert max(born) < date(2020, 1, 1)
    assert len(set(born)) > 5000  # of 20,089 and 12,783 days
    early = sum(day < date(1957, 7, 2) for day in born if day < date(1985, 1, 1))
    assert abs(early - 2000) < 200


def test_the_whole_of_a_wide_domain_occurs(engine):
    """2^31 - 1 is not the end: quarters, last digits and ends of 10^11 values are reached alike."""
    tree = chain(Attribute("v", Kind.INTEGER, ordered=True), [Decimal(1)], rows=8000)
    bounds = {"v": (Fraction(-1), Fraction(100_000_000_000))}
    rows = made_of(engine, tree, GenerationOrder("basegen", 16_000, 3, domains=bounds))
    quarters = Counter(row["v"] // 25_000_000_000 for row in rows)
    assert all(abs(quarters[place] - 4000) < 330 for place in range(4)), quarters  # six sigma
    digits = Counter(row["v"] % 10 for row in rows)
    assert all(abs(digits[place] - 1600) < 230 for place in range(10)), digits
    assert len({row["v"] for row in rows}) > 15_990
    assert max(row["v"] for row in rows) > 99_900_000_000


@pytest.mark.parametrize(
    ("attribute", "cuts", "told"),
    [
        (Attribute("v", Kind.INTEGER, ordered=True), [Decimal(10**20)], "64 bits"),
        (Attribute("v", Kind.INTEGER, ordered=True), [Decimal(-(8 * 10**18)), Decimal(8 * 10**18)], "2^62 values"),
        (Attribute("v", Kind.FLOAT, ordered=True), [Decimal("1e400")], "a DOUBLE"),
        (Attribute("v", Kind.FLOAT, ordered=True), [Decimal("Infinity")], "has an infinite threshold"),
        (Attribute("v", Kind.DATE, ordered=True), ["12024-01-01"], "years 1 to 9999"),
        (Attribute("v", Kind.DATE, ordered=True), ["0044-03-15 (BC)"], "years 1 to 9999"),
        (Attribute("v", Kind.TIMESTAMP, ordered=True), ["infinity"], "years 1 to 9999"),
        (Attribute("v", Kind.DECIMAL, ordered=True, scale=2), [Decimal(10**35)], "34 digits"),
    ],
)
def test_what_no_engine_holds_is_refused(duckdb_engine, attribute, cuts, told):
    with pytest.raises(PolicyError, match=told.replace("^", r"\^")):
        generate(duckdb_engine, chain(attribute, cuts), GenerationOrder())


def test_bounds_without_declaration_stay_within_what_engines_hold(duckdb_engine):
    tree = chain(Attribute("v", Kind.DATE, ordered=True), ["1900-01-01", "9000-01-01"])
    assert domains_of(tree, {})[0].bounds[1] == (date.max - date(1970, 1, 1)).days + 1
    tree = chain(Attribute("v", Kind.INTEGER, ordered=True), [Decimal(75 * 10**17), Decimal(85 * 10**17)])
    rows = made_of(duckdb_engine, tree, GenerationOrder(rows=200))
    assert {follow(tree, row) for row in rows} == {leaf.number for leaf in tree.leaves}


def test_bounds_of_moments_are_texts_or_days(duckdb_engine):
    tree = chain(Attribute("v", Kind.DATE, ordered=True), ["1985-01-01"])
    told = read_domains(("v", "1984-01-01", "1986-01-01"))
    assert domains_of(tree, told)[0].bounds == (Fraction(5113), Fraction(5844))
    moments = chain(Attribute("v", Kind.TIMESTAMP, ordered=True), ["1970-01-02 06:00:00"])
    found = domains_of(moments, {"v": (Fraction(0), "1970-01-03 00:00:30")})[0]
    assert (found.bounds, found.steps) == ((Fraction(0), Fraction(2 * 86_400 + 30)), 1)
    for wrong in (("v", "soon", "1986-01-01"), ("v", "1986-01-01", "1984-01-01"), ("v", "1984-01-01", "20000-01-01")):
        with pytest.raises(PolicyError, match='domains: the bounds of column "v" are'):
            domains_of(tree, read_domains(wrong))
    numbers = chain(Attribute("v", Kind.INTEGER, ordered=True), [Decimal(5)])
    with pytest.raises(PolicyError, match="are numbers"):
        domains_of(numbers, read_domains(("v", "0", "9")))
    with pytest.raises(PolicyError, match="is given twice"):
        read_domains(("v", Fraction(1), Fraction(2), "v", Fraction(1), Fraction(3)))


KINDS = {
    Kind.INTEGER: ([1, 2], "BIGINT", "bigint"),
    Kind.DECIMAL: ([Decimal("1.5"), Decimal("22.25")], "DECIMAL(18,2)", "numeric(18,2)"),
    Kind.FLOAT: ([0.5, 1e300], "DOUBLE", "double precision"),
    Kind.TEXT: (["it's", 'say "x"'], "VARCHAR", "text"),
    Kind.BOOLEAN: ([False, True], "BOOLEAN", "boolean"),
    Kind.DATE: (["2020-01-01", "2021-12-31"], "DATE", "date"),
    Kind.TIMESTAMP: (["2020-01-01 10:00:00", "2021-12-31 00:00:00.5"], "TIMESTAMP", "timestamp without time zone"),
    Kind.UUID: ([f"{n:08x}-0000-4000-8000-000000000000" for n in (1, 2)], "UUID", "uuid"),
}


@pytest.mark.parametrize("algorithm", ["pgen", "basegen"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.value)
def test_categories_and_classes_have_the_model_s_types(engine, duckdb_engine, kind, algorithm):
    values, in_duckdb, in_postgres = KINDS[kind]
    target = Attribute("y", kind, ordered=False)
    split = Groups(0, ((values[0],), (values[1],)))
    nodes = (Node(0, None, 0, (20, 20), split, (1, 2)), Node(1, 0, 1, (20, 0)), Node(2, 0, 1, (0, 20)))
    tree = Tree((Attribute("v", kind, ordered=False),), target, tuple(values), nodes)
    rows = made_of(engine, tree, GenerationOrder(algorithm, 60, 2))
    declared = {info.declared for info in engine.columns(_MADE)}
    assert declared <= {in_duckdb, in_postgres, in_duckdb.lower(), "string"}, declared
    assert all(row["v"] == row["y"] for row in rows)
    assert len({row["y"] for row in rows}) == 2
    assert printed(rows) == printed(made_of(duckdb_engine, tree, GenerationOrder(algorithm, 60, 2)))


def test_ordered_columns_have_the_model_s_types(engine):
    for case, kinds in {
        "timestamp": ("TIMESTAMP", "timestamp without time zone"),
        "zoned": ("TIMESTAMP WITH TIME ZONE", "timestamp with time zone"),
        "date": ("DATE", "date"),
        "decimal": ("DECIMAL(18,2)", "numeric(18,2)"),
        "bigint": ("BIGINT", "bigint"),
        "float": ("DOUBLE", "double precision"),
    }.items():
        made_of(engine, chain(*CASES[case]), GenerationOrder(rows=10))
        declared = engine.columns(_MADE)[0].declared
        assert declared in (*kinds, kinds[0].lower(), "timestamp"), case


def test_a_category_that_no_column_holds_is_refused(duckdb_engine):
    for kind, values in ((Kind.INTEGER, (1, 10**20)), (Kind.DATE, ("2020-01-01", "12020-01-01"))):
        split = Groups(0, ((values[0],), (values[1],)))
        nodes = (Node(0, None, 0, (2, 2), split, (1, 2)), Node(1, 0, 1, (2, 0)), Node(2, 0, 1, (0, 2)))
        for tree in (
            Tree((Attribute("v", kind, ordered=False),), _YES_NO, ("n", "y"), nodes),
            Tree((Attribute("v", kind, ordered=False),), Attribute("y", kind, ordered=False), values, nodes),
        ):
            with pytest.raises(PolicyError, match="64 bits|9999"):
                generate(duckdb_engine, tree, GenerationOrder())


def test_left_over_rows_go_to_the_classes_in_an_order_of_each_leaf(duckdb_engine):
    """Over 500 leaves of three rows, one of them the majority's, no other class gets more than its share."""
    draw = random.Random(1)
    values = tuple(f"v{number:03}" for number in range(500))
    nodes = [Node(number + 1, 0, 1, (2, 1, 0, 0, 0)) for number in range(500)]
    root = Node(0, None, 0, (1000, 500, 0, 0, 0), Groups(0, tuple((value,) for value in values)), tuple(range(1, 501)))
    tree = Tree((Attribute("v", Kind.TEXT, ordered=False),), _YES_NO, tuple("abcde"), (root, *nodes))
    for seed in (0, draw.randrange(1000)):
        rows = made_of(duckdb_engine, tree, GenerationOrder(seed=seed, classes="quota"))
        counts = Counter(row["y"] for row in rows)
        assert counts["a"] == 1000
        assert all(abs(counts[other] - 125) < 60 for other in "bcde"), counts
    orders = {recipe.classes for recipe in recipes(tree, domains_of(tree, {}), None, 3, by_counts=False)}
    assert len(orders) == 4
    tied = Tree(tree.attributes, _YES_NO, ("a", "b"), tuple(
        Node(node.number, node.parent, node.depth, (500, 500) if node.split else (1, 1), node.split, node.children)
        for node in tree.nodes))  # fmt: skip
    halves = Counter(recipe.classes for recipe in recipes(tied, domains_of(tied, {}), 500, 3, by_counts=True))
    assert abs(halves[1, 0] - 250) < 70, halves


def test_example_20_is_exact_whatever_the_order():
    leaf = Node(7, None, 0, (4, 4, 4, 8, 4))
    for order in ([0, 1, 2, 3, 4], [4, 2, 3, 1, 0]):
        assert quota(leaf, 24, order) == (4, 4, 4, 8, 4)


@pytest.mark.parametrize("algorithm", ["pgen", "basegen"])
def test_a_model_of_one_leaf_gives_classes_alone(engine, algorithm):
    tree = Tree((Attribute("v", Kind.TEXT, ordered=False),), _YES_NO, ("n", "y"), (Node(0, None, 0, (30, 10)),))
    rows = made_of(engine, tree, GenerationOrder(algorithm))
    assert Counter(row["y"] for row in rows) == ({"n": 30, "y": 10} if algorithm == "pgen" else {"n": 40})


def test_too_many_rows_are_refused(duckdb_engine):
    tree = chain(Attribute("v", Kind.INTEGER, ordered=True), [Decimal(5)], rows=2 * 10**9)
    with pytest.raises(PolicyError, match="more than 1,000,000,000 pseudo-rows"):
        generate(duckdb_engine, tree, GenerationOrder())
    assert len(made_of(duckdb_engine, tree, GenerationOrder(rows=10))) == 10


def test_moments_of_python_and_sql_agree(engine):
    """What was counted in seconds since the year 1 is the moment that the calendar gives."""
    at = datetime(2, 2, 28, 23, 59, 59)
    for zoned in (False, True):
        attribute = Attribute("v", Kind.TIMESTAMP, ordered=True, zoned=zoned)
        tree = chain(attribute, [str(at)])
        low, high = at - timedelta(seconds=1), at + timedelta(seconds=1)
        rows = made_of(engine, tree, GenerationOrder(rows=20, domains={"v": (str(low), str(high))}))
        wanted = {moment.replace(tzinfo=UTC) if zoned else moment for moment in (low, at)}
        assert {row["v"].astimezone(UTC) if zoned else row["v"] for row in rows} == wanted
