"""The way of one row, value by value: what is compared with what, and where a row stops."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import hand
import numpy as np
import pytest

from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.trees.comparing import read_moment, rounded_up
from ppdm_sql.trees.follow import follow, follower, prediction
from ppdm_sql.trees.tree import Attribute, Cut, Groups, Node, Tree

NAN, INF = float("nan"), float("inf")


def tree_of(kind, split, *, scale=None, zoned=False):
    width = split.width
    attribute = Attribute("x", kind, not isinstance(split, Groups), scale, zoned)
    leaves = tuple(Node(number, 0, 1, (1, number)) for number in range(1, width + 1))
    counts = (width, sum(leaf.counts[1] for leaf in leaves))
    return Tree(
        (attribute,), hand.TARGET, ("no", "yes"), (Node(0, None, 0, counts, split, tuple(range(1, width + 1))), *leaves)
    )


@pytest.mark.parametrize(
    ("kind", "at", "value", "end"),
    [
        (Kind.INTEGER, "30.5", 30, 1),
        (Kind.INTEGER, "30.5", 31, 2),
        (Kind.INTEGER, "30", 30, 2),
        (Kind.INTEGER, "9007199254740993", 2**53, 1),  # as doubles the two are one
        (Kind.INTEGER, "9007199254740993", 2**53 + 1, 2),
        (Kind.INTEGER, "1e40", 2**63 - 1, 1),
        (Kind.INTEGER, "30.5", np.int64(30), 1),
        (Kind.DECIMAL, "0.1", Decimal("0.1"), 2),
        (Kind.DECIMAL, "0.1", Decimal("0.0999999999999999999999999999999"), 1),
        (Kind.DECIMAL, "0.1", Decimal("NaN"), 2),
        (Kind.FLOAT, "0.1", 0.1, 2),  # compared as doubles, though 0.1 is a little more than a tenth
        (Kind.FLOAT, "0.1", 0.09999999999999999, 1),
        (Kind.FLOAT, "0.30000000000000001", 0.3, 2),
        (Kind.FLOAT, "0", -0.0, 2),
        (Kind.FLOAT, "0", -5e-324, 1),
        (Kind.FLOAT, "1e400", INF, 2),
        (Kind.FLOAT, "1e400", 1e308, 1),
        (Kind.FLOAT, "Infinity", 1e308, 1),
        (Kind.FLOAT, "-1e400", -INF, 2),
        (Kind.FLOAT, "5", NAN, 2),
        (Kind.FLOAT, "5", np.float32("nan"), 2),
        (Kind.FLOAT, "5", 4, 1),
    ],
)
def test_numbers_meet_a_threshold_exactly(kind, at, value, end):
    assert follow(tree_of(kind, Cut(0, Decimal(at))), {"x": value}) == end


EAST = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    ("kind", "at", "value", "end"),
    [
        (Kind.DATE, "2024-05-01", date(2024, 4, 30), 1),
        (Kind.DATE, "2024-05-01", date(2024, 5, 1), 2),
        (Kind.DATE, "2024-05-01", "2024-04-30", 1),
        (Kind.DATE, "0044-03-15 (BC)", date(1, 1, 1), 2),
        (Kind.DATE, "infinity", date(9999, 12, 31), 1),
        (Kind.TIMESTAMP, "2024-05-01", datetime(2024, 4, 30, 23, 59, 59, 999999), 1),
        (Kind.TIMESTAMP, "2024-05-01", datetime(2024, 5, 1), 2),
        (Kind.TIMESTAMP, "2024-05-01 12:00:00.000001", "2024-05-01T12:00:00", 1),
        (Kind.TIMESTAMP, "2024-05-01 12:00:00+00", datetime(2024, 5, 1, 14, tzinfo=EAST), 2),
        (Kind.TIMESTAMP, "2024-05-01 12:00:00+00", datetime(2024, 5, 1, 13, 59, 59, tzinfo=EAST), 1),
        (Kind.TIMESTAMP, "2024-05-01 14:00:00+02", datetime(2024, 5, 1, 12, tzinfo=UTC), 2),
    ],
)
def test_moments_meet_a_threshold_on_one_line(kind, at, value, end):
    assert follow(tree_of(kind, Cut(0, at)), {"x": value}) == end


@pytest.mark.parametrize(("nulls", "end"), [(None, 0), (0, 1), (1, 2)])
def test_null_at_a_cut_goes_where_training_sent_it_or_stops(nulls, end):
    assert follow(tree_of(Kind.INTEGER, Cut(0, Decimal(5), nulls)), {"x": None}) == end


@pytest.mark.parametrize(
    ("groups", "others", "ends"),
    [
        ((("a",), ("b",)), None, {"a": 1, "b": 2, "c": 0, "": 0, None: 0, "A": 0}),
        ((("a",), ("b", None)), None, {"a": 1, "c": 0, None: 2}),
        ((("a",), ("b",)), 0, {"a": 1, "b": 2, "c": 1, None: 0}),  # others are values; NULL is none of them
        ((("a",), ("b", None)), 0, {"c": 1, None: 2}),
        ((("a", "b"), ()), 1, {"a": 1, "c": 2, None: 0}),
        ((("é",), ("e\u0301",)), None, {"é": 1, "e\u0301": 2}),
    ],
)
def test_groups_take_what_they_name(groups, others, ends):
    tree = tree_of(Kind.TEXT, Groups(0, groups, others))
    assert {value: follow(tree, {"x": value}) for value in ends} == ends


@pytest.mark.parametrize(
    ("kind", "named", "value", "end"),
    [
        (Kind.FLOAT, NAN, float("nan"), 1),
        (Kind.FLOAT, 0.0, -0.0, 1),
        (Kind.DECIMAL, Decimal("1.50"), Decimal("1.5"), 1),
        (Kind.INTEGER, 1, Decimal("1.0"), 1),
        (Kind.INTEGER, 2**53 + 1, 2**53, 0),
        (Kind.BOOLEAN, True, True, 1),
        (Kind.BOOLEAN, True, False, 0),
        (Kind.UUID, "12345678-1234-5678-1234-567812345678", UUID("12345678123456781234567812345678"), 1),
        (Kind.DATE, "2024-05-01", date(2024, 5, 1), 1),
        (Kind.TIMESTAMP, "2024-05-01 12:00:00+00:00", datetime(2024, 5, 1, 14, tzinfo=EAST), 1),
    ],
)
def test_values_are_equal_when_the_database_says_so(kind, named, value, end):
    other = {Kind.BOOLEAN: None, Kind.FLOAT: 77.0, Kind.DECIMAL: Decimal(77), Kind.INTEGER: 77}.get(kind)
    assert follow(tree_of(kind, Groups(0, ((named,), (other,)))), {"x": value}) == end


def test_what_a_tree_cannot_be_asked_is_told_by_column_and_not_by_value():
    tree = tree_of(Kind.INTEGER, Cut(0, Decimal(5)))
    with pytest.raises(PolicyError, match='the row has no column "x"'):
        follow(tree, {"y": 1})
    with pytest.raises(PolicyError, match=r'^column "x" needs a number, got str$'):
        follow(tree, {"x": "secret"})
    with pytest.raises(PolicyError, match=r'^column "x" needs a date or time, got str$'):
        follow(tree_of(Kind.DATE, Cut(0, "2024-05-01")), {"x": "secret"})


def test_the_answer_is_that_of_the_node_where_the_row_stops():
    tree = tree_of(Kind.TEXT, Groups(0, (("a",), ("b",))))
    assert [prediction(tree, {"x": value}) for value in ("a", "b", "c")] == ["no", "yes", "yes"]
    assert follower(tree)({"x": "b", "more": 1}) == 2


def test_rounding_up_keeps_every_digit():
    assert str(rounded_up(Decimal("9" * 40 + ".001"), 2)) == "9" * 40 + ".01"
    assert rounded_up(Decimal("-0.001"), 2) == 0


def test_dates_that_are_none_are_none():
    for text in ("2024-02-30", "2024-13-01", "2024-1-1", "24:00", "", "2024-05-01 25:00:00", "２０２４-05-01", "now"):
        assert read_moment(text) is None, text
    assert read_moment("2024-05-01 00:00:00.5+05:30") == (read_moment("2024-04-30 18:30:00")[0], 5 * 10**8)
