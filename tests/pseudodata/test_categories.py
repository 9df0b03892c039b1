"""Declared categories: drawn from where the model names none, checked against it, and never those of the data."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from fractions import Fraction

import pytest
from sqlglot import exp

from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.values import option_value
from ppdm_sql.pseudodata.categories import Listed
from ppdm_sql.pseudodata.domains import domains_from_text, domains_of, read_domains
from ppdm_sql.pseudodata.generate import GenerationOrder, generate
from ppdm_sql.statements.names import own
from ppdm_sql.trees.follow import follow
from ppdm_sql.trees.tree import Attribute, Cut, Groups, Node, Tree

_MADE = own("ppdm_made")
ILL = Attribute("S", Kind.TEXT, ordered=False)
WARD = Attribute("ward", Kind.TEXT, ordered=False)


def made_of(engine, tree: Tree, order: GenerationOrder) -> list[dict]:
    made = generate(engine, tree, order)
    engine.create_table(_MADE, made.query, temporary=True)
    return [dict(zip(made.columns, row, strict=True)) for row in engine.fetch(exp.select("*").from_(_MADE.table()))]


def printed(rows: list[dict]) -> Counter:
    return Counter(tuple(map(str, row.values())) for row in rows)


def even(counts: Counter, values, share: float) -> bool:
    """Property 2: exactly these values, each within five sigma of its share."""
    return set(counts) == set(values) and all(abs(n - share) < 5 * share**0.5 for n in counts.values())


# -- the paper's path ------------------------------------------------------------------------------------


def test_the_paper_s_path_with_its_domains(engine, duckdb_engine):
    """Section 12.4: A = a1, B in {b4, b5}, 8 of 24 are S4; C has 3 values and D 10, of which the model names one or none."""
    attributes = tuple(Attribute(name, Kind.TEXT, ordered=False) for name in "ABCD")
    nodes = (
        Node(0, None, 0, (1200, 1200, 1200, 1600, 1200), Groups(0, (("a1",), ("a2",))), (1, 4)),
        Node(1, 0, 1, (800, 800, 800, 1200, 800), Groups(1, (("b1", "b2", "b3"), ("b4", "b5"))), (2, 3)),
        Node(2, 1, 2, (400, 400, 400, 400, 400)),
        Node(3, 1, 2, (400, 400, 400, 800, 400)),
        Node(4, 0, 1, (400, 400, 400, 400, 400), Groups(2, (("c1",), ()), 1), (5, 6)),
        Node(5, 4, 2, (200, 200, 200, 200, 200)),
        Node(6, 4, 2, (200, 200, 200, 200, 200)),
    )
    tree = Tree(attributes, ILL, ("S1", "S2", "S3", "S4", "S5"), nodes)
    words = tuple(f"d{number}" for number in range(10))
    domains = {"C": Listed(("c1", "c2", "c3")), "D": Listed(words)}
    order = GenerationOrder(rows=6400, seed=1, domains=domains)
    rows = made_of(engine, tree, order)
    assert Counter(follow(tree, row) for row in rows) == {2: 2000, 3: 2400, 5: 1000, 6: 1000}
    here = [row for row in rows if follow(tree, row) == 3]
    assert {row["A"] for row in here} == {"a1"}
    assert even(Counter(row["B"] for row in here), ("b4", "b5"), 1200)
    assert even(Counter(row["C"] for row in here), ("c1", "c2", "c3"), 800)
    assert even(Counter(row["D"] for row in here), words, 240)
    assert Counter(row["S"] for row in here) == {"S1": 400, "S2": 400, "S3": 400, "S4": 800, "S5": 400}
    assert even(Counter(row["C"] for row in rows if follow(tree, row) == 6), ("c2", "c3"), 500)  # all others
    assert printed(rows) == printed(made_of(duckdb_engine, tree, order))
    based = made_of(engine, tree, GenerationOrder("basegen", 3000, 1, domains=domains))
    assert even(Counter(row["C"] for row in based), ("c1", "c2", "c3"), 1000)
    assert all(row["S"] == tree.prediction(tree.nodes[follow(tree, row)]) for row in based)
    small = made_of(duckdb_engine, tree, GenerationOrder(rows=64, seed=1, domains=domains))
    assert Counter(row["S"] for row in small if follow(tree, row) == 3) == {"S1": 4, "S2": 4, "S3": 4, "S4": 8, "S5": 4}


def test_nested_questions_about_others_leave_what_none_of_them_names(duckdb_engine):
    nodes = (
        Node(0, None, 0, (300, 300), Groups(0, (("A",), ("B",)), 1), (1, 2)),
        Node(1, 0, 1, (100, 100)),
        Node(2, 0, 1, (200, 200), Groups(0, (("B", "C"), ()), 1), (3, 4)),
        Node(3, 2, 2, (100, 100)),
        Node(4, 2, 2, (100, 100)),
    )
    tree = Tree((WARD,), ILL, ("n", "y"), nodes)
    rows = made_of(duckdb_engine, tree, GenerationOrder(domains={"ward": Listed(tuple("ABCDE"))}))
    found = {leaf: {row["ward"] for row in rows if follow(tree, row) == leaf} for leaf in (1, 3, 4)}
    assert found == {1: {"A"}, 3: {"B", "C"}, 4: {"D", "E"}}
    assert {row["ward"] for row in made_of(duckdb_engine, tree, GenerationOrder())} == {
        "A",
        "B",
        "C",
        None,
    }  # nothing declared
    with pytest.raises(PolicyError, match='categories of column "ward" that it does not name, and none of those was'):
        generate(duckdb_engine, tree, GenerationOrder(domains={"ward": Listed(("A", "B", "C"))}))


def test_null_stays_where_the_model_asks_for_it(duckdb_engine):
    nodes = (
        Node(0, None, 0, (60, 60), Groups(0, (("A",), (None,))), (1, 2)),
        Node(1, 0, 1, (60, 0)),
        Node(2, 0, 1, (0, 60)),
    )
    tree = Tree((WARD,), ILL, ("n", "y"), nodes)
    rows = made_of(duckdb_engine, tree, GenerationOrder(domains={"ward": Listed(("A", "B"))}))
    assert Counter((row["ward"], row["S"]) for row in rows) == {("A", "n"): 60, (None, "y"): 60}


# -- every kind ------------------------------------------------------------------------------------------

UUIDS = [f"{n:08x}-0000-4000-8000-00000000000f" for n in range(4)]
KINDS = {
    Kind.TEXT: (["it's", 'say "x"'], ["it's", 'say "x"', "", "'; DROP TABLE t; --", "%s $1 \\ ü\n"]),
    Kind.BOOLEAN: ([True], [False, "TRUE"]),
    Kind.UUID: (UUIDS[:2], [UUIDS[0], UUIDS[1].upper(), UUIDS[2]]),
    Kind.INTEGER: ([1, 2], [Fraction(1), "2", Fraction(-3), "9223372036854775807"]),
    Kind.DECIMAL: ([Decimal("1.5")], [Fraction(3, 2), "-2.25", Fraction(7)]),
    Kind.FLOAT: ([0.5], [Fraction(1, 2), "1e300", "-3.25"]),
    Kind.DATE: (["2020-01-01"], ["2020-01-01", "1969-12-31", "2021-02-03 00:00:00"]),
    Kind.TIMESTAMP: (["2020-01-01 10:00:00"], ["2020-01-01T10:00:00Z", "2021-12-31 00:00:00.5", "2022-02-02"]),
}


@pytest.mark.parametrize("name", ["v", 'o"brien; --', "ppdm_i", "order"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.value)
def test_categories_of_every_kind(engine, duckdb_engine, kind, name):
    """Named ones in their leaf, all others in the leaf of all others, all of them where nobody asks."""
    named, declared = KINDS[kind]
    asked, free = (
        Attribute(name, kind, ordered=False, scale=2 if kind is Kind.DECIMAL else None),
        Attribute("free", kind, False),
    )
    nodes = (
        Node(0, None, 0, (200, 200), Groups(0, (tuple(named), ()), 1), (1, 2)),
        Node(1, 0, 1, (200, 0)),
        Node(2, 0, 1, (0, 200)),
    )
    tree = Tree((asked, free), ILL, ("n", "y"), nodes)
    order = GenerationOrder(seed=2, domains={name: Listed(tuple(declared)), "free": Listed(tuple(declared))})
    rows = made_of(engine, tree, order)
    assert Counter((follow(tree, row), row["S"]) for row in rows) == {(1, "n"): 200, (2, "y"): 200}
    assert len({row[name] for row in rows if row["S"] == "n"}) == len(named)
    assert len({row[name] for row in rows if row["S"] == "y"}) == len(declared) - len(named)
    assert {str(row["free"]) for row in rows} == {str(row[name]) for row in rows}
    assert None not in {row["free"] for row in rows}
    assert printed(rows) == printed(made_of(duckdb_engine, tree, order))


def test_moments_with_a_zone_are_the_same_moments(engine, duckdb_engine):
    attribute = Attribute("v", Kind.TIMESTAMP, ordered=False, zoned=True)
    nodes = (
        Node(0, None, 0, (40, 40), Groups(0, (("2020-01-01 10:00:00+00",), ()), 1), (1, 2)),
        Node(1, 0, 1, (40, 0)),
        Node(2, 0, 1, (0, 40)),
    )
    tree = Tree((attribute,), ILL, ("n", "y"), nodes)
    order = GenerationOrder(domains={"v": Listed(("2020-01-01 12:00:00+02", "2020-01-01 12:00:00"))})
    rows = made_of(engine, tree, order)
    assert Counter(follow(tree, row) for row in rows) == {1: 40, 2: 40}
    assert len({row["v"] for row in rows}) == 2


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (Kind.TEXT, Fraction(1)), (Kind.TEXT, True), (Kind.TEXT, "a\x00b"), (Kind.TEXT, "\udcff"),
        (Kind.BOOLEAN, "yes"), (Kind.BOOLEAN, Fraction(1)),
        (Kind.UUID, "1"), (Kind.UUID, "{" + UUIDS[0] + "}"), (Kind.UUID, Fraction(1)),
        (Kind.INTEGER, Fraction(1, 2)), (Kind.INTEGER, "1.5"), (Kind.INTEGER, "one"), (Kind.INTEGER, "9223372036854775808"), (Kind.INTEGER, "١"), (Kind.INTEGER, True),
        (Kind.DECIMAL, "1.234"), (Kind.DECIMAL, "NaN"), (Kind.DECIMAL, "9" * 38), (Kind.DECIMAL, False),
        (Kind.FLOAT, "1e999"), (Kind.FLOAT, "0x1"), (Kind.FLOAT, "inf"), (Kind.FLOAT, True),
        (Kind.DATE, "2020-02-30"), (Kind.DATE, "2020-01-01 10:00"), (Kind.DATE, "infinity"), (Kind.DATE, "12020-01-01"), (Kind.DATE, Fraction(1)),
        (Kind.TIMESTAMP, "soon"), (Kind.TIMESTAMP, "2020-01-01 00:00:00.123456789"), (Kind.TIMESTAMP, "0044-03-15 (BC)"),
        (Kind.UNSUPPORTED, "x"),
    ],
)  # fmt: skip
def test_what_a_column_cannot_hold_is_refused_without_naming_it(kind, wrong):
    attribute = Attribute("v", kind, ordered=False, scale=2 if kind is Kind.DECIMAL else None)
    tree = Tree((attribute,), ILL, ("n", "y"), (Node(0, None, 0, (3, 3)),))
    with pytest.raises(PolicyError, match=r'^domains: the categories of column "v" are ') as refused:
        domains_of(tree, {"v": Listed((wrong,))})
    assert repr(wrong).strip("'") not in str(refused.value)


# -- what does not fit the model -------------------------------------------------------------------------

AGE = Attribute("age", Kind.INTEGER, ordered=True)
SPLIT = Tree((WARD, AGE), ILL, ("n", "y"), (
    Node(0, None, 0, (9, 9), Groups(0, (("secret A",), ("secret B", "C"))), (1, 2)),
    Node(1, 0, 1, (9, 0)), Node(2, 0, 1, (0, 9), Cut(1, Decimal(40)), (3, 4)), Node(3, 2, 2, (0, 4)), Node(4, 2, 2, (0, 5))))  # fmt: skip


@pytest.mark.parametrize(
    ("option", "told"),
    [
        (("ward", ("C", "D")), 'categories of column "ward" lack 2 of the 3 that the model names'),
        (("ward", ("secret A", "secret B", "C", "C")), 'categories of column "ward" list one twice'),
        (("ward", Fraction(1), Fraction(2)), 'column "ward" has categories, not bounds'),
        (("age", ("1", "2")), 'column "age" has bounds, not categories'),
        (("S", ("n", "y")), 'the model has no column "S"'),
        (("ward", ("C",), "ward", ("D",)), 'column "ward" is given twice'),
        (("ward", ()), "column, least, greatest, or column and its categories"),
        (("ward", (("C",),)), "column, least, greatest, or column and its categories"),
        (("ward", ("C",), Fraction(3)), "column, least, greatest, or column and its categories"),
        (("ward",), "column, least, greatest"),
        (("ward", Fraction(1), ("C",)), "column, least, greatest"),
        ((True, ("C",)), "column, least, greatest"),
        ("ward", "column, least, greatest"),
    ],
)
def test_mistakes_name_columns_and_counts_never_values(option, told):
    with pytest.raises(PolicyError, match=told) as refused:
        domains_of(SPLIT, read_domains(option))
    assert "secret" not in str(refused.value)


# -- as they are written ---------------------------------------------------------------------------------


def test_both_ways_of_writing_them():
    wanted = {"age": (Fraction(0), Fraction(120)), "ward": Listed(("A", "B b")), "born": ("1930-01-01", "2010-01-01")}
    assert domains_from_text("age,0,120, ward, A | B b ,born,1930-01-01,2010-01-01") == wanted
    assert domains_from_text(" (age, 0, 120, ward, (A, 'B b'), born, DATE '1930-01-01', '2010-01-01')") == wanted
    told = domains_from_text("('o''brien', ('a|b', 'c,d', '', 7, true))")
    assert told == {"o'brien": Listed(("a|b", "c,d", "", Fraction(7), True))}
    assert option_value("(a, (b))") == ("a", ("b",))


@pytest.mark.parametrize(
    "wrong", ["ward,A||B", "ward,|", "ward", "", "ward,A", "ward,A|B,7", "(ward, (A)) x", "(ward, (A)", "(ward, ())", "(ward, (A B))", "('ward"]
)  # fmt: skip
def test_wrong_writing_is_refused(wrong):
    with pytest.raises(PolicyError):
        domains_from_text(wrong)


COLUMNS = {"age": "INTEGER", "ward": "TEXT", "night": "BOOLEAN", "ill": "TEXT"}
MODEL = """CREATE MODEL ills AS SELECT age, ward, night, ill FROM people WITH ANONYMIZATION (ALGORITHM ldm
    REQUIRE k = 10 QUASI IDENTIFIER (age, ward, night) SENSITIVE (ill) TARGET (ill));"""
MADE = """CREATE TABLE p AS PSEUDO DATA FROM MODEL ills WITH (rows = 900,
    domains = (age, 0, 120, ward, ('A', 'it''s; --', 'B'), night, (true, false)))"""


def test_as_a_statement(engine, make_table, open_session):
    """A column that the model never asks for comes with its declared values; the source's own never do."""
    rows = [
        (20 + n % 60, "the ward of one" if n == 7 else "AB"[n % 7 % 2], n == 3, "yes" if n % 60 > 25 else "no")
        for n in range(600)
    ]
    make_table(engine, "people", COLUMNS, rows)
    session = open_session(engine)
    session.execute(MODEL)
    (planned,) = session.execute(f"EXPLAIN {MADE}")
    steps = " | ".join(planned.steps)
    assert "ward: 3 categories, as declared" in steps
    assert "night: 2 categories, as declared" in steps
    (release,) = session.execute(MADE)
    assert release.manifest["policy"]["options"]["domains"] == [
        "age",
        0,
        120,
        "ward",
        ["A", "it's; --", "B"],
        "night",
        [True, False],
    ]
    made = engine.fetch(release.query)
    names = [info.name for info in engine.columns(engine.name(session.parse(MADE)[0].name))]
    assert names == ["age", "ward", "night", "ill"]
    assert even(Counter(row[2] for row in made), (True, False), 450)
    assert {row[1] for row in made} <= {"A", "B", "it's; --"}
    assert session.verify("p").holds
    (again,) = session.execute("REFRESH p")
    assert again.record.content_hash == release.record.content_hash
