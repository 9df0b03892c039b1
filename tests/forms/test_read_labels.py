"""Labels read back: every value lies in the ranges it was printed into, and in no other."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.forms.read_labels import LabelReader, UnreadLabelError
from ppdm_sql.methods.shared.labels import interval_text
from ppdm_sql.source.hierarchy import build
from ppdm_sql.source.leaves import leaf_text
from ppdm_sql.source.lines import moment_line, number_line

DAY = datetime(2020, 2, 28, 23, 59, 59)
COLUMNS = {
    "INTEGER": (Kind.INTEGER, st.integers(-1000, 1000)),
    "DECIMAL(9,2)": (Kind.DECIMAL, st.integers(-9999, 9999).map(lambda n: Decimal(n).scaleb(-2))),
    "DOUBLE": (Kind.FLOAT, st.floats(-1e6, 1e6).map(lambda x: x + 0.0)),
    "REAL": (Kind.FLOAT, st.floats(-1e6, 1e6, width=32).map(lambda x: x + 0.0)),
    "DATE": (Kind.DATE, st.integers(-9000, 9000).map(lambda n: date(2000, 1, 1) + timedelta(days=n))),
    "TIMESTAMP": (Kind.TIMESTAMP, st.integers(-(10**12), 10**12).map(lambda n: DAY + timedelta(microseconds=n))),
    "TIMESTAMP WITH TIME ZONE": (
        Kind.TIMESTAMP,
        st.integers(-(10**9), 10**9).map(lambda n: DAY.replace(tzinfo=UTC) + timedelta(seconds=n)),
    ),
}
MOMENTS = (Kind.DATE, Kind.TIMESTAMP)


def reader(declared: str, **more) -> LabelReader:
    return LabelReader(ColumnInfo("x", COLUMNS[declared][0], declared), **more)


@st.composite
def columns(draw):
    """A type, rising values of it, where a range of codes starts and stops, and which values few hold."""
    declared = draw(st.sampled_from(list(COLUMNS)))
    values = sorted(draw(st.lists(COLUMNS[declared][1], min_size=2, max_size=12, unique=True)))
    first = draw(st.integers(0, len(values) - 1))
    stop = draw(st.integers(first + 1, len(values)))
    rare = draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
    return declared, values, first, stop, np.array(rare)


@settings(deadline=None, max_examples=60)
@given(columns())
def test_a_range_holds_the_values_that_were_printed_into_it_and_no_others(case):
    declared, values, first, stop, rare = case
    info = ColumnInfo("x", COLUMNS[declared][0], declared)
    texts = [leaf_text(value) for value in values]
    line = moment_line(texts, info) if info.kind in MOMENTS else number_line(values, info)

    def boundary(code: int) -> str | None:
        return line.boundaries(np.array([code]), rare[[code]])[0] if 0 < code < len(values) else None

    low, high = boundary(first), boundary(stop)
    if low is None and high is None:
        return
    read = reader(declared)
    found = read.read(interval_text(low, high))
    inside = []
    for text in texts:
        alone = read.read(text)
        assert alone.sort == "exact"
        above = found.low is None or found.low <= alone.low
        inside.append(above and (found.stop is None or alone.low < found.stop))
    assert inside == [first <= code < stop for code in range(len(values))]
    assert found.sort == "range"
    for end in (read.start(found), read.end(found)):  # what is published of it lies on the same places
        assert end is None or read.read(end).low in (found.low, found.stop)


@settings(deadline=None, max_examples=60)
@given(columns())
def test_a_value_is_itself_and_ends_before_the_next_one(case):
    declared, values, *_ = case
    read = reader(declared)
    for low, high in pairwise(values):
        one, other = read.read(leaf_text(low)), read.read(leaf_text(high))
        assert one.low < one.stop <= other.low
        assert read.read(read.middle(one)).low == one.low
        both = read.read(f"[{leaf_text(low)}, {leaf_text(high)}]")
        assert (both.low, both.stop) == (one.low, other.stop)


@pytest.mark.parametrize(
    ("declared", "label", "sort", "low", "stop", "middle"),
    [
        ("INTEGER", "67", "exact", "67", "68", "67"),
        ("INTEGER", "[65, 70)", "range", "65", "70", "67"),
        ("INTEGER", "[30, 40)", "range", "30", "40", "35"),
        ("INTEGER", "< 30.5", "range", None, "31", "30"),
        ("INTEGER", ">= -5", "range", "-5", None, "-5"),
        ("INTEGER", "2147483647", "exact", "2147483647", None, "2147483647"),  # the type has none beyond it
        ("DECIMAL(9,2)", "[0.125, 3)", "range", "0.13", "3.00", "1.56"),
        ("DECIMAL(9,2)", "-0.50", "exact", "-0.50", "-0.49", "-0.50"),
        ("DOUBLE", "[0.1, 0.3)", "range", "0.1", "0.3", "0.2"),
        ("DOUBLE", "inf", "exact", "inf", None, "inf"),
        ("DATE", "[2003-01-01, 2003-03-01)", "range", "2003-01-01", "2003-03-01", "2003-01-30"),
        ("DATE", "2003-12-31", "exact", "2003-12-31", "2004-01-01", "2003-12-31"),
        ("TIMESTAMP", "< 2003-01-01 00:00:00", "range", None, "2003-01-01 00:00:00", "2002-12-31 23:59:59.999999"),
        ("INTEGER", "*", "suppressed", None, None, None),
        ("DATE", "**", "suppressed", None, None, None),
        ("INTEGER", None, "missing", None, None, None),
    ],
)
def test_what_is_published_of_a_label(declared, label, sort, low, stop, middle):
    read = reader(declared)
    found = read.read(label)
    assert (found.sort, read.start(found), read.end(found), read.middle(found)) == (sort, low, stop, middle)


@pytest.mark.parametrize("label", ["", "old", "{a, b}", "[1, 2", "< ", "[a, b)", "1 2"])
def test_what_is_no_label_is_refused_without_telling_it(label):
    with pytest.raises(UnreadLabelError) as refused:
        reader("INTEGER").read(label)
    assert str(refused.value) == ""


def test_a_word_of_a_hierarchy_covers_its_leaves_whether_somebody_has_them_or_not():
    lines = [[str(n), "young" if n < 30 else "old", "*"] for n in (18, 20, 29, 30, 64, 99)]
    read = reader("INTEGER", hierarchy=build("x", lines))
    found = {word: read.read(word) for word in ("young", "old", "64", "*")}
    assert [(one.sort, one.low, one.stop) for one in found.values()] == [
        ("range", 18, 30),
        ("range", 30, 100),
        ("exact", 64, 65),
        ("suppressed", None, None),
    ]
    with pytest.raises(UnreadLabelError):
        read.read("middle-aged")


@pytest.mark.parametrize(
    ("declared", "label", "sort", "low", "stop"),
    [
        ("DATE", "2024-02", "range", "2024-02-01", "2024-03-01"),
        ("DATE", "2024-Q4", "range", "2024-10-01", "2025-01-01"),
        ("DATE", "2024", "range", "2024-01-01", "2025-01-01"),
        ("DATE", "9990s", "range", "9990-01-01", "10000-01-01"),
        ("DATE", "1900 to 1999", "range", "1900-01-01", "2000-01-01"),
        ("DATE", "2024-02-29", "exact", "2024-02-29", "2024-03-01"),
        ("TIMESTAMP", "2024-02-29", "range", "2024-02-29 00:00:00", "2024-03-01 00:00:00"),
        ("TIMESTAMP WITH TIME ZONE", "2020s", "range", "2020-01-01 00:00:00+00", "2030-01-01 00:00:00+00"),
        ("DATE", "*", "suppressed", None, None),
    ],
)
def test_a_period_of_a_calendar_is_a_range(declared, label, sort, low, stop):
    read = reader(declared, calendar=True)
    found = read.read(label)
    assert (found.sort, read.start(found), read.end(found)) == (sort, low, stop)


@pytest.mark.parametrize("label", ["2024-13", "2024-Q5", "20240", "2020 s"])
def test_what_is_no_period_is_refused(label):
    with pytest.raises(UnreadLabelError):
        reader("DATE", calendar=True).read(label)
