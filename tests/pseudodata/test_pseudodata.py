"""Rows made from a model: as many as its leaves say, each in its leaf, of the classes of the quota, and of nobody."""

from __future__ import annotations

import random
from collections import Counter
from datetime import date
from decimal import Decimal
from fractions import Fraction

import pytest

from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError, Tampered
from ppdm_sql.induction.inducers import induce, settings
from ppdm_sql.pseudodata.generate import GenerationOrder, generate
from ppdm_sql.session import Session
from ppdm_sql.trees.follow import follow
from ppdm_sql.trees.tree import Attribute, Bands, Groups, Node, Tree
from ppdm_sql.watching import silent

COLUMNS = {"age": "INTEGER", "weight": "DOUBLE", 'sex"': "TEXT", "ill": "TEXT"}


def people(number: int, seed: int = 1) -> list[tuple]:
    draw = random.Random(seed)
    found = []
    for _ in range(number):
        age, weight, sex = draw.randint(17, 95), round(draw.gauss(75, 12), 1), draw.choice("MF")
        score = age + (20 if sex == "M" else 0) + weight / 4 + draw.gauss(0, 10)
        found.append((age, weight, sex, "gout" if score > 95 else "flu" if score > 70 else "none"))
    return found


def rows_of(engine, made) -> list[dict]:
    return [dict(zip(made.columns, row, strict=True)) for row in engine.fetch(made.query)]


@pytest.fixture
def tree(duckdb_engine, make_table):
    name = make_table(duckdb_engine, "people", COLUMNS, people(500))
    info = duckdb_engine.columns(name)
    return induce(duckdb_engine, name, info[:-1], info[-1], settings("cart", {"max_leaves": 9})).tree


def test_every_leaf_gets_its_rows_and_its_quota(engine, tree):
    """Proposition 18 of the paper: per path exactly hit + miss rows that satisfy it."""
    rows = rows_of(engine, generate(engine, tree, GenerationOrder(seed=3, classes="quota")))
    assert len(rows) == 500
    ends = Counter(follow(tree, row) for row in rows)
    assert ends == {leaf.number: leaf.rows for leaf in tree.leaves}
    for leaf in tree.leaves:
        here = Counter(row["ill"] for row in rows if follow(tree, row) == leaf.number)
        assert here[tree.classes[leaf.majority]] == leaf.counts[leaf.majority]
        others = [here[value] for number, value in enumerate(tree.classes) if number != leaf.majority]
        assert max(others) - min(others) <= 1


def test_by_counts_every_class_of_a_leaf_is_as_it_was_counted(engine, tree):
    rows = rows_of(engine, generate(engine, tree, GenerationOrder(rows=tree.root.rows, seed=3)))
    for leaf in tree.leaves:
        here = Counter(row["ill"] for row in rows if follow(tree, row) == leaf.number)
        assert tuple(here[value] for value in tree.classes) == leaf.counts
    assert any(len(set(leaf.counts)) > 2 for leaf in tree.leaves)  # a quota would have been another one


def test_a_seed_gives_the_same_rows_on_every_engine(engine, duckdb_engine, tree):
    here = rows_of(engine, generate(engine, tree, GenerationOrder(rows=300, seed=5)))
    there = rows_of(duckdb_engine, generate(duckdb_engine, tree, GenerationOrder(rows=300, seed=5)))
    assert Counter(map(str, (sorted(row.items()) for row in here))) == Counter(
        map(str, (sorted(row.items()) for row in there))
    )
    other = rows_of(engine, generate(engine, tree, GenerationOrder(rows=300, seed=6)))
    assert here != other


def test_the_paper_s_path_of_24_rows(duckdb_engine):
    """Section 12.4: A = a1, B in {b4, b5}, majority S4 8 of 24; C and D are anything; four of each other class."""
    attributes = tuple(Attribute(name, Kind.TEXT, ordered=False) for name in "ABC")
    split_a = Groups(0, (("a1",), ("a2",)))
    split_b = Groups(1, (("b1", "b2", "b3"), ("b4", "b5")))
    split_c = Groups(2, (("c1",), ("c2",), ("c3",)))
    counts = (4, 4, 4, 8, 4)
    nodes = (
        Node(0, None, 0, (16, 16, 16, 20, 16), split_a, (1, 4)),
        Node(1, 0, 1, (5, 5, 5, 9, 5), split_b, (2, 3)),
        Node(2, 1, 2, (1, 1, 1, 1, 1)),
        Node(3, 1, 2, counts),
        Node(4, 0, 1, (11, 11, 11, 11, 11), split_c, (5, 6, 7)),
        Node(5, 4, 2, (4, 4, 4, 4, 4)),
        Node(6, 4, 2, (4, 4, 4, 4, 4)),
        Node(7, 4, 2, (3, 3, 3, 3, 3)),
    )
    tree = Tree(attributes, Attribute("S", Kind.TEXT, ordered=False), ("S1", "S2", "S3", "S4", "S5"), nodes)
    rows = rows_of(duckdb_engine, generate(duckdb_engine, tree, GenerationOrder(seed=1)))
    here = [row for row in rows if follow(tree, row) == 3]
    assert len(here) == 24
    assert {row["A"] for row in here} == {"a1"}
    assert {row["B"] for row in here} == {"b4", "b5"}
    assert {row["C"] for row in here} == {"c1", "c2", "c3"}
    assert Counter(row["S"] for row in here) == {"S1": 4, "S2": 4, "S3": 4, "S4": 8, "S5": 4}


