"""kACTUS through the real statement: the vectors, every requirement, persons, missing values, refusals."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from itertools import count

import pytest
from kactus_cases import Case, run

from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.session import Session
from ppdm_sql.watching import silent
from tests import oracles

QUICK = pytest.mark.parametrize(
    "engine", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("duckdb", "postgres")], indirect=True
)


_NUMBERS = count()  # of tables: several tests share a database


@pytest.fixture(scope="module")
def duck():
    """One database for all tests of DuckDB alone: making the catalog takes longest."""
    with DuckDBEngine.open(":memory:") as engine:
        yield engine


@pytest.fixture
def publish(make_table, tmp_path):
    """publish(engine, columns, rows, clause) -> (rows of the release, what was published)"""

    def published(engine, columns, rows, clause, *, kind="TABLE"):
        name = f"t{next(_NUMBERS)}"
        make_table(engine, name, columns, rows)
        session = Session(engine, out=tmp_path, show_values=False, progress=silent)
        names = ", ".join('"' + one.replace('"', '""') + '"' for one in columns)
        release = session.publish(
            f"CREATE {kind} {name}_open AS SELECT {names} FROM {name} WITH ANONYMIZATION ({clause})"
        )
        return engine.fetch(release.query), release

    return published


def many(*cells) -> list[tuple]:
    """(value, ..., rows) -> so many rows."""
    return [cell[:-1] for cell in cells for _ in range(cell[-1])]


# -- vectors ---------------------------------------------------------------------------------------------

ABC = {"a": "TEXT", "b": "TEXT", "c": "TEXT"}
# Vector 10.1; the rows of a3 make A the first attribute and give every value of B enough holders to be printed.
VECTOR = many(
    ("a1", "b1", "Y", 5), ("a1", "b1", "N", 2), ("a1", "b2", "N", 3), ("a1", "b3", "Y", 1), ("a1", "b3", "N", 1),
    ("a2", "b1", "Y", 3), ("a2", "b1", "N", 2), ("a3", "b1", "Y", 10), ("a3", "b2", "Y", 10), ("a3", "b3", "Y", 10),
)  # fmt: skip
A2_A3 = {("a2", "*", "Y"): 3, ("a2", "*", "N"): 2, ("a3", "*", "Y"): 30}
LINES = [
    (
        "kactus2 (pool_non_complying = false, min_leaf = 2)",
        {("a1", "*", "Y"): 2, ("a1", "*", "N"): 6, ("a1", "b1", "Y"): 4},
        0,
    ),
    (
        "kactus2 (swap_threshold = 0.25, pool_non_complying = false, min_leaf = 2)",
        {("a1", "b2", "N"): 4, ("a1", "*", "Y"): 2, ("a1", "*", "N"): 2, ("a1", "b1", "Y"): 4},
        1,
    ),
    (
        "kactus2 (swap_threshold = 1, pool_non_complying = false, min_leaf = 2)",
        {("a1", "b2", "N"): 4, ("a1", "b3", "Y"): 2, ("a1", "b3", "N"): 2, ("a1", "b1", "Y"): 4},
        3,
    ),
    (
        "kactus (min_leaf = 2)",
        {("a1", "*", "Y"): 1, ("a1", "*", "N"): 4, ("a1", "b1", "Y"): 5, ("a1", "b1", "N"): 2},
        0,
    ),
]


@pytest.mark.parametrize(("algorithm", "expected", "swapped"), LINES)
def test_the_first_vector(duck, publish, algorithm, expected, swapped):
    rows, release = publish(
        duck, ABC, VECTOR, f"ALGORITHM {algorithm} REQUIRE k = 4 QUASI IDENTIFIER (a, b) TARGET (c)"
    )
    assert Counter(rows) == {**expected, **A2_A3}
    figures = release.manifest["figures"]
    assert figures["swapped rows"] == swapped
    assert ("swapping" in release.manifest["residual_risks"]) == bool(swapped)
    pure = {"kactus (min_leaf = 2)": 30, "kactus2 (pool_non_complying = false, min_leaf = 2)": 34}.get(
        algorithm, 38
    )  # everybody in them is known to be Y, or N
    assert abs(float(figures["rows in pure classes"]) - pure / len(rows)) < 1e-4
    cells = sum(value == "*" for row in rows for value in row[:2])
    assert abs(float(figures["suppressed cells"]) - cells / (2 * len(rows))) < 1e-4


def test_a_vector_on_every_engine(engine, publish):
    rows, _ = publish(
        engine,
        ABC,
        VECTOR,
        "ALGORITHM kactus2 (swap_threshold = 1, min_leaf = 2) REQUIRE k = 4 QUASI IDENTIFIER (a, b) TARGET (c)",
    )
    assert Counter(rows) == {**LINES[2][1], **A2_A3}


@pytest.mark.parametrize(("second", "kept"), [(1, {}), (2, {("*", "N"): 4})])
def test_the_second_vector(duck, publish, second, kept):
    table = many(("u", "Y", 6), ("v", "N", 2), ("w", "N", second))
    clause = "ALGORITHM kactus2 (min_leaf = 2) REQUIRE k = 4 QUASI IDENTIFIER (a) TARGET (c)"
    rows, release = publish(duck, {"a": "TEXT", "c": "TEXT"}, table, clause)
    assert Counter(rows) == {("u", "Y"): 6, **kept}
    assert release.manifest["suppressed_rows"] == (0 if kept else 3)


# -- what is printed -------------------------------------------------------------------------------------


def test_values_off_the_way_are_suppressed(duck, publish):
    """A tree that asks for one of three attributes: the other two say nothing about anybody."""
    draw = random.Random(1)
    table = [(side, draw.choice("pq"), number, side) for side in "uv" for number in range(10)]
    columns = {"a": "TEXT", "b": "TEXT", "n": "INTEGER", "c": "TEXT"}
    rows, _ = publish(duck, columns, table, "ALGORITHM kactus REQUIRE k = 3 QUASI IDENTIFIER (b, n, a) TARGET (c)")
    assert Counter(rows) == {("u", "*", "*", "u"): 10, ("v", "*", "*", "v"): 10}


def test_a_tree_without_splits_publishes_no_value(duck, publish):
    table = many(("u", 1, "Y", 3), ("v", 2, "Y", 4))
    clause = "ALGORITHM kactus2 REQUIRE k = 4 QUASI IDENTIFIER (a, n) TARGET (c)"
    rows, _ = publish(duck, {"a": "TEXT", "n": "INTEGER", "c": "TEXT"}, table, clause)
    assert Counter(rows) == {("*", "*", "Y"): 7}


def test_what_is_missing_in_the_source_stays_apart_from_what_is_suppressed(duck, publish):
    table = many((None, None, "Y", 6), (30, "(missing)", "N", 6), (30, "x", None, 6), (31, "x", None, 1))
    columns = {"n": "INTEGER", "w": "TEXT", "c": "TEXT"}
    clause = "ALGORITHM kactus2 REQUIRE k = 3 QUASI IDENTIFIER ({}) TARGET (c) INSENSITIVE ({})"
    rows, _ = publish(duck, columns, table, clause.format("w", "n"))
    assert {row[1:] for row in rows} == {(None, "Y"), ("(missing)", "N"), ("x", None)}
    rows, _ = publish(duck, columns, table, clause.format("n", "w"))
    assert {(row[0], row[2]) for row in rows} == {(None, "Y"), ("(known)", "N"), ("(known)", None)}


def test_numbers_and_moments_are_printed_as_ranges_between_round_boundaries(duck, publish):
    from datetime import date

    table = [(n, date(1990 + n // 10, 1 + n % 12, 3), "Y" if n < 37 else "N") for n in range(18, 60) for _ in "12"]
    columns = {"n": "INTEGER", "d": "DATE", "c": "TEXT"}
    clause = (
        "ALGORITHM kactus2 REQUIRE k = 5 QUASI IDENTIFIER ({}) TARGET (c) INSENSITIVE ({}) ACCEPT RISK (undeclared)"
    )
    rows, _ = publish(duck, columns, table, clause.format("n", "d"))
    assert Counter((row[0], row[2]) for row in rows) == {("< 37", "Y"): 38, (">= 37", "N"): 46}
    rows, _ = publish(duck, columns, table, clause.format("d", "n"))
    assert all(row[1][0] in "<>[*" for row in rows)
    assert len({row[1] for row in rows}) > 1


@QUICK
def test_other_columns_leave_as_they_are_and_names_may_be_anything(engine, publish):
    columns = {'o"brien': "TEXT", "a.b": "BOOLEAN", "order": "DOUBLE", "class": "INTEGER"}
    table = [("uv"[n % 2], n % 4 < 2, n / 8, n % 2) for n in range(24)]
    clause = (
        'ALGORITHM kactus2 REQUIRE k = 3 QUASI IDENTIFIER ("o""brien", "a.b") TARGET ("class") INSENSITIVE ("order")'
    )
    rows, _ = publish(engine, columns, table, clause)
    assert {row[2:] for row in rows} == {row[2:] for row in table}
    assert Counter(row[:2] for row in rows) == {("u", "*"): 12, ("v", "*"): 12}


@pytest.mark.parametrize(("method", "options"), [("kactus", {}), ("kactus2", {"swap_threshold": Fraction(1)})])
def test_the_order_of_the_source_changes_nothing_and_the_seed_does(duck, method, options):
    draw = random.Random(4)
    rows = [
        {"id": n, "a": draw.choice("uvw"), "b": draw.choice("pqrs"), "class": draw.choice("YYN")} for n in range(60)
    ]
    columns = {"id": "integer", "a": "text", "b": "text", "class": "text"}
    case = Case(columns, rows, ["a", "b"], 5, method, options, seed=1)

    def released() -> list:
        return sorted((tuple(row.values()) for row in run(duck, case).rows), key=str)

    first = released()
    draw.shuffle(rows)
    assert released() == first
    case.seed = 2
    assert released() != first


def test_a_view_and_a_plan(duck, publish, tmp_path):
    clause = "ALGORITHM kactus2 REQUIRE k = 4 QUASI IDENTIFIER (a, b) TARGET (c)"
    rows, release = publish(duck, ABC, VECTOR, clause, kind="VIEW")
    assert len(rows) == len(VECTOR)
    session = Session(duck, out=tmp_path, show_values=False, progress=silent)
    (source,) = list(release.record.sources)
    told = session.execute(f"EXPLAIN CREATE TABLE x AS SELECT a, b, c FROM {source} WITH ANONYMIZATION ({clause})")
    assert "classes" in str(told[0])


# -- requirements next to k -------------------------------------------------------------------------------

SECRET = {"a": "TEXT", "s": "TEXT", "c": "TEXT"}
# z has enough rows for k, but all of them have one sensitive value
HOMOGENEOUS = many(
    ("x", "flu", "Y", 4), ("x", "cold", "Y", 4), ("x", "ulcer", "Y", 4),
    ("y", "flu", "N", 5), ("y", "cold", "N", 4), ("y", "ulcer", "N", 4), ("z", "flu", "M", 6),
)  # fmt: skip


def meets(required: str, rows: list[tuple]) -> bool:
    """Every class of the release, by the definitions."""
    dicts = [dict(zip(SECRET, row, strict=True)) for row in rows]
    counts = [oracles.frequencies([row["s"] for row in held]) for held in oracles.classes(dicts, ["a"]).values()]
    far = oracles.class_distances(dicts, ["a"], "s", "equal").values()
    return {
        "distinct_l = 2": all(oracles.distinct_values(one) >= 2 for one in counts),
        "simple_l = 2": all(oracles.simple_ratio(one) >= 2 for one in counts),
        "recursive_l = (3, 2)": all(oracles.recursive_holds(one, Fraction(3), 2) for one in counts),
        "entropy_l = 2": all(oracles.entropy_reaches(one, Fraction(2)) for one in counts),
        "confidence = 60 %": all(oracles.confidence(one) <= Fraction(6, 10) for one in counts),
        "t = 0.3": all(one <= Fraction(3, 10) for one in far),
    }[required]


REQUIRED = [
    "distinct_l = 2", "simple_l = 2", "recursive_l = (3, 2)", "entropy_l = 2", "confidence = 60 %", "t = 0.3"
]  # fmt: skip


def test_k_alone_prints_the_class_that_every_requirement_holds_back(duck, publish):
    clause = "ALGORITHM kactus2 REQUIRE k = 4 QUASI IDENTIFIER (a) SENSITIVE (s) TARGET (c)"
    plain, _ = publish(duck, SECRET, HOMOGENEOUS, clause)
    assert {row[0] for row in plain} == {"x", "y", "z"}
    assert not any(meets(required, plain) for required in REQUIRED)


@pytest.mark.parametrize("required", REQUIRED)
def test_it_is_the_requirement_and_not_k_that_holds_a_class_back(duck, publish, required):
    method = "kactus" if required < "f" else "kactus2 (swap_threshold = 1)"
    clause = f"ALGORITHM {method} REQUIRE k = 4, {required} QUASI IDENTIFIER (a) SENSITIVE (s) TARGET (c)"
    rows, _ = publish(duck, SECRET, HOMOGENEOUS, clause)
    assert "z" not in {row[0] for row in rows}
    assert len(rows) == len(HOMOGENEOUS)  # six rows are not fewer than k: they are not dropped
    assert meets(required, rows)


@pytest.mark.wide
def test_with_t_no_row_is_dropped(duck, publish):
    """Without some rows the whole table would be another one, and so would every distance be."""
    table = [*HOMOGENEOUS[:-6], *many(("z", "cold", "M", 2))]
    clause = "ALGORITHM kactus2 REQUIRE k = 4{} QUASI IDENTIFIER (a) SENSITIVE (s) TARGET (c)"
    assert len(publish(duck, SECRET, table, clause.format(""))[0]) == len(table) - 2
    assert len(publish(duck, SECRET, table, clause.format(", t = 0.5"))[0]) == len(table)


@QUICK
def test_k_counts_persons_where_there_is_one(engine, publish):
    """Eight rows of one person are one."""
    table = [("x", f"p{n}", "Y") for n in range(8)] + [("y", f"q{n}", "N") for n in range(8)]
    table += [("z", "r", "M")] * 8 + [("x", "p1", "Y"), ("y", None, "N")]
    columns = {"a": "TEXT", "who": "TEXT", "c": "TEXT"}
    clause = "ALGORITHM kactus2 REQUIRE k = 3 QUASI IDENTIFIER (a) TARGET (c)"
    rows, _ = publish(engine, columns, table, f"{clause} INSENSITIVE (who)")
    assert {row[0] for row in rows} == {"x", "y", "z"}
    rows, release = publish(engine, columns, table, f"{clause} ENTITY (who)")
    assert "z" not in {row[0] for row in rows}
    assert len(rows) == len(table)
    assert release.manifest["findings"][0]["holds"]


# -- refusals --------------------------------------------------------------------------------------------

CLAUSE = "ALGORITHM {} REQUIRE k = {} QUASI IDENTIFIER (a) {}"


@pytest.mark.parametrize(
    ("algorithm", "k", "roles", "told"),
    [
        ("kactus", 2, "INSENSITIVE (n, c)", "needs a class to predict"),
        ("kactus2", 2, "TARGET (a) INSENSITIVE (n, c)", "cannot predict itself"),
        ("kactus2", 2, "TARGET (n) INSENSITIVE (c)", "different values, more than 20"),
        ("kactus (swap_threshold = 0.5)", 2, "TARGET (c) INSENSITIVE (n)", "no option swap_threshold"),
        ("kactus2 (swap_treshold = 1)", 2, "TARGET (c) INSENSITIVE (n)", "did you mean swap_threshold"),
        ("kactus2 (swap_threshold = 2)", 2, "TARGET (c) INSENSITIVE (n)", "from 0 to 1"),
        ("kactus2 (min_leaf = 0)", 2, "TARGET (c) INSENSITIVE (n)", "whole number of at least 1"),
        ("kactus2 (prune = 3)", 2, "TARGET (c) INSENSITIVE (n)", "true or false"),
    ],
)
def test_wrong_calls_are_refused_in_one_sentence(duck, publish, algorithm, k, roles, told):
    table = [("uv"[n % 2], n, "YN"[n % 2]) for n in range(30)]
    with pytest.raises(PolicyError, match=told):
        publish(duck, {"a": "TEXT", "n": "INTEGER", "c": "TEXT"}, table, CLAUSE.format(algorithm, k, roles))


def test_a_hierarchy_is_not_needed_and_said_to_be_so(duck, publish):
    clause = "ALGORITHM kactus REQUIRE k = 2 QUASI IDENTIFIER (a HIERARCHY PREFIX (1), b) TARGET (c)"
    with pytest.raises(PolicyError, match="leave out the HIERARCHY"):
        publish(duck, ABC, VECTOR, clause)


@pytest.mark.parametrize(("table", "k"), [(VECTOR, 48), ([], 2)])
def test_a_table_smaller_than_k_is_refused(duck, publish, table, k):
    with pytest.raises(RequirementBreached):
        publish(duck, ABC, table, f"ALGORITHM kactus2 REQUIRE k = {k} QUASI IDENTIFIER (a, b) TARGET (c)")


@pytest.mark.parametrize("options", [{"prune": True}, {"min_leaf": "k"}])
def test_options_of_the_tree_make_it_smaller(duck, options):
    draw = random.Random(2)
    columns = {"id": "integer", "a": "text", "b": "text", "class": "text"}
    rows = [
        {"id": n, "a": draw.choice("uvwwwww"), "b": draw.choice("pqrs"), "class": draw.choice("YYN")} for n in range(99)
    ]
    leaves = []
    for given in ({"min_leaf": Fraction(2)}, {"min_leaf": Fraction(2)} | options):
        ran = run(duck, Case(columns, rows, ["a", "b"], 9, "kactus2", given))
        assert min(Counter((row["a"], row["b"]) for row in ran.rows).values()) >= 9
        leaves.append(ran.plan.figures["leaves"])
    assert leaves[1] < leaves[0]
