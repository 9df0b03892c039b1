"""Exact number lines: where a range of numbers or moments is cut, and how the boundary is written.

A boundary lies between two neighbouring values and is the roundest number there, so it is a multiple of
10 or a first of January rather than one person's value.  Which number that is depends on the gap alone, not
on who fell where.  All arithmetic is on integers: a DECIMAL is counted in units of its last digit, a float
as the decimal number it is printed as, a moment in days, microseconds or nanoseconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.errors import EngineError

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Ticks = NDArray[Any]  # int64, or Python's integers where 64 bits are too few
Above = Callable[[Ticks], Ticks]  # the least boundary of one coarseness above each tick

_SAFE = 10**16  # below this, every product of a tick and a ladder's step fits into 64 bits
_DAY = {"D": 1, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}
_SHORT_FLOATS = {"FLOAT", "REAL", "FLOAT4"}  # 32 bits, in the engines' own words
_MOMENT = re.compile(
    r"([+-]?\d+)-(\d\d)-(\d\d)"
    r"(?:[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?)?"
    r"(?:([+-])(\d\d)(?::?(\d\d))?(?::?(\d\d))?|Z)?( \(?BC\)?)?"
)


@dataclass(frozen=True, repr=False)
class Line:
    """The values of a column as integers in rising order, one per code, and the boundaries between them."""

    ticks: Ticks
    ladder: tuple[Above, ...]  # from the roundest boundaries to the plainest; the last one always fits
    write: Callable[[int], str]
    grain: int = 1  # how much finer boundaries may be than values: whole numbers and moments stay such

    def cuts(self, before: Ints, after: Ints) -> Ints:
        """Per gap between two codes, the code at which the roundest boundary of the gap lies."""
        low, high = self.ticks[before] * self.grain, self.ticks[after] * self.grain
        return _first_at(self.ticks * self.grain, roundest(low, high, self.ladder))

    def boundaries(self, codes: Ints, rare: Flags) -> list[str]:
        """The boundary between each code and the one before it, in words.

        rare: the code's own value is held by few, and the boundary avoids it where there is another
        number in the gap.
        """
        low, high = self.ticks[codes - 1] * self.grain, self.ticks[codes] * self.grain
        high = np.where(rare & (high - low > 1).astype(bool), high - 1, high)
        return [self.write(int(tick)) for tick in roundest(low, high, self.ladder)]


def roundest(low: Ticks, high: Ticks, ladder: Sequence[Above]) -> Ticks:
    """Per gap, the roundest number x with low < x <= high; of equally round ones the least.

    Because the choice is by a fixed order of all numbers, a gap inside another one that holds the other's
    choice makes the same choice: the boundary of a part is the boundary between two codes, whatever rows are in it.
    """
    found, still = high.copy(), np.ones(len(low), dtype=bool)
    for above in ladder:
        if not still.any():
            break
        place = np.flatnonzero(still)
        least = above(low[place])
        fits = ((least > low[place]) & (least <= high[place])).astype(bool)
        found[place[fits]] = least[fits]
        still[place[fits]] = False
    return found


def _first_at(ticks: Ticks, wanted: Ticks) -> Ints:
    return np.searchsorted(ticks, wanted, side="left").astype(np.int64)


# -- lines of numbers ------------------------------------------------------------------------------------


def number_line(values: Sequence[object], info: ColumnInfo) -> Line:
    """Numbers in rising order, without NaN; the least and the greatest may be infinite.

    >>> line = number_line([17, 23, 38, 41, 90], ColumnInfo("age", Kind.INTEGER, "INTEGER"))
    >>> line.boundaries(np.array([1, 2, 3, 4]), np.zeros(4, bool))
    ['20', '30', '40', '50']
    >>> line.cuts(np.array([0]), np.array([4]))  # 50 is rounder than 20, 30 and 40
    array([4])
    """
    exact = [exact_number(value, info) for value in values]
    places = max((_places(number) for number in exact if number.is_finite()), default=0)
    grain = 1 if info.kind is Kind.INTEGER else 10
    ticks = [_scale(number, places) if number.is_finite() else None for number in exact]
    digits = len(str(max((abs(tick) for tick in ticks if tick is not None), default=0)))
    beyond = 10**digits  # stands for infinity: it is further than every number
    whole = [tick if tick is not None else (beyond if exact[i] > 0 else -beyond) for i, tick in enumerate(ticks)]
    steps = [base * 10**power for power in range(digits + 2, -1, -1) for base in (5, 2, 1)]
    line = _array(whole, 10**digits * grain)
    return Line(_rising(line, info), tuple(map(_multiples, steps)), _number_writer(places + (grain > 1)), grain)


def exact_number(value: object, info: ColumnInfo) -> Decimal:
    """A value of a numeric column as the decimal number that it is printed as."""
    if isinstance(value, float):
        short = info.declared.upper() in _SHORT_FLOATS
        return Decimal(str(np.float32(value))) if short else Decimal(repr(value))
    return Decimal(value) if isinstance(value, int | Decimal) else Decimal(str(value))


def _scale(number: Decimal, places: int) -> int:
    """The number times 10**places, exactly: Decimal's own arithmetic rounds to 28 digits, and a HUGEINT has 39.

    >>> _scale(Decimal("-170141183460469231731687303715884105727.5"), 1)
    -1701411834604692317316873037158841057275
    """
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    whole = int("".join(map(str, digits))) * int(10 ** (exponent + places))
    return -whole if sign else whole


def _places(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _array(ticks: Sequence[int], largest: int) -> Ticks:
    return np.array(ticks, dtype=np.int64 if largest < _SAFE else object)


def _rising(ticks: Ticks, info: ColumnInfo) -> Ticks:
    if not (ticks[1:] > ticks[:-1]).astype(bool).all():
        raise EngineError(f'column "{info.name}": its {info.declared} values do not come in the order of numbers')
    return ticks


def _multiples(step: int) -> Above:
    return lambda low: (low // step + 1) * step


def _number_writer(places: int) -> Callable[[int], str]:
    def write(tick: int) -> str:
        text = str(abs(tick))
        digits = text.rstrip("0") or "0"
        exponent = len(text) - len(digits) - places if tick else 0
        number = Decimal((int(tick < 0), tuple(map(int, digits)), exponent))  # exact: no context rounds it
        return format(number, "f") if -20 < exponent < 40 else str(number)

    return write


# -- lines of moments ------------------------------------------------------------------------------------


def moment_line(texts: Sequence[str], info: ColumnInfo) -> Line:
    """Dates or timestamps in rising order, as the engine writes them.

    >>> line = moment_line(["1987-05-30", "2003-02-01", "2003-02-27"], ColumnInfo("born", Kind.DATE, "DATE"))
    >>> line.boundaries(np.array([1, 2]), np.zeros(2, bool))
    ['2000-01-01', '2003-02-11']
    """
    parsed = [read_moment_text(text) for text in texts]
    fine = any(fraction % 1000 for moment in parsed if moment is not None for fraction in [moment[1]])
    unit = "D" if info.kind is Kind.DATE else "ns" if fine else "us"
    ticks: list[int | None] = [None if moment is None else _tick(moment, unit) for moment in parsed]
    known = [tick for tick in ticks if tick is not None]
    beyond = 3_660 * _DAY[unit]  # ten years on: stands for infinity
    first, last = (known[0], known[-1]) if known else (0, 0)
    whole = [
        tick if tick is not None else (first - beyond if text.startswith("-") else last + beyond)
        for tick, text in zip(ticks, texts, strict=True)
    ]
    finite = map(_MOMENT.fullmatch, texts[:2])  # two, because the first can be -infinity, which has no zone
    zone = "+00" if any(match and match.group(8) for match in finite) else ""
    ladder = (*_calendar(unit), *_clock(unit))
    return Line(_rising(np.array(whole, dtype=np.int64), info), ladder, _moment_writer(unit, zone))


def moment_text(text: str) -> str:
    """A moment as it is printed when it stands alone: as the engine wrote it, but in UTC.

    >>> moment_text("2024-03-01 01:30:00.25+02"), moment_text("2024-03-01 01:30:00")
    ('2024-02-29 23:30:00.25+00', '2024-03-01 01:30:00')
    """
    found = _MOMENT.fullmatch(text)
    moment = read_moment_text(text) if found is not None and found.group(8) else None
    if moment is None:
        return text
    whole = str(np.array(moment[0]).astype("M8[s]")).replace("T", " ")
    fraction = f".{moment[1]:09d}".rstrip("0").rstrip(".")
    return f"{whole}{fraction}+00"


def read_moment_text(text: str) -> tuple[int, int] | None:
    """Seconds since 1970 and nanoseconds, in UTC; None for an infinite moment."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        if text.lstrip("+-").lower() in ("infinity", "inf"):
            return None
        raise EngineError("a date or time has a form that cannot be read")  # the text is data: not told
    year, month, day, hour, minute, second = (int(part or 0) for part in found.group(1, 2, 3, 4, 5, 6))
    if found.group(12):
        year = 1 - year
    months = np.datetime64((year - 1970) * 12 + month - 1, "M")
    days = int(months.astype("M8[D]").astype(np.int64)) + day - 1
    shift = sum(int(part or 0) * size for part, size in zip(found.group(9, 10, 11), (3600, 60, 1), strict=True))
    seconds = days * 86_400 + hour * 3600 + minute * 60 + second - (-shift if found.group(8) == "-" else shift)
    return seconds, int((found.group(7) or "").ljust(9, "0"))


