"""Intervals as a release prints them, read by the judge with code of its own: it shares nothing with the printer."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from sqlglot import exp

from ppdm_sql.engines.base import ColumnInfo
from ppdm_sql.errors import PolicyError
from ppdm_sql.statements.names import column

_MOMENT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?)?(?:([+-])(\d\d)(?::?(\d\d))?)?"
)
_INTERVAL = re.compile(r"\[(?P<low>[^\[,]+), (?P<high>[^,]+)\)")
_NATIVE = re.compile(r'[\[(](?P<low>"[^"]*"|[^,"]*),(?P<high>"[^"]*"|[^,"]*)(?P<end>[)\]])')  # of PostgreSQL's types
RANGE = "ppdm range"  # instead of a type: two columns that are the ends of an interval


def range_text(name: str) -> exp.Expr:
    """The two ends of a range, and its kind, as one text."""

    def said(end: str) -> exp.Expr:
        text = exp.cast(column(f"{name}_{end}"), "TEXT")
        return exp.Coalesce(this=text, expressions=[exp.Literal.string("")])

    ends = exp.DPipe(this=exp.DPipe(this=said("from"), expression=exp.Literal.string("|")), expression=said("to"))
    return exp.DPipe(this=exp.DPipe(this=ends, expression=exp.Literal.string("|")), expression=said("kind"))


class Span(NamedTuple):
    """An interval: where it starts and where it ends; a single value has one place.

    typed: the ends are values of the column's type, which a border between two of these is not.
    """

    start: Fraction | float
    end: Fraction | float
    typed: bool = False


def read_span(text: str, info: ColumnInfo, item: Mapping[str, Any]) -> Span | str:
    """The interval that a text stands for; a text of stars stands for none."""
    read = nanoseconds if item["intervals"] == "moments" else lambda number: Fraction(Decimal(number))
    if info.declared == RANGE:
        low, high, kind = text.split("|")
        if kind == "suppressed":
            return kind
        start = read(low) if low else -math.inf
        if kind == "exact":
            return Span(start, start, True)
        return Span(start, read(high) if high else math.inf, True)
    if not text.strip("*"):
        return text
    found = _INTERVAL.fullmatch(text)
    if found is not None:
        return Span(read(found["low"]), read(found["high"]))
    found = _NATIVE.fullmatch(text)
    if found is not None:
        low, high = (found[side].strip('"') for side in ("low", "high"))
        if not low and not high:
            return "suppressed"
        return Span(read(low) if low else -math.inf, read(high) if high else math.inf, True)
    if text.startswith("< "):
        return Span(-math.inf, read(text[2:]))
    if text.startswith(">= "):
        return Span(read(text[3:]), math.inf)
    return Span(read(text), read(text))


def nanoseconds(text: str) -> Fraction:
    """Since the first day there is; one without an offset is in UTC.

    >>> int(nanoseconds("2024-03-01") - nanoseconds("2024-02-29 23:59:59.5"))
    500000000
    >>> int(nanoseconds("2024-03-01 02:30:00+02:30") - nanoseconds("2024-03-01 00:00:00.000000007"))
    -7
    """
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise PolicyError("a date or time has a form that cannot be read")  # the text is data: not told
    year, month, day, hour, minute, second = (int(part or 0) for part in found.group(1, 2, 3, 4, 5, 6))
    days = date(year, month, day).toordinal()
    seconds = ((days * 24 + hour) * 60 + minute) * 60 + second
    away = int(found.group(9) or 0) * 3600 + int(found.group(10) or 0) * 60
    seconds -= -away if found.group(8) == "-" else away
    return Fraction(seconds * 10**9 + int((found.group(7) or "").ljust(9, "0")))
