"""The values that a type can hold, as steps on a line: which one comes first at or after a number, and which next.

A boundary of a release can lie between two values of its column: 30.5 between whole numbers, 0.125 between hundredths.
The range from there on starts with the first value that the type has, which says the same about every value.
Steps are whole numbers (units of the last digit, days, microseconds); of floats they are the floats themselves.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import numpy as np

from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.errors import EngineError
from ppdm_sql.source.lines import read_moment_text

Step = Any  # an int, or a float of a column of floats

_SHORT_FLOATS = {"FLOAT", "REAL", "FLOAT4"}  # 32 bits, in the engines' own words
_SIGNED = {
    8: "TINYINT INT1 BYTE",
    16: "SMALLINT INT2 SHORT",
    32: "INTEGER INT INT4 SIGNED",
    64: "BIGINT INT8 LONG",
    128: "HUGEINT INT128",
}
_BITS = {word: bits for bits, words in _SIGNED.items() for word in words.split()}
_UNSIGNED = {"UTINYINT": 8, "USMALLINT": 16, "UINTEGER": 32, "UBIGINT": 64, "UHUGEINT": 128}
_DECIMAL = re.compile(r"\w+ *\( *(\d+) *(?:, *(\d+) *)?\)")
_UNITS = {"S": 10**9, "MS": 10**6, "NS": 1}  # of DuckDB's TIMESTAMP_S and so on, in nanoseconds


class Grid(ABC):
    """The values of one type, in steps."""

    @abstractmethod
    def read(self, text: str) -> Fraction:
        """Where a text lies, in steps, exactly; ValueError for one that is no finite value of this line."""

    @abstractmethod
    def write(self, step: Step) -> str | None:
        """The value of a step as the type reads it; None for one that the type cannot hold."""

    def first_at(self, place: Fraction) -> Step:
        """The first value that is not below a place."""
        return math.ceil(place)

    def next(self, step: Step) -> Step:
        """The value after this one."""
        return step + 1

    def before(self, step: Step) -> Step:
        """The value before this one."""
        return step - 1

    def middle(self, low: Step, stop: Step) -> Step:
        """The middle between two values; of two that are equally near the higher one."""
        return (low + stop) // 2


@dataclass(frozen=True)
class Numbers(Grid):
    """Whole and decimal numbers: steps of 10 ** -places."""

    places: int = 0
    least: int | None = None  # in steps
    most: int | None = None

    def read(self, text: str) -> Fraction:
        return _number(text) * Fraction(10) ** self.places

    def write(self, step: Step) -> str | None:
        if (self.least is not None and step < self.least) or (self.most is not None and step > self.most):
            return None
        digits = f"{abs(step):0{self.places + 1}d}"
        whole, part = (digits[: -self.places], digits[-self.places :]) if self.places else (digits, "")
        return f"{'-' if step < 0 else ''}{whole}{f'.{part}' if part else ''}"


@dataclass(frozen=True)
class Floats(Grid):
    """Floating point numbers, each of which counts as the decimal number it is printed as."""

    short: bool = False

    def read(self, text: str) -> Fraction:
        return _number(text)

    def write(self, step: Step) -> str | None:
        return self._text(step) if math.isfinite(step) else None

    def first_at(self, place: Fraction) -> Step:
        found = self._float(float(place))
        while math.isfinite(found) and Fraction(self._text(found)) < place:
            found = self.next(found)
        return found

    def next(self, step: Step) -> Step:
        return self._towards(step, "inf")

    def before(self, step: Step) -> Step:
        return self._towards(step, "-inf")

    def _towards(self, step: Step, end: str) -> Step:
        kind = np.float32 if self.short else np.float64
        return float(np.nextafter(kind(step), kind(end)))

    def middle(self, low: Step, stop: Step) -> Step:
        return self._float(float((Fraction(self._text(low)) + Fraction(self._text(stop))) / 2))

    def _float(self, number: float) -> float:
        return float(np.float32(number)) if self.short else number

    def _text(self, step: float) -> str:
        return str(np.float32(step)) if self.short else repr(step)


@dataclass(frozen=True)
class Moments(Grid):
    """Dates and timestamps: steps of so many nanoseconds since 1970, in UTC."""

    unit: int
    is_date: bool = False
    zone: str = ""

    def read(self, text: str) -> Fraction:
        try:
            moment = read_moment_text(text)
        except EngineError:
            raise ValueError("no moment") from None
        if moment is None:
            raise ValueError("an infinite moment")
        seconds, nanoseconds = moment
        return Fraction(seconds * 10**9 + nanoseconds, self.unit)

    def write(self, step: Step) -> str | None:
        seconds, nanoseconds = divmod(int(step) * self.unit, 10**9)
        moment = np.datetime64(seconds, "s")
        if self.is_date:
            return str(moment.astype("M8[D]"))
        part = f".{nanoseconds:09d}".rstrip("0").rstrip(".")
        return f"{str(moment).replace('T', ' ')}{part}{self.zone}"


_DAY = 86_400 * 10**9


def grid_of(info: ColumnInfo, labels: tuple[str, ...] = ()) -> Grid:
    """The values of a column's type; labels: what says how fine numbers without a scale are."""
    declared = info.declared.upper()
    head = re.split(r"[ (]", declared)[0]
    if info.kind is Kind.INTEGER:
        if head in _UNSIGNED:
            return Numbers(0, 0, 2 ** _UNSIGNED[head] - 1)
        bits = _BITS.get(head)
        return Numbers(0, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if bits else Numbers()
    if info.kind is Kind.DECIMAL:
        found = _DECIMAL.match(declared)
        if found is None:
            return Numbers(max((_digits_behind(label) for label in labels), default=0))
        most = 10 ** int(found[1]) - 1
        return Numbers(int(found[2] or 0), -most, most)
    if info.kind is Kind.FLOAT:
        return Floats(head in _SHORT_FLOATS)
    if info.kind is Kind.DATE:
        return Moments(_DAY, is_date=True)
    zoned = "WITH TIME ZONE" in declared or head in ("TIMESTAMPTZ", "TIMESTAMP_LTZ")
    return Moments(_UNITS.get(head.partition("_")[2], 1000), zone="+00" if zoned else "")


def _digits_behind(text: str) -> int:
    """The most digits behind a point in a label.

    >>> _digits_behind("[0.25, 3)"), _digits_behind(">= 7")
    (2, 0)
    """
    return max((len(found) for found in re.findall(r"\.(\d+)", text)), default=0)


def _number(text: str) -> Fraction:
    try:
        found = Decimal(text)
    except InvalidOperation:
        raise ValueError("no number") from None
    if not found.is_finite():
        raise ValueError("not a finite number")
    return Fraction(found)
