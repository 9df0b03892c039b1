"""Ladders against their definitions: exact intervals, cut text, and the text form of every kind of value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from math import copysign, floor
from uuid import UUID

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppdm_sql.engines.base import Kind
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.policy import HierarchySource, IntervalLadder, PrefixLadder
from ppdm_sql.source.hierarchy import Hierarchy, load_hierarchy
from ppdm_sql.source.leaves import leaf_text, natural_order
from tests.sizes import examples


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDBEngine]:
    with duckdb.connect() as connection:
        yield DuckDBEngine(connection)


class NoEngine(DuckDBEngine):
    """A ladder asks no database."""

    def __init__(self) -> None: ...


def load(source: HierarchySource, kind: Kind, values: Sequence[object]) -> Hierarchy:
    return load_hierarchy(source, column="c", kind=kind, values=values, engine=NoEngine(), folder=None)


def refused(source: HierarchySource, kind: Kind, values: Sequence[object] = ()) -> list[str]:
    with pytest.raises(PolicyError) as error:
        load(source, kind, values)
    return [mistake.message.split(": ", 2)[2] for mistake in error.value.mistakes]


def intervals(*widths: object, anchor: object = 0) -> IntervalLadder:
    return IntervalLadder(tuple(Fraction(str(width)) for width in widths), Fraction(str(anchor)))


# -- intervals of numbers ------------------------------------------------------------------------------


def test_ages_by_five_and_ten() -> None:
    tree = load(intervals(5, 10), Kind.INTEGER, [24, 17, 20, 19, 15])
    assert tree.order == ("15", "17", "19", "20", "24")
    assert tree.nodes(1) == [("[15, 20)", 0, 3), ("[20, 25)", 3, 5)]
    assert tree.nodes(2) == [("[10, 20)", 0, 3), ("[20, 30)", 3, 5)]
    assert tree.levels_of(24) == ("24", "[20, 25)", "[20, 30)", "*")


@pytest.mark.parametrize(
    ("value", "kind", "ladder", "labels"),
    [
        (-1, Kind.INTEGER, intervals(5, 10), ("[-5, 0)", "[-10, 0)")),
        (-5, Kind.INTEGER, intervals(5, 10), ("[-5, 0)", "[-10, 0)")),
        (18, Kind.INTEGER, intervals(10, 20, anchor=18), ("[18, 28)", "[18, 38)")),
        (17, Kind.INTEGER, intervals(10, 20, anchor=18), ("[8, 18)", "[-2, 18)")),
        (Decimal("0.30"), Kind.DECIMAL, intervals("0.1", "0.5"), ("[0.3, 0.4)", "[0, 0.5)")),
        (0.3, Kind.FLOAT, intervals("0.1", "0.5"), ("[0.3, 0.4)", "[0, 0.5)")),  # as printed, not as stored
        (1e22, Kind.FLOAT, intervals(3), ("[9999999999999999999999, 10000000000000000000002)",)),
        (2**127 - 1, Kind.INTEGER, intervals(2**64), (f"[{2**127 - 2**64}, {2**127})",)),
        (5, Kind.INTEGER, IntervalLadder((Fraction(1, 3),)), ("[5, 16/3)",)),
    ],
)
def test_a_number_lies_in_its_interval(value: object, kind: Kind, ladder: IntervalLadder, labels: tuple[str]) -> None:
    assert load(ladder, kind, [value]).levels_of(value)[1:-1] == labels


numbers = st.one_of(
    st.integers(-(10**20), 10**20),
    st.decimals(-10_000, 10_000, places=3),
    st.floats(allow_nan=False, allow_infinity=False, min_value=-1e9, max_value=1e9),
)
ladders = st.builds(
    lambda first, factors, anchor: IntervalLadder(
        tuple(first * int(factor) for factor in _products(factors)), Fraction(anchor)
    ),
    st.decimals("0.01", 100, places=2).map(Fraction),
    st.lists(st.integers(2, 7), max_size=3),
    st.decimals(-100, 100, places=2),
)


def _products(factors: Sequence[int]) -> list[int]:
    products = [1]
    for factor in factors:
        products.append(products[-1] * factor)
    return products


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(numbers, min_size=1, max_size=8, unique_by=leaf_text), ladders)
def test_intervals_are_those_of_the_definition(values: list[object], ladder: IntervalLadder) -> None:
    tree = load(ladder, Kind.DECIMAL, values)
    for value in values:
        number = Fraction(leaf_text(value))
        labels = tree.levels_of(value)
        for width, label in zip(ladder.widths, labels[1:-1], strict=True):
            low, high = map(Fraction, re.fullmatch(r"\[(\S+), (\S+)\)", label).groups())
            assert low <= number < high
            assert high - low == width
            assert low == ladder.anchor + floor((number - ladder.anchor) / width) * width
    assert list(tree.order) == sorted(tree.order, key=natural_order)


# -- intervals of moments ------------------------------------------------------------------------------


def test_dates_by_days() -> None:
    monday = (date(2024, 1, 1) - date(1970, 1, 1)).days
    tree = load(intervals(7, 28, anchor=monday), Kind.DATE, [date(2024, 1, 7), date(2024, 1, 8), date(2023, 12, 31)])
    assert tree.levels_of(date(2024, 1, 7)) == (
        "2024-01-07",
        "[2024-01-01, 2024-01-08)",
        "[2024-01-01, 2024-01-29)",
        "*",
    )
    assert tree.levels_of(date(2023, 12, 31))[1] == "[2023-12-25, 2024-01-01)"
    assert tree.order == ("2023-12-31", "2024-01-07", "2024-01-08")


@pytest.mark.parametrize("day", [date.max, date.min, date(1969, 12, 31), date(2000, 2, 29)])
def test_the_calendar_has_no_end(day: date) -> None:
    label = load(intervals(1000), Kind.DATE, [day]).levels_of(day)[1]
    assert re.fullmatch(r"\[-?\d{3,5}-\d\d-\d\d, \d{4,5}-\d\d-\d\d\)", label)


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(st.dates(date(1900, 1, 1), date(2100, 1, 1)), min_size=1, max_size=8, unique=True), st.integers(1, 400))
def test_date_intervals_hold_their_dates(days: list[date], width: int) -> None:
    tree = load(intervals(width, width * 3), Kind.DATE, days)
    for day in days:
        for level, size in ((1, width), (2, width * 3)):
            low, high = map(date.fromisoformat, tree.levels_of(day)[level][1:-1].split(", "))
            assert low <= day < high
            assert high - low == timedelta(days=size)


def test_timestamps_by_parts_of_a_day() -> None:
    moment = datetime(2024, 1, 1, 13, 59, 59, 999_999)
    quarter = IntervalLadder((Fraction(1, 4), Fraction(1)))
    assert load(quarter, Kind.TIMESTAMP, [moment]).levels_of(moment) == (
        "2024-01-01 13:59:59.999999",
        "[2024-01-01 12:00:00, 2024-01-01 18:00:00)",
        "[2024-01-01 00:00:00, 2024-01-02 00:00:00)",
        "*",
    )


def test_a_time_zone_is_told_in_utc() -> None:
    moment = datetime(2024, 1, 1, 1, tzinfo=timezone(timedelta(hours=2)))
    tree = load(intervals(1), Kind.TIMESTAMP, [moment])
    assert tree.levels_of(moment) == (
        "2023-12-31 23:00:00+00",
        "[2023-12-31 00:00:00+00, 2024-01-01 00:00:00+00)",
        "*",
    )


# -- intervals that are refused ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ladder", "kind", "values", "expected"),
    [
        (intervals(5, 12), Kind.INTEGER, [], ["width 12 of INTERVALS is not a multiple of 5 before it"]),
        (intervals(5, 5), Kind.INTEGER, [], ["width 5 of INTERVALS is not a multiple of 5 before it"]),
        (
            intervals(10, 5, "2.5"),
            Kind.INTEGER,
            [],
            [
                "width 5 of INTERVALS is not a multiple of 10 before it",
                "width 2.5 of INTERVALS is not a multiple of 5 before it",
            ],
        ),
        (intervals(0, 5), Kind.INTEGER, [], ["a width of INTERVALS must be greater than 0"]),
        (intervals(-5), Kind.INTEGER, [], ["a width of INTERVALS must be greater than 0"]),
        (intervals(), Kind.INTEGER, [], ["INTERVALS needs 1 to 49 widths, got 0"]),
        (
            intervals("0.5"),
            Kind.DATE,
            [],
            ["the widths and the start of INTERVALS over a date are days: give whole days"],
        ),
        (
            intervals(1, anchor="0.00001"),
            Kind.TIMESTAMP,
            [],
            ["the widths and the start of INTERVALS over a timestamp are days: give whole seconds (1/86400)"],
        ),
        (
            intervals(5),
            Kind.FLOAT,
            [1.0, float("nan"), float("inf")],
            ["2 distinct values without an interval (infinite, not a number, or before year 1)"],
        ),
        (
            intervals(5),
            Kind.DATE,
            ["0044-03-15 (BC)"],
            ["1 distinct value without an interval (infinite, not a number, or before year 1)"],
        ),
        *(
            (intervals(5), kind, [], [f"INTERVALS needs numbers, dates or timestamps; the column is {kind.value}"])
            for kind in (Kind.TEXT, Kind.BOOLEAN, Kind.UUID)
        ),
    ],
)
def test_a_wrong_ladder_is_refused(
    ladder: IntervalLadder, kind: Kind, values: list[object], expected: list[str]
) -> None:
    assert refused(ladder, kind, values) == expected


# -- prefixes ------------------------------------------------------------------------------------------


def test_zip_codes() -> None:
    tree = load(PrefixLadder((4, 3, 2)), Kind.TEXT, ["84119", "84112", "84201"])
    assert tree.levels_of("84112") == ("84112", "8411*", "841**", "84***", "*")
    assert tree.order == ("84112", "84119", "84201")


def test_lengths_do_not_show() -> None:
    tree = load(PrefixLadder((3, 1)), Kind.TEXT, ["Anna", "Annabelle", "Ann", "Al", "A"])
    labels = {value: tree.levels_of(value)[1:-1] for value in ("Anna", "Annabelle", "Ann", "Al", "A")}
    assert labels["Anna"] == labels["Annabelle"] == ("Ann*", "A*")
    assert labels["Ann"] == ("Ann", "A*")
    assert labels["Al"] == ("Al", "A*")
    assert labels["A"] == ("A", "A")


@pytest.mark.parametrize(
    ("value", "kind", "label"),
    [
        (84112, Kind.INTEGER, "841**"),
        (date(2024, 2, 29), Kind.DATE, "202*******"),
        (UUID(int=0), Kind.UUID, "000" + "*" * 33),
    ],
)
def test_other_kinds_are_cut_as_they_are_written(value: object, kind: Kind, label: str) -> None:
    assert load(PrefixLadder((3,)), kind, [value]).levels_of(value)[1] == label


odd_text = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("e\u0301\u200d👩🏽\u202e\ufeff Aa"), max_size=6
)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(odd_text.filter(lambda text: "*" not in text), min_size=1, max_size=8, unique=True),
    st.lists(st.integers(1, 7), min_size=1, max_size=4, unique=True).map(lambda sizes: sorted(sizes, reverse=True)),
)
def test_prefixes_are_those_of_the_definition(values: list[str], lengths: list[int]) -> None:
    tree = load(PrefixLadder(tuple(lengths)), Kind.TEXT, values)
    same_length = len(set(map(len, values))) == 1
    for value in values:
        for length, label in zip(lengths, tree.levels_of(value)[1:-1], strict=True):
            stars = 0 if len(value) <= length else len(value) - length if same_length else 1
            assert label == value[:length] + "*" * stars


def test_stars_in_the_data_are_not_taken_for_cut_characters() -> None:
    spelled = "1 label is spelled like a value but covers other values too, or not that one: a reader could not tell them apart"
    assert refused(PrefixLadder((3,)), Kind.TEXT, ["841**", "84112"]) == [spelled]
    assert refused(PrefixLadder((1,)), Kind.TEXT, ["*", "ab"]) == [spelled]
    assert refused(PrefixLadder((3, 2)), Kind.TEXT, ["84*12", "84512"]) == [
        "1 label is on two levels for different values (a name used twice, or a cycle)"
    ]


@pytest.mark.parametrize(
    ("lengths", "kind", "expected"),
    [
        ((3, 3), Kind.TEXT, ["the lengths of PREFIX must be in descending order"]),
        ((2, 3), Kind.TEXT, ["the lengths of PREFIX must be in descending order"]),
        (
            (2, 0),
            Kind.TEXT,
            ["a length of PREFIX must be at least 1; the root below that is added by itself"],
        ),
        ((), Kind.TEXT, ["PREFIX needs 1 to 49 lengths, got 0"]),
        *(
            ((1,), kind, [f"PREFIX cuts text, whole numbers, dates and timestamps; the column is {kind.value}"])
            for kind in (Kind.FLOAT, Kind.DECIMAL, Kind.BOOLEAN)
        ),
    ],
)
def test_wrong_lengths_are_refused(lengths: tuple[int, ...], kind: Kind, expected: list[str]) -> None:
    assert refused(PrefixLadder(lengths), kind) == expected


@pytest.mark.parametrize("source", [intervals(5, 10), PrefixLadder((3, 2))])
def test_a_column_of_nulls_passes(source: HierarchySource) -> None:
    kind = Kind.INTEGER
    tree = load(source, kind, [])
    assert (tree.order, tree.height) == ((), 3)


# -- text forms ----------------------------------------------------------------------------------------

microseconds = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23))


@settings(max_examples=examples(40), deadline=None)
@given(
    st.one_of(
        st.tuples(st.just("DOUBLE"), st.floats()),
        st.tuples(st.just("HUGEINT"), st.integers(-(2**100), 2**100)),
        st.tuples(st.just("DECIMAL(18,3)"), st.decimals(-(10**9), 10**9, places=3)),
        st.tuples(st.just("BOOLEAN"), st.booleans()),
        st.tuples(st.just("DATE"), st.dates()),
        st.tuples(st.just("TIMESTAMP"), microseconds),
        st.tuples(st.just("UUID"), st.uuids()),
        st.tuples(st.just("VARCHAR"), odd_text),
    )
)
def test_the_text_of_a_value_is_what_the_database_writes(engine: DuckDBEngine, case: tuple[str, object]) -> None:
    declared, value = case
    if isinstance(value, float | Decimal) and (value == 0 or value != value):
        value = abs(value)  # minus zero and minus NaN: see below
    cursor = engine._connection.execute(f"SELECT x, x::VARCHAR FROM (SELECT ?::{declared} AS x)", [value])
    fetched, text = cursor.fetchone()
    assert leaf_text(fetched) == text


def test_minus_zero_is_zero_as_in_sql(engine: DuckDBEngine) -> None:
    distinct = engine._connection.execute("SELECT DISTINCT x FROM (VALUES (0.0::DOUBLE), (-0.0::DOUBLE)) t(x)")
    assert {leaf_text(row[0]) for row in distinct.fetchall()} == {"0.0"}
    assert leaf_text(-0.0) == "0.0"


def test_nan_has_no_sign_as_in_sql(engine: DuckDBEngine) -> None:
    signed = [float("nan"), copysign(float("nan"), -1)]  # DuckDB writes the second one -nan
    distinct = engine._connection.execute("SELECT DISTINCT UNNEST(?::DOUBLE[])", [signed]).fetchall()
    assert len(distinct) == 1
    assert {leaf_text(value) for value in signed} == {"nan"}


@pytest.mark.parametrize("value", [None, b"Q", ["Q"], {"Q": 1}, object()])
def test_other_things_have_no_text_and_do_not_tell_theirs(value: object) -> None:
    with pytest.raises(TypeError) as error:
        leaf_text(value)
    assert "Q" not in str(error.value)


def test_a_moment_in_a_zone_is_one_moment() -> None:
    noon = datetime(2024, 6, 1, 12, tzinfo=UTC)
    assert leaf_text(noon) == leaf_text(noon.astimezone(timezone(timedelta(hours=-5)))) == "2024-06-01 12:00:00+00"


def test_a_huge_exponent_is_a_word() -> None:
    assert natural_order("1e999999999")[0] == 1
    assert natural_order("٣")[0] == 1  # digits of other scripts are text
