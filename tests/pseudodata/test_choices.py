"""What PGEN leaves open: where in its interval a number lies, and which of several intervals a row gets."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import pytest
from sqlglot import exp

from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.grammar import parse
from ppdm_sql.pseudodata.domains import domains_of
from ppdm_sql.pseudodata.draws import PRIME
from ppdm_sql.pseudodata.generate import GenerationOrder, generate
from ppdm_sql.pseudodata.intervals import NUMBERS, ends_by_width, narrow_recipe
from ppdm_sql.pseudodata.paths import recipes
from ppdm_sql.release.pseudo import read_order
from ppdm_sql.statements.names import Name, own
from ppdm_sql.trees.follow import follow
from ppdm_sql.trees.tree import Attribute, Bands, Cut, Groups, Node, Tree

_MADE = own("ppdm_made")
ILL = Attribute("y", Kind.TEXT, ordered=False)
NAMES = ("v", 'o"brien; --', "ppdm_lo0", "band")


def made_of(engine, tree: Tree, order: GenerationOrder) -> list[dict]:
    made = generate(engine, tree, order)
    engine.create_table(_MADE, made.query, temporary=True)
    return [dict(zip(made.columns, row, strict=True)) for row in engine.fetch(exp.select("*").from_(_MADE.table()))]


def printed(rows: list[dict]) -> Counter:
    return Counter(tuple(map(str, row.values())) for row in rows)


def bands(attribute: Attribute, at: tuple, branches=(0, 1, 0), rows: int = 400) -> Tree:
    """One column in bands of two branches, and one leaf below the second that never asks for it again."""
    nodes = (
        Node(0, None, 0, (rows, rows), Bands(0, at, branches), (1, 2)),
        Node(1, 0, 1, (0, rows)),
        Node(2, 0, 1, (rows, 0)),
    )
    return Tree((attribute,), ILL, ("n", "y"), nodes)


def cuts(attribute: Attribute, at, rows: int = 40) -> Tree:
    nodes = (Node(0, None, 0, (rows, rows), Cut(0, at), (1, 2)), Node(1, 0, 1, (0, rows)), Node(2, 0, 1, (rows, 0)))
    return Tree((attribute,), ILL, ("n", "y"), nodes)


# -- numbers ---------------------------------------------------------------------------------------------

# kind, cut, declared bounds; middle below and above the cut, closed ends below and above
PLACES = {
    "integer": (Attribute("v", Kind.INTEGER, True), Decimal("30.5"), (Fraction(0), Fraction(120)), (15, 75), (0, 31)),
    "negative": (Attribute("v", Kind.INTEGER, True), Decimal(-7), (Fraction(-20), Fraction(0)), (-14, -4), (-20, -7)),
    "decimal": (Attribute("v", Kind.DECIMAL, True, scale=2), Decimal("1.25"), (Fraction(0), Fraction(2)),
                (Decimal("0.62"), Decimal("1.62")), (Decimal("0.00"), Decimal("1.25"))),
    "float": (Attribute("v", Kind.FLOAT, True), Decimal("0.3"), (Fraction(-1), Fraction(1)), (-0.35, 0.65), (-1.0, 0.3)),
    "date": (Attribute("v", Kind.DATE, True), "2000-01-11", ("2000-01-01", "2000-01-14"),
             (date(2000, 1, 6), date(2000, 1, 12)), (date(2000, 1, 1), date(2000, 1, 11))),
    "moment": (Attribute("v", Kind.TIMESTAMP, True), "2024-05-01 12:00:01", ("2024-05-01 00:00:00", "2024-05-02"),
               (datetime(2024, 5, 1, 6, 0, 0), datetime(2024, 5, 1, 18, 0, 0)),
               (datetime(2024, 5, 1), datetime(2024, 5, 1, 12, 0, 1))),
    "wide": (Attribute("v", Kind.INTEGER, True), Decimal(10**15), (Fraction(0), Fraction(10**17)),
             (5 * 10**14, 505 * 10**14), (0, 10**15)),
}  # fmt: skip


@pytest.mark.parametrize("case", PLACES)
def test_numbers_lie_in_the_middle_or_at_the_closed_end(engine, case):
    attribute, at, ends, middles, lows = PLACES[case]
    tree = cuts(attribute, at)
    for numbers, wanted in (("midpoint", middles), ("endpoint", lows)):
        rows = made_of(engine, tree, GenerationOrder(numbers=numbers, domains={"v": ends}))
        assert Counter(follow(tree, row) for row in rows) == {1: 40, 2: 40}
        found = {follow(tree, row): row["v"] for row in rows}
        assert (found[1], found[2]) == wanted, numbers
        assert len({row["v"] for row in rows}) == 2


CASES = {
    "integer": (Attribute("v", Kind.INTEGER, True), (Decimal("30.5"), Decimal(50))),
    "between": (Attribute("v", Kind.INTEGER, True), (Decimal("30.2"), Decimal("30.4"), Decimal(60))),
    "float": (Attribute("v", Kind.FLOAT, True), (Decimal("-0.1"), Decimal("0.7"))),
    "thirds": (Attribute("v", Kind.FLOAT, True), (Decimal("0.29"), Decimal("0.57"), Decimal("1.005"))),
    "tiny": (Attribute("v", Kind.FLOAT, True), (Decimal("1e-300"), Decimal("1e300"))),
    "decimal": (Attribute("v", Kind.DECIMAL, True, scale=1), (Decimal("0.25"), Decimal("12.5"))),
    "loose": (Attribute("v", Kind.DECIMAL, True), (Decimal("0.000125"), Decimal("0.5"))),
    "date": (Attribute("v", Kind.DATE, True), ("1985-01-01", "1985-01-02")),
    "moment": (Attribute("v", Kind.TIMESTAMP, True), ("2024-05-01 00:00:00.25", "2024-05-01 00:00:00.250004")),
    "zoned": (Attribute("v", Kind.TIMESTAMP, True, zoned=True), ("2024-05-01 08:30:00+02", "2024-05-02 00:00:00")),
}


@pytest.mark.parametrize("width", ["even", "width"])
@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("case", CASES)
def test_every_row_leads_to_its_leaf_and_is_the_same_on_every_engine(engine, duckdb_engine, case, numbers, width):
    """Properties 1, 3, 4 and 5, whatever was chosen."""
    attribute, at = CASES[case]
    tree = bands(attribute, at, tuple(number % 2 for number in range(len(at) + 1)), rows=40)
    order = GenerationOrder(rows=70, seed=4, numbers=numbers, bands=width)
    rows = made_of(engine, tree, order)
    assert Counter((follow(tree, row), row["y"]) for row in rows) == {(1, "y"): 35, (2, "n"): 35}
    assert printed(rows) == printed(made_of(duckdb_engine, tree, order))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("numbers", ["midpoint", "endpoint"])
def test_a_column_that_the_path_does_not_ask_for_is_drawn_over_its_domain(engine, numbers, name):
    """Property 2: line 8 of the algorithm is not about intervals."""
    attributes = (Attribute("sex", Kind.TEXT, ordered=False), Attribute(name, Kind.INTEGER, ordered=True))
    nodes = (
        Node(0, None, 0, (4000, 2000), Groups(0, (("f",), ("m",))), (1, 2)),
        Node(1, 0, 1, (4000, 0)),
        Node(2, 0, 1, (0, 2000), Cut(1, Decimal(30)), (3, 4)),
        Node(3, 2, 2, (0, 1000)),
        Node(4, 2, 2, (0, 1000)),
    )
    tree = Tree(attributes, ILL, ("n", "y"), nodes)
    rows = made_of(engine, tree, GenerationOrder(seed=1, numbers=numbers, domains={name: (Fraction(20), Fraction(60))}))
    free = Counter(row[name] for row in rows if row["sex"] == "f")
    assert set(free) == set(range(20, 60))
    assert all(abs(count - 100) < 50 for count in free.values())  # five sigma
    held = {"midpoint": {25, 45}, "endpoint": {20, 30}}[numbers]
    assert {row[name] for row in rows if row["sex"] == "m"} == held


def test_the_middle_of_neighbouring_doubles_is_the_lower_one():
    """Half-way between two doubles the even one is nearest, which may be the upper: no value of the interval."""
    low, high = (float.fromhex(f"0x1.000000000000{digit}p0") for digit in (1, 2))
    tree = bands(Attribute("v", Kind.FLOAT, True), (Decimal(low), Decimal(high)), (1, 0, 1))
    domains = domains_of(tree, {})
    (inner,) = [one for one in recipes(tree, domains, None, 0) if one.leaf == 1]
    assert narrow_recipe(inner, domains, "midpoint").bounds[0] == ((Fraction(low), Fraction(low)),)


# -- bands -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_bands_by_width_make_every_value_of_a_branch_alike(engine, duckdb_engine, name):
    """Nine years below 30, ninety from 50 on: one row in eleven is young; by the paper it is one in two."""
    tree = bands(Attribute(name, Kind.INTEGER, True), (Decimal(30), Decimal(50)), rows=9900)
    order = GenerationOrder(seed=2, bands="width", domains={name: (Fraction(21), Fraction(140))})
    rows = made_of(engine, tree, order)
    values = Counter(row[name] for row in rows if follow(tree, row) == 1)
    assert sum(values.values()) == 9900
    assert set(values) == {*range(21, 30), *range(50, 140)}
    assert all(abs(count - 100) < 50 for count in values.values())  # five sigma
    assert abs(sum(values[age] for age in range(21, 30)) - 900) < 5 * (9900 / 11 * 10 / 11) ** 0.5
    assert printed(rows) == printed(made_of(duckdb_engine, tree, order))
    even = made_of(duckdb_engine, tree, GenerationOrder(seed=2, domains=order.domains))
    assert abs(sum(row[name] < 30 for row in even) - 4950) < 250


def test_bands_by_width_of_real_numbers_and_of_middles(engine):
    tree = bands(Attribute("v", Kind.FLOAT, True), (Decimal("0.25"), Decimal("0.5")), rows=4000)
    order = GenerationOrder(seed=3, numbers="midpoint", bands="width", domains={"v": (Fraction(0), Fraction(5, 4))})
    values = Counter(row["v"] for row in made_of(engine, tree, order))
    assert set(values) == {0.125, 0.375, 0.875}
    assert values[0.375] == 4000
    assert abs(values[0.125] - 1000) < 5 * 750**0.5  # a quarter of the width, though a middle has none of its own


def test_a_branch_of_one_band_beside_one_of_several(duckdb_engine):
    tree = bands(
        Attribute("v", Kind.INTEGER, True), (Decimal(10), Decimal(20), Decimal("20.5")), (0, 1, 0, 1), rows=500
    )
    order = GenerationOrder(seed=1, bands="width", domains={"v": (Fraction(0), Fraction(10**17))})
    rows = made_of(duckdb_engine, tree, order)
    assert Counter(follow(tree, row) for row in rows) == {1: 500, 2: 500}


def test_shares_are_exact():
    """All draws are shared out, in the proportion of the widths, whatever their size."""
    wide = ((Fraction(0), Fraction(10**17)), (Fraction(10**18), Fraction(10**18 + 3 * 10**17)))
    assert ends_by_width(wide, Fraction(1)) == [PRIME // 4, PRIME]
    assert ends_by_width(((Fraction(1, 3), Fraction(1, 3)),), Fraction(1)) == [PRIME]
    thirds = tuple((Fraction(n), n + Fraction(1, 3)) for n in range(3))
    assert ends_by_width(thirds, None) == [PRIME // 3, 2 * PRIME // 3, PRIME]


# -- as options ------------------------------------------------------------------------------------------

COLUMNS = {"age": "INTEGER", "ward": "TEXT", "ill": "TEXT"}
MODEL = """CREATE MODEL ills AS SELECT age, ward, ill FROM people WITH ANONYMIZATION (ALGORITHM ldm
    REQUIRE k = 10 QUASI IDENTIFIER (age, ward) SENSITIVE (ill) TARGET (ill));"""


@pytest.fixture
def session(engine, make_table, open_session):
    rows = [(20 + n % 60, "AB"[n % 7 % 2], "yes" if n % 60 > 25 else "no") for n in range(600)]
    make_table(engine, "people", COLUMNS, rows)
    found = open_session(engine)
    found.execute(MODEL)
    return found


def test_the_options_are_recorded_and_explained(session, engine):
    made = "CREATE TABLE p AS PSEUDO DATA FROM MODEL ills WITH (numbers = endpoint, bands = width, domains = (age, 0, 120))"
    (planned,) = session.execute(f"EXPLAIN {made}")
    assert "(pgen, seed 0, classes as counted, numbers at the endpoint, bands by width)" in planned.steps[0]
    (release,) = session.execute(made)
    wanted = {"numbers": "endpoint", "bands": "width", "domains": ["age", 0, 120]}
    assert release.manifest["policy"]["options"] == wanted
    assert release.record.options == wanted
    assert engine.comment_on(Name("p")).endswith("pgen, 2400 rows, seed 0, numbers endpoint, bands width")
    assert len({row[0] for row in engine.fetch(release.query)}) < 10
    assert session.verify("p").holds


@pytest.mark.duckdb
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("numbers = random", "numbers of PSEUDO DATA must be uniform, midpoint or endpoint"),
        ("numbers = 1", "numbers of PSEUDO DATA must be uniform"),
        ("numbers = (midpoint)", "numbers of PSEUDO DATA must be uniform"),
        ("bands = wide", "bands of PSEUDO DATA must be even or width"),
        ("bands = true", "bands of PSEUDO DATA must be even or width"),
        ("band = width", "did you mean bands"),
        ("algorithm = basegen, numbers = midpoint", "numbers of PSEUDO DATA is for pgen"),
        ("algorithm = basegen, bands = even", "bands of PSEUDO DATA is for pgen"),
    ],
)
def test_wrong_words_are_refused(options, told):
    (statement,) = parse(f"CREATE TABLE x AS PSEUDO DATA FROM MODEL ills WITH ({options})")
    with pytest.raises(PolicyError, match=told):
        read_order(statement)
