"""Hierarchies by rule: intervals of growing width, and text cut to fewer and fewer characters.

A ladder is written out for the values that are present, one line per value like a hierarchy file, and
then checked and built like one.  Only the rule decides where an interval starts and ends, so a label
never reveals the smallest or largest value of the column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from math import isfinite, lcm

import numpy as np

from ppdm_sql.engines.base import Kind
from ppdm_sql.policy.policy import IntervalLadder, PrefixLadder
from ppdm_sql.requirements import decimal
from ppdm_sql.source.hierarchy_check import MOST_LEVELS, ROOT, Finding, UnreadableError, plural
from ppdm_sql.source.leaves import leaf_text

_DAY = 24 * 60 * 60  # seconds
_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_CUTTABLE = (Kind.TEXT, Kind.INTEGER, Kind.DATE, Kind.TIMESTAMP, Kind.UUID)


def _refuse_any(findings: Iterable[Finding]) -> None:
    found = [*findings]
    if found:
        raise UnreadableError(*found)


# -- intervals -----------------------------------------------------------------------------------------


def _interval_findings(ladder: IntervalLadder, kind: Kind, values: Sequence[object]) -> Iterator[Finding]:
    """What is wrong with the rule, or with values it cannot place."""
    if not kind.is_ordered:
        yield Finding(f"INTERVALS needs numbers, dates or timestamps; the column is {kind.value}")
        return
    yield from _width_findings(ladder.widths)
    unit, step = _grain(kind)
    if step is not None and any((number / step).denominator != 1 for number in (*ladder.widths, ladder.anchor)):
        yield Finding(f"the widths and the start of INTERVALS over a {kind.value} are days: give whole {unit}")
    lost = [leaf_text(value) for value in values if not _has_place(value)]
    if lost:
        where = "without an interval (infinite, not a number, or before year 1)"
        yield Finding(f"{plural(len(lost), 'distinct value')} {where}", tuple(lost))


def _width_findings(widths: Sequence[Fraction]) -> Iterator[Finding]:
    if not 1 <= len(widths) < MOST_LEVELS:
        yield Finding(f"INTERVALS needs 1 to {MOST_LEVELS - 1} widths, got {len(widths)}")
    if any(width <= 0 for width in widths):
        yield Finding("a width of INTERVALS must be greater than 0")
        return
    for low, high in pairwise(widths):
        if (high / low).denominator != 1 or high == low:  # else an interval would lie in two of the next level
            yield Finding(f"width {decimal(high)} of INTERVALS is not a multiple of {decimal(low)} before it")


def _grain(kind: Kind) -> tuple[str, Fraction | None]:
    """The finest step, in days, at which an interval of this kind can start."""
    if kind is Kind.DATE:
        return "days", Fraction(1)
    if kind is Kind.TIMESTAMP:
        return "seconds (1/86400)", Fraction(1, _DAY)
    return "", None


def interval_rows(ladder: IntervalLadder, kind: Kind, values: Sequence[object]) -> list[list[str]]:
    """One line per value: its text, the interval of each width it lies in, the root.

    >>> interval_rows(IntervalLadder((Fraction(5), Fraction(10))), Kind.INTEGER, [17, -1])
    [['17', '[15, 20)', '[10, 20)', '*'], ['-1', '[-5, 0)', '[-10, 0)', '*']]
    """
    _refuse_any(_interval_findings(ladder, kind, values))
    denominator = lcm(ladder.anchor.denominator, *(width.denominator for width in ladder.widths))
    anchor = int(ladder.anchor * denominator)
    widths = [int(width * denominator) for width in ladder.widths]
    zone = "+00" if any(isinstance(value, datetime) and value.tzinfo is not None for value in values[:1]) else ""
    write = [_label_writer(ladder.anchor, width, kind, zone) for width in ladder.widths]
    known: dict[tuple[int, int], str] = {}
    rows = []
    for value in values:
        number = _number(value)
        top, bottom = number.numerator * denominator - anchor * number.denominator, number.denominator
        row = [leaf_text(value)]
        for level, width in enumerate(widths):
            place = top // (width * bottom)  # whole numbers all through: exact, and floor for negatives too
            if (level, place) not in known:
                known[level, place] = write[level](place)
            row.append(known[level, place])
        rows.append([*row, ROOT])
    return rows


def _number(value: object) -> Fraction:
    """A value on the number line; moments in days since 1970-01-01.

    A float counts as the decimal number it is printed as: 0.3 lies in [0.3, 0.4), although the
    nearest double is a little smaller, because the reader sees 0.3.
    """
    match value:
        case datetime():
            plain = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
            return Fraction((plain - _EPOCH) // _MICROSECOND, _DAY * 1_000_000)
        case date():
            return Fraction(value.toordinal() - _EPOCH.toordinal())
        case float():
            return Fraction(repr(value))
        case int() | Decimal():
            return Fraction(value)
    raise TypeError(f"a {type(value).__name__} has no place on a number line")


def _has_place(value: object) -> bool:
    if isinstance(value, float | Decimal):
        return isfinite(value)
    return isinstance(value, int | date)  # a driver hands over a date before year 1 as text


def _label_writer(anchor: Fraction, width: Fraction, kind: Kind, zone: str) -> Callable[[int], str]:
    """Boundaries are written like the values of the column: those of a timestamp with the time of the day."""

    def end(at: Fraction) -> str:
        match kind:
            case Kind.DATE:
                return _day_text(at)
            case Kind.TIMESTAMP:
                return _second_text(at) + zone
        return decimal(at)

    return lambda place: f"[{end(anchor + place * width)}, {end(anchor + (place + 1) * width)})"


def _day_text(days: Fraction) -> str:
    # numpy, because an interval around 9999-12-31 ends in a year that date cannot hold
    return str(np.datetime64(int(days), "D"))


def _second_text(days: Fraction) -> str:
    return str(np.datetime64(int(days * _DAY), "s")).replace("T", " ")


# -- prefixes ------------------------------------------------------------------------------------------


def _prefix_findings(ladder: PrefixLadder, kind: Kind) -> Iterator[Finding]:
    if kind not in _CUTTABLE:
        yield Finding(f"PREFIX cuts text, whole numbers, dates and timestamps; the column is {kind.value}")
    if not 1 <= len(ladder.lengths) < MOST_LEVELS:
        yield Finding(f"PREFIX needs 1 to {MOST_LEVELS - 1} lengths, got {len(ladder.lengths)}")
    if any(length < 1 for length in ladder.lengths):
        yield Finding("a length of PREFIX must be at least 1; the root below that is added by itself")
    if any(low >= high for high, low in pairwise(ladder.lengths)):
        yield Finding("the lengths of PREFIX must be in descending order")


def prefix_rows(ladder: PrefixLadder, kind: Kind, values: Sequence[object]) -> list[list[str]]:
    """One line per value: its text, cut to each length, the root.

    Where all values are of one length, a star stands for each character that was cut.  Otherwise a
    single star ends every cut label, for the number of stars would tell the length of the value.

    >>> prefix_rows(PrefixLadder((3, 2)), Kind.TEXT, ["84112"])
    [['84112', '841**', '84***', '*']]
    >>> prefix_rows(PrefixLadder((3, 2)), Kind.TEXT, ["84112", "84112-07", "84"])
    [['84112', '841*', '84*', '*'], ['84112-07', '841*', '84*', '*'], ['84', '84', '84', '*']]
    """
    _refuse_any(_prefix_findings(ladder, kind))
    texts = [leaf_text(value) for value in values]
    sizes = {len(text) for text in texts}
    even = sizes.pop() if len(sizes) == 1 else None

    def cut(text: str, length: int) -> str:
        if len(text) <= length:
            return text
        return text[:length] + "*" * (1 if even is None else even - length)

    return [[text, *(cut(text, length) for length in ladder.lengths), ROOT] for text in texts]
