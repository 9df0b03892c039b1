"""Every requirement exactly at its bound and a hair next to it, on every engine; the figures are worked out by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.requirements import (
    Closeness,
    ConfidenceLimit,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    RecursiveDiversity,
    SimpleDiversity,
)
from ppdm_sql.verify.identifiers import few_identifiers
from ppdm_sql.verify.paths import height, stored_path
from ppdm_sql.verify.printed import Stored
from ppdm_sql.verify.relation import SensitiveColumn, judge

HAIR = Fraction(1, 10**12)
COLUMNS = {"zip": "TEXT", "illness": "TEXT", "wage": "INTEGER", "person": "TEXT"}
# Class A: flu flu flu cold.  Class B: flu flu cold cold hiv NULL.  All: flu 5, cold 3, hiv 1, NULL 1.
# Wages in A: 1 1 1 2.  In B: 1 1 2 2 4 NULL.  All in order: 1 five times, 2 three times, 4 once, NULL once.
ROWS = [
    ("A", "flu", 1, "p1"),
    ("A", "flu", 1, "p1"),
    ("A", "flu", 1, "p2"),
    ("A", "cold", 2, None),
    ("B", "flu", 1, "p1"),
    ("B", "flu", 1, "p2"),
    ("B", "cold", 2, "p3"),
    ("B", "cold", 2, "p4"),
    ("B", "hiv", 4, "p4"),
    ("B", None, None, None),
]
LEVELS = {"flu": ("flu", "mild", "*"), "cold": ("cold", "mild", "*"), "hiv": ("hiv", "grave", "*")}
ILLNESS = SensitiveColumn("illness", Kind.TEXT, nulls_as_value=True)
TREE = SensitiveColumn("illness", Kind.TEXT, LEVELS, nulls_as_value=True)
WAGE = SensitiveColumn("wage", Kind.INTEGER, nulls_as_value=True)
KNOWN_ILLNESS, KNOWN_TREE = SensitiveColumn("illness", Kind.TEXT), SensitiveColumn("illness", Kind.TEXT, LEVELS)
KNOWN_WAGE = SensitiveColumn("wage", Kind.INTEGER)

# (column, entity, holds at the bound, breaks next to it, achieved, the breaching classes' rows)
AT_THE_BOUND = {
    "k": (ILLNESS, None, KAnonymity(4), KAnonymity(5), 4, 4),
    "k by entities": (ILLNESS, "person", KAnonymity(2), KAnonymity(3), 2, 4),
    "distinct_l": (ILLNESS, None, DistinctDiversity(2), DistinctDiversity(3), 2, 4),
    "simple_l": (
        ILLNESS, None, SimpleDiversity(Fraction(4, 3)), SimpleDiversity(Fraction(4, 3) + HAIR), Fraction(4, 3), 4,
    ),
    "confidence": (
        ILLNESS, None, ConfidenceLimit(Fraction(3, 4)), ConfidenceLimit(Fraction(3, 4) - HAIR), Fraction(3, 4), 4,
    ),
    # A: 3 < c * 1.  Strictly: c = 3 is not enough.
    "recursive_l": (
        ILLNESS, None, RecursiveDiversity(3 + HAIR, 2), RecursiveDiversity(Fraction(3), 2), Fraction(3), 4,
    ),
    # A has two values, so f_3 and what follows is nothing, and no c is enough.
    "recursive_l without a tail": (
        ILLNESS, None, RecursiveDiversity(Fraction(1), 1), RecursiveDiversity(Fraction(10**6), 3), None, 4,
    ),
    # A: flu 3/4 - 5/10 = 1/4.
    "t equal": (
        ILLNESS, None, Closeness(Fraction(1, 4)), Closeness(Fraction(1, 4) - HAIR), Fraction(1, 4), 4,
    ),
    # A at or below 1, 2, 4: 3/4, 1, 1; everybody: 1/2, 8/10, 9/10.  (1/4 + 2/10 + 1/10) / 3.
    "t ordered": (
        WAGE, None, Closeness(Fraction(11, 60)), Closeness(Fraction(11, 60) - HAIR), Fraction(11, 60), 4,
    ),
    "t equal of numbers": (
        WAGE, None, Closeness(Fraction(1, 4), "equal"), Closeness(Fraction(1, 4) - HAIR, "equal"), Fraction(1, 4), 4,
    ),
    # A: too much of flu 1/4 on the level of the leaves, of mild 1 - 8/10 above it; two levels: (1/4 + 1/5) / 2.
    "t hierarchical": (
        TREE, None, Closeness(Fraction(9, 40)), Closeness(Fraction(9, 40) - HAIR), Fraction(9, 40), 4,
    ),
    # Without the NULL everybody has flu 5/9, cold 3/9, hiv 1/9.  A: flu 3/4 - 5/9.
    "t equal of known values": (
        KNOWN_ILLNESS, None, Closeness(Fraction(7, 36)), Closeness(Fraction(7, 36) - HAIR), Fraction(7, 36), 4,
    ),
    # A at or below 1, 2: 3/4, 1; everybody: 5/9, 8/9.  (7/36 + 1/9) / 2: three values stand in a row.
    "t ordered of known values": (
        KNOWN_WAGE, None, Closeness(Fraction(11, 72)), Closeness(Fraction(11, 72) - HAIR), Fraction(11, 72), 4,
    ),
    # A: too much of flu 7/36, of mild 1 - 8/9 above it.
    "t hierarchical of known values": (
        KNOWN_TREE, None, Closeness(Fraction(11, 72)), Closeness(Fraction(11, 72) - HAIR), Fraction(11, 72), 4,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", AT_THE_BOUND)
def test_at_the_bound_holds_and_a_hair_beside_it_breaks(engine, make_table, case):
    column, entity, holds, breaks, achieved, rows = AT_THE_BOUND[case]
    relation = make_table(engine, "t", COLUMNS, ROWS)
    judgement = judge(engine, relation, quasi=["zip"], sensitive=[column], requirements=[holds, breaks], entity=entity)
    good, bad = judgement.findings
    assert (judgement.rows, judgement.classes) == (10, 2)
    assert (good.holds, good.breaching_classes, good.breaching_rows) == (True, 0, 0)
    assert (bad.holds, bad.breaching_classes, bad.breaching_rows) == (False, 1, rows)
    assert bad.achieved == achieved
    assert not judgement.holds


def test_an_ordered_difference_may_turn_between_two_rows(engine, make_table):
    """Class A (1, 3, 3) among 2, 1, 7 rows of the values 1, 2, 3: 10 * 1 / 3 rows, so at 3 rows it has not turned yet.

    At or below 1, 2: A 1/3, 1/3; everybody 2/10, 3/10.  (4/30 + 1/30) / 2 = 1/12.  B: (2/35 + 1/70) / 2 = 1/28.
    """
    rows = [("A", None, wage, None) for wage in (1, 3, 3)]
    rows += [("B", None, wage, None) for wage in (1, 2, 3, 3, 3, 3, 3)]
    relation = make_table(engine, "t", COLUMNS, rows)
    asked = [Closeness(Fraction(1, 12)), Closeness(Fraction(1, 12) - HAIR), Closeness(Fraction(1, 28) - HAIR)]
    found = judge(engine, relation, quasi=["zip"], sensitive=[WAGE], requirements=asked).findings
    assert {finding.achieved for finding in found} == {Fraction(1, 12)}
    assert [finding.breaching_rows for finding in found] == [0, 3, 10]


@pytest.mark.parametrize("l", [1, 2, 3, 6, 7, 10])
def test_uniform_classes_are_exactly_at_their_entropy_bound(engine, make_table, l):
    """Floating point says no to uniform classes of 3, 6, 7 and 10 values."""
    columns = {"zip": "TEXT", "illness": "INTEGER"}
    uniform = [
        (zip_code, value) for zip_code, times in (("A", 1), ("B", 4)) for value in range(l) for _ in range(times)
    ]
    asked = [EntropyDiversity(Fraction(l)), EntropyDiversity(l + HAIR)]
    column = SensitiveColumn("illness", Kind.INTEGER)
    relation = make_table(engine, "t", columns, uniform)
    at, beside = judge(engine, relation, quasi=["zip"], sensitive=[column], requirements=asked).findings
    assert (at.holds, at.breaching_classes, at.achieved) == (True, 0, float(l))
    assert (beside.holds, beside.breaching_classes, beside.breaching_rows) == (False, 2, len(uniform))
    assert beside.achieved < l + HAIR

    relation = make_table(engine, "uneven", columns, [*uniform, ("B", 0)])
    (uneven,) = judge(engine, relation, quasi=["zip"], sensitive=[column], requirements=asked[:1]).findings
    assert (uneven.holds, uneven.breaching_classes) == ((True, 0) if l == 1 else (False, 1))


def test_one_breaching_class_among_many_is_found(engine, make_table):
    """A figure over the whole relation would hide it."""
    rows = [(f"z{i % 50}", f"v{i % 7}", None, None) for i in range(7 * 50)] + [("alone", "v1", None, None)]
    relation = make_table(engine, "t", COLUMNS, rows)
    asked = [KAnonymity(2), DistinctDiversity(2), SimpleDiversity(Fraction(2)), Closeness(Fraction(1, 2))]
    judgement = judge(engine, relation, quasi=["zip"], sensitive=[ILLNESS], requirements=asked)
    assert judgement.classes == 51
    assert [(finding.breaching_classes, finding.breaching_rows) for finding in judgement.findings] == [(1, 1)] * 4


def test_every_sensitive_column_is_measured_by_itself(engine, make_table):
    relation = make_table(engine, "t", COLUMNS, ROWS)
    asked = [DistinctDiversity(3), Closeness(Fraction(1, 5))]
    found = judge(engine, relation, quasi=["zip"], sensitive=[ILLNESS, WAGE], requirements=asked).findings
    assert [(f.requirement, f.column, f.holds) for f in found] == [
        (asked[0], "illness", False),
        (asked[0], "wage", False),
        (asked[1], "illness", False),
        (asked[1], "wage", True),
    ]


def test_only_the_farthest_classes_leave_with_their_figure(duckdb_engine, make_table):
    """All four break t, D most of all.  Of the others the statement counts classes and rows and gives no distance."""
    rows = [("A", "flu", 1), *[("B", "flu", 1)] * 2, ("B", "cold", 2), *[("C", "flu", 1), ("C", "cold", 2)] * 2]
    rows += [("C", "hiv", 4), *[("D", "hiv", 4)] * 3]
    relation = make_table(duckdb_engine, "t", {"zip": "TEXT", "illness": "TEXT", "wage": "INTEGER"}, rows)
    stored = Stored.look_up(duckdb_engine, relation, ["zip", "illness", "wage"])
    tiny = {"numerator": 1, "denominator": 10**6, "null_is_value": 0}
    with stored_path(duckdb_engine, LEVELS, 2) as path:
        for name, sensitive, more in (
            ("equal", stored.sensitive("illness"), {}),
            ("ordered", stored.sensitive("wage"), {}),
            ("hierarchical", stored.text("illness"), {"levels": 2}),
        ):
            query = stored.source(["zip"], sensitive=sensitive).statement(
                f"closeness_{name}", {"path": path.table()} if more else {}
            )
            found = duckdb_engine.fetch(query, **tiny, **more)
            told = sorted((row[1] is None, row[2] is None, *map(int, row[3:])) for row in found)
            assert told == [(False, False, 1, 3), (True, True, 3, 9)], name


def test_few_identifiers_are_counted_with_all_their_rows(duckdb_engine, make_table):
    """A has p1, p1, p2 and one row of nobody: three.  B has five persons, C one.  Below 4 are A and C, 4 + 2 rows."""
    rows = [("A", who) for who in ("p1", "p1", "p2", None)] + [("B", f"p{n}") for n in range(5)] + [("C", "p1")] * 2
    relation = make_table(duckdb_engine, "t", {"zip": "TEXT", "who": "TEXT"}, rows)
    found = [few_identifiers(duckdb_engine, relation, quasi=["zip"], identifier="who", k=k) for k in (1, 3, 4, 6)]
    assert found == [(0, 0), (1, 2), (2, 6), (3, 11)]


@pytest.mark.parametrize("levels", [{}, {"flu": ("flu",)}, {"flu": ("flu", "*"), "cold": ("cold", "mild", "*")}])
def test_leaves_on_several_levels_have_no_height(levels):
    with pytest.raises(PolicyError, match="not all on one level below the root"):
        height("illness", levels)