def banded(kind: Kind, at: tuple, rows: int) -> Tree:
    """One column in three ranges, of which the outer two are one branch."""
    split = Bands(0, at, (0, 1, 0))
    nodes = (Node(0, None, 0, (rows, rows), split, (1, 2)), Node(1, 0, 1, (0, rows)), Node(2, 0, 1, (rows, 0)))
    return Tree((Attribute("v", kind, ordered=True),), Attribute("y", Kind.TEXT, ordered=False), ("n", "y"), nodes)


@pytest.mark.parametrize(
    ("kind", "at"),
    [
        (Kind.INTEGER, (Decimal("30.5"), Decimal(50))),
        (Kind.FLOAT, (Decimal("-0.5"), Decimal("0.25"))),
        (Kind.DATE, ("2000-01-01", "2001-01-01")),
    ],
)
def test_a_branch_of_several_bands_draws_from_each_alike(engine, kind, at):
    """Section 5: one of a path's intervals is picked, all alike, then a value in it."""
    tree = banded(kind, at, 4000)
    rows = rows_of(engine, generate(engine, tree, GenerationOrder(seed=2)))
    assert Counter(follow(tree, row) for row in rows) == {1: 4000, 2: 4000}
    assert {row["y"] for row in rows if follow(tree, row) == 2} == {"n"}
    low = str(at[0]) if kind is Kind.DATE else float(at[0])
    values = [row["v"] for row in rows if follow(tree, row) == 1]
    below = sum((str(value) if kind is Kind.DATE else value) < low for value in values)
    assert abs(below - 2000) < 200  # more than six sigma
    assert len(set(values)) > 30
    based = rows_of(engine, generate(engine, tree, GenerationOrder("basegen", 3000, 2)))
    assert all(row["y"] == "yn"[follow(tree, row) - 1] for row in based)


def test_a_band_between_two_whole_numbers_is_not_drawn_from(duckdb_engine):
    split = Bands(0, (Decimal("30.2"), Decimal("30.4"), Decimal(60)), (1, 0, 1, 0))
    nodes = (Node(0, None, 0, (9, 9), split, (1, 2)), Node(1, 0, 1, (9, 0)), Node(2, 0, 1, (0, 9)))
    tree = Tree(
        (Attribute("v", Kind.INTEGER, ordered=True),), Attribute("y", Kind.TEXT, ordered=False), ("n", "y"), nodes
    )
    rows = rows_of(duckdb_engine, generate(duckdb_engine, tree, GenerationOrder(rows=500, seed=1)))
    assert Counter(follow(tree, row) for row in rows) == {1: 250, 2: 250}


def test_draws_are_even(duckdb_engine):
    """Chi-square of 60 values over 60,000 rows, and no link between two columns."""
    ages = Attribute("age", Kind.INTEGER, ordered=True)
    sexes = Attribute("sex", Kind.TEXT, ordered=False)
    values = Groups(1, (("F",), ("M",)))
    nodes = (Node(0, None, 0, (50, 50), values, (1, 2)), Node(1, 0, 1, (20, 30)), Node(2, 0, 1, (30, 20)))
    tree = Tree((ages, sexes), Attribute("y", Kind.TEXT, ordered=False), ("n", "y"), nodes)
    order = GenerationOrder("basegen", 60_000, 2, domains={"age": (Fraction(20), Fraction(80))})
    rows = rows_of(duckdb_engine, generate(duckdb_engine, tree, order))
    counts = Counter(row["age"] for row in rows)
    assert set(counts) == set(range(20, 80))
    assert sum((n - 1000) ** 2 / 1000 for n in counts.values()) < 110  # 59 degrees of freedom: p = 0.0001
    both = Counter((row["age"] % 2, row["sex"]) for row in rows)
    assert all(abs(n - 15_000) < 600 for n in both.values())
    assert {row["y"] for row in rows if row["sex"] == "F"} == {"y"}  # basegen: the tree says the class


def test_no_value_of_the_data_s_edges_comes_out(duckdb_engine, make_table, tree):
    rows = rows_of(duckdb_engine, generate(duckdb_engine, tree, GenerationOrder(rows=5000)))
    cuts = sorted(node.split.at for node in tree.nodes if node.split is not None and node.split.attribute == 0)
    apart = (cuts[-1] - cuts[0]) / max(len(cuts) - 1, 1)
    assert min(row["age"] for row in rows) >= cuts[0] - apart
    declared = GenerationOrder(rows=5000, domains={"age": (Fraction(0), Fraction(120))})
    assert max(row["age"] for row in rows_of(duckdb_engine, generate(duckdb_engine, tree, declared))) > 100


# -- as a statement --------------------------------------------------------------------------------------