def _tick(moment: tuple[int, int], unit: str) -> int:
    seconds, nanos = moment
    if unit == "D":
        return seconds // 86_400
    return seconds * 10**6 + nanos // 1000 if unit == "us" else seconds * 10**9 + nanos


def _calendar(unit: str) -> list[Above]:
    """First days of round years, then of quarters, months, thirds and sixths of a month; then days."""
    years = [_every(unit, "Y", step, 1970) for step in (1000, 500, 200, 100, 50, 20, 10, 5, 2, 1)]
    months = [_every(unit, "M", step, 0) for step in (6, 3, 1)]
    return [*years, *months, _month_part(unit, 10), _month_part(unit, 5), _multiples(_DAY[unit])]


def _every(unit: str, period: str, step: int, origin: int) -> Above:
    def above(low: Ticks) -> Ticks:
        number = low.astype(f"M8[{unit}]").astype(f"M8[{period}]").astype(np.int64) + origin
        following = (number // step + 1) * step - origin
        ticks: Ticks = following.astype(f"M8[{period}]").astype(f"M8[{unit}]").astype(np.int64)
        return ticks

    return above


def _month_part(unit: str, days: int) -> Above:
    def above(low: Ticks) -> Ticks:
        moment = low.astype(f"M8[{unit}]")
        month = moment.astype("M8[M]")
        passed = (moment.astype("M8[D]") - month.astype("M8[D]")).astype(np.int64)
        following = (passed // days + 1) * days
        inside = month.astype("M8[D]") + following
        ends = (month + 1).astype("M8[D]")
        # the last part of a month takes the odd days: no boundary on the 31st
        ticks: Ticks = np.where(following > 30 - days, ends, inside).astype(f"M8[{unit}]").astype(np.int64)
        return ticks

    return above


def _clock(unit: str) -> list[Above]:
    if unit == "D":
        return []
    second = _DAY[unit] // 86_400
    parts = [h * 3600 for h in (12, 6, 3, 1)] + [m * 60 for m in (30, 15, 5, 1)] + [30, 15, 5, 1]
    digits = len(str(second)) - 1
    below = [base * 10**power for power in range(digits - 1, -1, -1) for base in (5, 2, 1)]
    return [_multiples(part * second) for part in parts] + [_multiples(part) for part in below]


def _moment_writer(unit: str, zone: str) -> Callable[[int], str]:
    def write(tick: int) -> str:
        text = str(np.array(tick).astype(f"M8[{unit}]")).replace("T", " ")
        return text.rstrip("0").rstrip(".") + zone if "." in text else text + zone

    return write
