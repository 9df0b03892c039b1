"""The hierarchy CALENDAR: a date or timestamp by the periods it lies in.

    day 2024-02-29   month 2024-02   quarter 2024-Q1   year 2024   decade 2020s   century 1900 to 1999

Timestamps with a time zone count in UTC, as everywhere.  period_ends reads a period back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime

import numpy as np

from ppdm_sql.engines.base import Kind
from ppdm_sql.policy.policy import CalendarLadder
from ppdm_sql.source.hierarchy_check import ROOT, Finding, UnreadableError, plural
from ppdm_sql.source.leaves import leaf_text

_WRITERS: Mapping[str, Callable[[date], str]] = {
    "day": lambda day: day.isoformat(),
    "month": lambda day: f"{day.year:04d}-{day.month:02d}",
    "quarter": lambda day: f"{day.year:04d}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04d}",
    "decade": lambda day: f"{day.year // 10 * 10:04d}s",
    "century": lambda day: f"{day.year // 100 * 100:04d} to {day.year // 100 * 100 + 99:04d}",
}

_PERIOD = re.compile(
    r"(?P<year>\d{4})(?:(?P<decade>s)| to (?P<last>\d{4})|-Q(?P<quarter>[1-4])|-(?P<month>\d\d)(?:-(?P<day>\d\d))?)?"
)


def calendar_rows(ladder: CalendarLadder, kind: Kind, values: Sequence[object]) -> list[list[str]]:
    """One line per value: its text, the periods it lies in, the root.

    >>> calendar_rows(CalendarLadder(("month", "quarter", "decade")), Kind.DATE, [date(2024, 2, 29)])
    [['2024-02-29', '2024-02', '2024-Q1', '2020s', '*']]
    """
    if kind not in (Kind.DATE, Kind.TIMESTAMP):
        raise UnreadableError(f"CALENDAR needs dates or timestamps, the column is {kind.value}")
    if kind is Kind.DATE and "day" in ladder.periods:
        raise UnreadableError("a date is a day already: CALENDAR starts with a longer period")
    lost = [leaf_text(value) for value in values if not isinstance(value, date)]
    if lost:
        message = f"{plural(len(lost), 'distinct value')} without a period (infinite, or before year 1)"
        raise UnreadableError(Finding(message, tuple(lost)))
    days = [_day(value) for value in values if isinstance(value, date)]
    write = [_WRITERS[period] for period in ladder.periods]
    return [[leaf_text(value), *(one(day) for one in write), ROOT] for value, day in zip(values, days, strict=True)]


def _day(value: date) -> date:
    if not isinstance(value, datetime):
        return value
    return (value if value.tzinfo is None else value.astimezone(UTC)).date()


# -- reading -----------------------------------------------------------------------------------------------


def period_ends(label: str) -> tuple[np.datetime64, np.datetime64] | None:
    """The first day of a period, and the first one after it; None for what is no period.

    >>> [str(day) for day in period_ends("2024-Q1") or ()], period_ends("2024-13"), period_ends("*")
    (['2024-01-01', '2024-04-01'], None, None)
    """
    found = _PERIOD.fullmatch(label)
    if found is None:
        return None
    first, months = found["year"], 12
    if found["decade"]:
        months = 120
    elif found["last"]:
        months = 12 * (int(found["last"]) + 1 - int(found["year"]))
    elif found["quarter"]:
        first, months = f"{first}-{3 * int(found['quarter']) - 2:02d}", 3
    elif found["month"]:
        first, months = f"{first}-{found['month']}", 1
    try:
        if found["day"]:
            day = np.datetime64(label, "D")
            return day, day + 1
        start = np.datetime64(first, "M")
    except ValueError:  # month 13, or the 30th of February
        return None
    # numpy, because the last decade ends in a year that date cannot hold
    return start.astype("M8[D]"), (start + months).astype("M8[D]")