MODEL = '''CREATE MODEL ills AS SELECT age, "sex""", ill FROM people WITH ANONYMIZATION (ALGORITHM ldm
    REQUIRE k = 10 QUASI IDENTIFIER (age, "sex""") SENSITIVE (ill) TARGET (ill));'''


@pytest.fixture
def session(engine, make_table, tmp_path):
    make_table(engine, "people", COLUMNS, people(400))
    return Session(engine, out=tmp_path, show_values=False, progress=silent)


def test_from_the_model_to_the_exported_rows(session, tmp_path):
    made = "CREATE TABLE ills_pseudo AS PSEUDO DATA FROM MODEL ills WITH (algorithm = pgen, rows = 250, seed = 7)"
    _, release = session.execute(f"{MODEL} {made}")
    assert release.rows == 250
    assert release.manifest["pseudo_data"]["model"] == "ills"
    assert "describe nobody" in release.manifest["residual_risks"]["pseudo"]
    assert release.findings == ()
    assert session.verify("ills_pseudo").holds
    frame = release.df()
    assert list(frame.columns) == ["age", 'sex"', "ill"]
    session.export("ills_pseudo", "ills.csv")
    assert (tmp_path / "ills.csv.manifest.json").exists()
    with pytest.raises(PolicyError, match="CREATE OR REPLACE"):
        session.execute(made)
    session.execute(made.replace("CREATE TABLE", "CREATE OR REPLACE TABLE"))
    session.drop("ills_pseudo")


def test_every_option_can_be_left_out(session):
    _, release = session.execute(f"{MODEL} CREATE TABLE ills_pseudo AS PSEUDO DATA FROM MODEL ills;")
    assert (release.rows, release.record.algorithm, release.record.seed) == (4 * 400, "pgen", 0)
    assert release.pseudo_model == "ills"
    assert session.verify("ills_pseudo").pseudo_model == "ills"
    with pytest.raises(PolicyError, match="expected WITH"):
        session.execute("CREATE TABLE x AS PSEUDO DATA FROM MODEL ills (rows = 10)")


def test_bounds_of_days_are_written_as_days(session, engine, make_table):
    born = [(f"{1930 + n % 80}-0{1 + n % 9}-1{n % 9}", "yes" if n % 80 > 40 else "no") for n in range(400)]
    make_table(engine, "clients", {"born": "DATE", "ill": "TEXT"}, [(date.fromisoformat(d), ill) for d, ill in born])
    session.execute("""CREATE MODEL later AS SELECT born, ill FROM clients WITH ANONYMIZATION (ALGORITHM ldm
        REQUIRE k = 10 QUASI IDENTIFIER (born) SENSITIVE (ill) TARGET (ill));""")
    made = "CREATE OR REPLACE TABLE p AS PSEUDO DATA FROM MODEL later WITH (rows = 3000, domains = (born, {}, {}))"
    (written,) = session.execute(made.format("DATE '1900-01-01'", "'2050-01-01'"))
    days = [row[0] for row in engine.fetch(written.query)]
    assert date(1900, 1, 1) <= min(days) < date(1901, 1, 1)
    assert date(2049, 1, 1) < max(days) < date(2050, 1, 1)
    with pytest.raises(PolicyError, match="beyond the years 1 to 9999"):
        session.execute(made.format("'0044-03-15 (BC)'", "'2050-01-01'"))


def test_only_released_models_give_rows(session):
    session.train("mine", "people", "ill")
    made = "CREATE TABLE x AS PSEUDO DATA FROM MODEL {} WITH (rows = 10)"
    for name in ("mine", "nobody"):
        with pytest.raises(PolicyError, match="no released model"):
            session.execute(made.format(name))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("row = 5", "did you mean rows"),
        ("rows = 0", "rows of PSEUDO DATA"),
        ("rows = 1.5", "rows of PSEUDO DATA"),
        ("algorithm = magic", "pgen or basegen"),
        ("classes = many", "quota, draw or counts"),
        ("algorithm = basegen, classes = quota", "classes of PSEUDO DATA is for pgen"),
        ("domains = (age, '2000-01-01', '2001-01-01')", "are numbers"),
        ("domains = (age, DATE '2000-01-01', 7)", "are numbers"),
        ("domains = (age, 90)", "column, least, greatest"),
        ("domains = (shoe, 1, 2)", "no column"),
        ("domains = (age, 1, 2)", "outside its declared bounds"),
    ],
)
def test_mistakes_are_told(session, options, told):
    session.execute(MODEL)
    with pytest.raises(PolicyError, match=told):
        session.execute(f"CREATE TABLE x AS PSEUDO DATA FROM MODEL ills WITH ({options})")


def test_a_changed_model_gives_no_rows(session, engine):
    from sqlglot import parse_one

    session.execute(MODEL)
    engine.execute(parse_one("UPDATE ppdm.model_node SET threshold = '44' WHERE threshold IS NOT NULL"))
    with pytest.raises(Tampered):
        session.execute("CREATE TABLE x AS PSEUDO DATA FROM MODEL ills WITH (rows = 10)")
