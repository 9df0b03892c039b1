"""Boundaries are exact, round, and where the naive rule puts them."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import naive_mondrian as naive
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mondrian_labels import read

from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.errors import EngineError
from ppdm_sql.methods.mondrian.split_quality import grid
from ppdm_sql.methods.shared.labels import escaped, same_rows
from ppdm_sql.source.lines import moment_line, number_line
from tests.sizes import examples

RELAXED = settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
INTEGER = ColumnInfo("n", Kind.INTEGER, "BIGINT")
DECIMAL = ColumnInfo("d", Kind.DECIMAL, "DECIMAL(12,2)")
FLOAT = ColumnInfo("f", Kind.FLOAT, "DOUBLE")
DATE = ColumnInfo("t", Kind.DATE, "DATE")
MOMENT = ColumnInfo("s", Kind.TIMESTAMP, "TIMESTAMP")

integers = st.integers(-(10**9), 10**9)
decimals = st.integers(-(10**6), 10**6).map(lambda n: Decimal(n).scaleb(-2))
floats = st.floats(-1e9, 1e9, allow_nan=False).map(lambda f: round(f, 3) + 0.0)
dates = st.dates(date(1999, 1, 1), date(2003, 1, 1))  # the naive rule walks through all days between
moments = st.datetimes(datetime(2000, 1, 1), datetime(2001, 1, 1)) | st.datetimes(
    datetime(2000, 1, 1), datetime(2000, 1, 1, 0, 0, 5)
)


def line_of(values):
    """The line of some values, and a text reader for its boundaries."""
    if isinstance(values[0], datetime):
        return moment_line([value.isoformat(sep=" ") for value in values], MOMENT)
    if isinstance(values[0], date):
        return moment_line([value.isoformat() for value in values], DATE)
    kind = {int: INTEGER, Decimal: DECIMAL, float: FLOAT}[type(values[0])]
    return number_line(values, kind)


@pytest.mark.parametrize("values", [integers, decimals, floats, dates, moments], ids="idftm")
@RELAXED
@given(data=st.data())
def test_a_boundary_lies_in_its_gap_and_is_the_roundest_there(data, values):
    found = sorted(data.draw(st.lists(values, min_size=2, max_size=6, unique=True)))
    line = line_of(found)
    codes = np.arange(1, len(found))
    rare = np.array([data.draw(st.booleans()) for _ in codes], dtype=bool)
    for code, few, text in zip(codes, rare, line.boundaries(codes, rare), strict=True):
        low, high = found[code - 1], found[code]
        boundary = read(text, low) * (10**6 if isinstance(low, datetime) else 1)
        assert boundary == naive.roundest(low, high, open_end=bool(few))
        assert naive.tick(low) < boundary <= naive.tick(high)
    cut = line.cuts(np.array([0]), np.array([len(found) - 1]))[0]
    x = naive.roundest(found[0], found[-1])
    assert naive.tick(found[cut - 1]) < x <= naive.tick(found[cut])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([17, 90], "50"),
        ([41, 42], "42"),
        ([-5, 5], "0"),
        ([99, 1001], "1000"),
        ([52, 58], "55"),
        ([Decimal("1.25"), Decimal("1.31")], "1.3"),
        ([0.1, 0.30000000000000004], "0.2"),
        ([1e-320, 2e-320], "2E-320"),
        ([1e300, 3e300], "2E+300"),
        ([date(1987, 5, 30), date(2003, 2, 1)], "2000-01-01"),
        ([date(2003, 2, 1), date(2003, 2, 27)], "2003-02-11"),
        ([date(2003, 2, 27), date(2003, 2, 28)], "2003-02-28"),
        ([datetime(2024, 1, 1, 8, 15), datetime(2024, 1, 1, 10, 40)], "2024-01-01 09:00:00"),
        ([datetime(2024, 1, 1, 8, 15), datetime(2024, 1, 2, 8, 15)], "2024-01-02 00:00:00"),
        ([datetime(2024, 1, 1, 0, 0, 0, 1), datetime(2024, 1, 1, 0, 0, 0, 7)], "2024-01-01 00:00:00.000005"),
    ],
)
def test_examples(values, expected):
    assert line_of(values).boundaries(np.array([1]), np.array([False])) == [expected]


def test_the_values_of_few_are_avoided_where_another_number_fits():
    rare, common = np.array([True]), np.array([False])
    assert number_line([41, 50], INTEGER).boundaries(np.array([1]), common) == ["50"]
    assert number_line([41, 50], INTEGER).boundaries(np.array([1]), rare) == ["45"]
    assert number_line([49, 50], INTEGER).boundaries(np.array([1]), rare) == ["50"]  # whole numbers stay whole
    assert number_line([Decimal("0.01"), Decimal("0.02")], DECIMAL).boundaries(np.array([1]), rare) == ["0.015"]


def test_infinity_is_further_than_every_number():
    line = number_line([-math.inf, 17.0, 99.5, math.inf], FLOAT)
    assert line.boundaries(np.array([1, 2, 3]), np.zeros(3, dtype=bool)) == ["0", "50", "100"]
    days = moment_line(["-infinity", "2001-02-03", "infinity"], DATE)
    assert days.boundaries(np.array([1, 2]), np.zeros(2, dtype=bool)) == ["2000-01-01", "2010-01-01"]
    zoned = moment_line(["-infinity", "2001-02-03 04:05:06+00", "infinity"], MOMENT)
    assert zoned.boundaries(np.array([1]), np.zeros(1, dtype=bool)) == ["2000-01-01 00:00:00+00"]


def test_moments_outside_of_python_s_calendar():
    line = moment_line(["0044-03-15 (BC)", "0001-01-01", "12345-06-07"], DATE)
    assert line.boundaries(np.array([1, 2]), np.zeros(2, dtype=bool)) == ["0000-01-01", "1000-01-01"]
    shifted = moment_line(["2024-01-01 01:30:00+02", "2024-01-01 01:30:00-05:30"], MOMENT)
    assert (shifted.ticks[1] - shifted.ticks[0]) == 7.5 * 3600 * 10**6
    assert shifted.boundaries(np.array([1]), np.array([False])) == ["2024-01-01 00:00:00+00"]


def test_numbers_beyond_64_bits_stay_exact():
    top = 2**127 - 1
    line = number_line([top - 2, top - 1, top], INTEGER)
    assert line.boundaries(np.array([2]), np.array([False])) == [str(top)]
    assert line.cuts(np.array([0]), np.array([2])).tolist() == [1]  # an even number is rounder than an odd one


def test_values_out_of_order_are_refused_without_being_told():
    with pytest.raises(EngineError) as refusal:
        number_line([4711, 17], INTEGER)
    assert "4711" not in str(refusal.value)
    with pytest.raises(EngineError) as refusal:
        moment_line(["canary"], DATE)
    assert "canary" not in str(refusal.value)


@given(st.lists(st.text(alphabet="ab,{}\\ .*", max_size=6), min_size=1, max_size=4, unique=True))
@RELAXED
def test_different_lists_read_differently(words):
    from mondrian_labels import members

    label = "{" + ", ".join(map(escaped, words)) + "}"
    assert members(label) == words


@RELAXED
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 9)), min_size=1))
def test_same_rows_numbers_rows_by_their_values(rows):
    numbers = same_rows(np.array(rows)).tolist()
    order = sorted(set(rows))
    assert numbers == [order.index(row) for row in rows]


@RELAXED
@given(
    st.lists(st.fractions(-1000, 1000, max_denominator=50), min_size=2, max_size=8, unique=True),
    st.sampled_from([1, 1000, 10**6, 10**9]),
)
def test_the_grid_of_a_numeric_target_keeps_its_order_and_fits(values, rows):
    points = grid(sorted(values), rows).tolist()
    assert points == sorted(points)
    assert points[0] == 0
    assert 4 * rows * max(points) ** 2 < 2**62
    assert all(type(point) is int for point in points)
    assert grid([Fraction(3), Fraction(10)], rows).tolist() == [0, 7]
