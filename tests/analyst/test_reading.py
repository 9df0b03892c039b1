"""docs/reading.md as it stands: every statement runs, and every result is the one that the page shows."""

from __future__ import annotations

import math
import re
from datetime import date
from pathlib import Path

import duckdb
import pytest

import ppdm_sql
from ppdm_sql import resources
from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.forms.read_labels import LabelReader, UnreadLabelError

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reading.md"
BLOCK = re.compile(r"```sql\n(.*?)```\n\n?((?:\|[^\n]*\n)*)", re.DOTALL)


def shown(columns: list[str], rows: list[tuple]) -> str:
    """A result as the page has it."""
    lines = [columns, ["---"] * len(columns), *(["" if value is None else str(value) for value in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" if line[0] != "---" else f"|{'|'.join(line)}|\n" for line in lines)


def results(text: str) -> list[tuple[str, str]]:
    """What the page shows after each block, and what the block gives."""
    connection = duckdb.connect()
    session = ppdm_sql.connect(connection)
    connection.execute(resources.sql_text("analyst/read"))
    found = []
    for block, table in BLOCK.findall(text):
        *before, last = [part for part in block.split(";\n") if part.strip()]
        for part in before:
            session.execute(part)
        if not last.strip().startswith(("SELECT", "WITH")):
            session.execute(last)
            continue
        answer = connection.execute(last)
        found.append((table, shown([column[0] for column in answer.description], answer.fetchall())))
    return found


@pytest.mark.duckdb
def test_every_query_of_the_page_gives_what_the_page_shows():
    found = results(PAGE.read_text(encoding="utf-8"))
    assert len(found) == 5
    assert [table for table, _ in found] == [answer for _, answer in found]


LABELS = ("67", "-3.5", "[65, 70)", "[0.125, 3)", "[65, 69]", "< 30", ">= -5", "*", "**", "(known)", None)
PLACES = (-10, -5, 0, 0.125, 2.999, 29, 30, 65, 67, 69, 69.5, 70, 100)


@pytest.mark.duckdb
def test_the_macros_read_what_python_reads():
    read = LabelReader(ColumnInfo("x", Kind.DECIMAL, "DECIMAL(9,3)"))
    spread = ", lowest := -50, tail := 4"
    with duckdb.connect() as connection:
        connection.execute(resources.sql_text("analyst/read"))
        rows = connection.execute(
            f"""SELECT label, place, ppdm_contains(label, place),
                ppdm_share(label, -1e9, place), ppdm_share(label, place, 1e9),
                ppdm_share(label, -1e9, place{spread}), ppdm_share(label, place, 1e9{spread})
            FROM (SELECT unnest($1::TEXT[]) AS label) CROSS JOIN (SELECT unnest($2::DOUBLE[]) AS place)""",
            [list(LABELS), list(PLACES)],
        ).fetchall()
    assert len(rows) == len(LABELS) * len(PLACES)
    for label, place, held, *shares in rows:
        found, step = read.read(label), round(place * 1000)
        inside = (found.low is None or found.low <= step) and (found.stop is None or step < found.stop)
        assert held == (None if label is None else inside), (label, place)
        unknown = label is None or label.strip("*") in ("", "(known)")
        for pair in (shares[:2], shares[2:]):
            assert pair == [None, None] if unknown else sum(pair) == pytest.approx(1), (label, place)


@pytest.mark.duckdb
def test_an_open_range_is_spread_from_the_lowest_value_and_over_a_tail():
    with duckdb.connect() as connection:
        connection.execute(resources.sql_text("analyst/read"))
        ask = """SELECT ppdm_share('< 30', 20, 40, lowest := 10), ppdm_share('< 30', 20, 40, lowest := 30),
            ppdm_share('< 30', 20, 40), ppdm_share('>= 65', 60, 75, tail := 10), ppdm_share('>= 65', 60, 75, tail := 0),
            ppdm_share('[60, 70)', 65, 80, lowest := 0, tail := 3), ppdm_share('>= 65', 80, 70, tail := 10)"""
        assert connection.execute(ask).fetchone() == (0.5, 1, 1, pytest.approx(1 - math.exp(-1)), 1, 0.5, 0)


PERIODS = ("2003", "2003-Q4", "2003-12", "2000s", "2000 to 2099", "2003-13", "2003-Q5", "2003-01-01", "(known)", None)


@pytest.mark.duckdb
def test_the_macros_for_dates_read_periods_of_a_calendar():
    read = LabelReader(ColumnInfo("x", Kind.DATE, "DATE"), calendar=True)
    days = [
        date(year, month, day) for year in (1999, 2000, 2003, 2004, 2009, 2010) for month, day in ((1, 1), (12, 31))
    ]
    with duckdb.connect() as connection:
        connection.execute(resources.sql_text("analyst/read"))
        for label in PERIODS:
            ask = "SELECT ppdm_lower_date($1::TEXT)::DATE, ppdm_upper_date($1::TEXT)::DATE, ppdm_mid_date($1::TEXT)"
            low, stop, middle = connection.execute(ask, [label]).fetchone()
            try:
                found = read.read(label)
            except UnreadLabelError:
                assert (low, stop, middle) == (None, None, None)
                continue
            if found.sort == "range" and found.low is not None:
                assert [str(low), str(stop)] == [read.start(found), read.end(found)]
                assert low < middle.date() < stop
            for day in days:
                held = connection.execute("SELECT ppdm_contains_date($1::TEXT, $2::DATE)", [label, day]).fetchone()[0]
                touched = "SELECT ppdm_overlaps_date($1::TEXT, $2::DATE, $2::DATE + 1)"
                assert connection.execute(touched, [label, day]).fetchone()[0] == held
                step = read.read(str(day)).low
                inside = (found.low is None or found.low <= step) and (found.stop is None or step < found.stop)
                assert held == (None if label is None else inside)
        halves = "SELECT ppdm_share_date('2003', DATE '2003-01-01', DATE '2003-07-01')"
        assert connection.execute(halves).fetchone()[0] == pytest.approx(181 / 365)


@pytest.mark.postgres
def test_postgres_reads_the_same(postgres_engine):
    import psycopg

    connection: psycopg.Connection = postgres_engine._connection
    connection.execute(resources.sql_text("analyst/read_postgres"))
    with duckdb.connect() as other:
        other.execute(resources.sql_text("analyst/read"))
        ask = "ppdm_lower({0}), ppdm_upper({0}), ppdm_mid({0}), ppdm_contains({0}, 66), ppdm_overlaps({0}, 60, 70)"
        for label in (*LABELS, "{a, b}", "old", ""):
            theirs = connection.execute(f"SELECT {ask.format('%s::TEXT')}, ppdm_share(%s::TEXT, 60, 67)", [label] * 6)
            ours = other.execute(f"SELECT {ask.format('$1::TEXT')}, ppdm_share($1::TEXT, 60, 67)", [label])
            assert tuple(theirs.fetchone()) == ours.fetchone()
            spread = "ppdm_share({0}, 20, 67, lowest := 10, tail := 7.5), ppdm_share({0}, 66, 1e9, tail := 0.001)"
            theirs = connection.execute(f"SELECT {spread.format('%s::TEXT')}", [label] * 2)
            ours = other.execute(f"SELECT {spread.format('$1::TEXT')}", [label])
            assert tuple(theirs.fetchone()) == pytest.approx(ours.fetchone(), nan_ok=True)
        ask = ask.replace("(", "_date(").replace("66", "DATE '2003-06-01'")
        ask = ask.replace("60", "DATE '2003-02-01'").replace("70", "DATE '2003-03-01'")
        for label in (
            "2003-01-01",
            "[2003-01-01, 2004-01-01)",
            "< 2003-01-01 00:00:00+00",
            ">= 2003-02-01 10:00:00",
            "*",
            *PERIODS,
        ):
            theirs = connection.execute(f"SELECT {ask.format('%s::TEXT')}", [label] * 5)
            assert tuple(theirs.fetchone()) == other.execute(f"SELECT {ask.format('$1::TEXT')}", [label]).fetchone()
