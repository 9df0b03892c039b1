"""What a published cell may stand for: a label read back against the values of the column it was made from.

    30              the value itself                    {a, b}       one of these
    < 30  [30, 45)  [30, 45]  >= 65   an interval        {a .. k}     one from a to k, in the order of the bytes
    2024-Q1  2020s                    the dates in it
    a label of the hierarchy, alone   its leaves         {a, ...}     one of these, or one that is never named
    or in a list
    ** stars, unless that is a value  any of all values  {a, NULL}    one of these, or none
    (known)  (missing)                any but NULL; NULL  {other}     any but NULL

Read from the text alone, so that every method's release is measured by the same rule.  Only distinct values and labels
come to Python, never rows.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.source.calendar import period_ends
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.leaves import leaf_text
from ppdm_sql.source.lines import moment_text
from ppdm_sql.trees.comparing import read_moment

MOMENTS = (Kind.DATE, Kind.TIMESTAMP)
_SHORT_FLOATS = {"FLOAT", "REAL", "FLOAT4"}  # 32 bits, in the engines' own words
_INTERVAL = re.compile(r"\[(?P<low>.+), (?P<high>.+)(?P<end>[)\]])")
_STARS = re.compile(r"\*+")
_MISSING, _KNOWN = re.compile(r"(\(+)missing(\)+)"), re.compile(r"(\(+)known(\)+)")
_NUMBERED = re.compile(r"(?<=\}) #\d+$")  # a second group of the same text
_BREAK = re.compile(r"\\.|, ", re.DOTALL)  # an escaped sign, or the end of a member


@dataclass(frozen=True)
class Coverage:
    """The values a label may stand for, by their places; null: NULL too; hidden: those that are never named too."""

    places: frozenset[int] | range = frozenset()
    null: bool = False
    hidden: bool = False
    suppressed: bool = False  # it says nothing at all


@dataclass(frozen=True, repr=False)
class Values:
    """The distinct values of a column but NULL, in order; has_null: some rows have none."""

    info: ColumnInfo
    texts: tuple[str, ...]
    has_null: bool
    hierarchy: Hierarchy | None = None
    declared: bool = False  # the texts stand in the order that the policy declares

    @classmethod
    def of(
        cls,
        info: ColumnInfo,
        values: Iterable[object],
        *,
        has_null: bool,
        hierarchy: Hierarchy | None = None,
        order: Sequence[str] = (),
    ) -> Values:
        """From the values as the engine hands them over; moments as text."""
        texts = list(dict.fromkeys(label_of(value, info) for value in values))  # 0.0 and -0.0 are one
        if hierarchy is not None:
            known = [text for text in hierarchy.order if text in set(texts)]
            return cls(info, (*known, *sorted(set(texts) - set(known))), has_null, hierarchy.only(known))
        if info.kind.is_ordered:
            return cls(info, tuple(sorted(texts, key=lambda text: place_of(text, info))), has_null)
        if order:
            return cls(info, tuple(sorted(texts, key=list(order).index)), has_null, declared=True)
        return cls(info, tuple(sorted(texts)), has_null)

    @property
    def distinct(self) -> int:
        """How many values there are; NULL is one."""
        return len(self.texts) + self.has_null

    @cached_property
    def _place(self) -> Mapping[str, int]:
        return {text: place for place, text in enumerate(self.texts)}

    @cached_property
    def _line(self) -> list[tuple[int, Any]]:
        return [place_of(text, self.info) for text in self.texts]

    @cached_property
    def _nodes(self) -> Mapping[str, range]:
        """Labels of the hierarchy and their leaves; a label of several levels has the leaves of the lowest."""
        found: dict[str, range] = {}
        for nodes in self.hierarchy.levels if self.hierarchy else ():
            for node in nodes:
                found.setdefault(node.label, range(node.start, node.stop))
        return found

    @cached_property
    def _braces(self) -> int:
        """The most that a list has around it: one more than any value starts with."""
        return 1 + max((len(text) - len(text.lstrip("{")) for text in self.texts), default=0)

    # -- reading -----------------------------------------------------------------------------------

    def read_label(self, label: str) -> Coverage | None:
        """What a label may stand for; None when it cannot be read."""
        if label in self._place:
            return Coverage(frozenset([self._place[label]]))
        if _STARS.fullmatch(label):
            return Coverage(range(len(self.texts)), self.has_null, suppressed=True)
        if label in self._nodes:
            return Coverage(self._nodes[label])
        if _MISSING.fullmatch(label):
            return Coverage(null=True)
        if _KNOWN.fullmatch(label):
            return Coverage(range(len(self.texts)))
        if self.info.kind.is_ordered:
            return self._interval(label)
        return self._list(_NUMBERED.sub("", label))

    def _interval(self, label: str) -> Coverage | None:
        low: str | None = None
        high: str | None = None
        closed = False
        found = _INTERVAL.fullmatch(label)
        if found is not None:
            low, high, closed = found["low"], found["high"], found["end"] == "]"
        elif label.startswith("< "):
            high = label.removeprefix("< ")
        elif label.startswith(">= "):
            low = label.removeprefix(">= ")
        else:
            return self._period(label)
        try:
            start = 0 if low is None else bisect_left(self._line, place_of(low, self.info))
            side = bisect_right if closed else bisect_left
            stop = self._numbers if high is None else side(self._line, place_of(high, self.info))
        except ValueError:
            return None
        return Coverage(range(start, max(start, stop)))

    def _period(self, label: str) -> Coverage | None:
        """A period of the calendar: dates can have them without a hierarchy."""
        ends = period_ends(label) if self.info.kind in MOMENTS else None
        if ends is None:
            return None
        start, stop = (bisect_left(self._line, place_of(str(day), self.info)) for day in ends)
        return Coverage(range(start, stop))

    @cached_property
    def _numbers(self) -> int:
        """How many values are on the line: NaN lies behind it."""
        return bisect_left(self._line, _NAN)

    def _list(self, label: str) -> Coverage | None:
        braces = len(label) - len(label.lstrip("{"))
        if not 0 < braces <= self._braces or not label.endswith("}" * braces):
            return None
        if label[braces:-braces] == "other" and "other" not in self._place:
            return Coverage(range(len(self.texts)))
        places: set[int] = set()
        null = hidden = False
        for piece in _pieces(label[braces:-braces]):
            if piece == "...":
                hidden = True
            elif piece == "NULL" and piece not in self._place:
                null = True
            elif " .. " in piece:
                places.update(self._between(*map(_plain, piece.split(" .. ", 1))))
            elif _plain(piece) in self._place:
                places.add(self._place[_plain(piece)])
            elif _plain(piece) in self._nodes:
                places.update(self._nodes[_plain(piece)])
            else:
                return None
        return Coverage(frozenset(places), null, hidden)

    def _between(self, first: str, last: str) -> range:
        """The values from one to another, in the order that was declared, or else in that of the bytes."""
        if self.declared:
            return range(self._place.get(first, 0), self._place.get(last, -1) + 1)
        return range(bisect_left(self.texts, first), bisect_right(self.texts, last))


def _pieces(inside: str) -> list[str]:
    r"""The members of a list; a comma with a backslash before it belongs to a value.

    >>> _pieces(r", a, b\, c, ...")
    ['', 'a', 'b\\, c', '...']
    """
    pieces, start = [], 0
    for found in _BREAK.finditer(inside):
        if found.group() == ", ":
            pieces.append(inside[start : found.start()])
            start = found.end()
    return [*pieces, inside[start:]]


def _plain(text: str) -> str:
    r"""A member without its escapes.

    >>> _plain(r"Smith\, \{J\}"), _plain(r"\...")
    ('Smith, {J}', '...')
    """
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)


# -- places on a line --------------------------------------------------------------------------------------

_BEFORE, _AFTER, _NAN = (-1, 0), (1, 0), (2, 0)  # of infinities and of NaN, which is the greatest


def place_of(text: str, info: ColumnInfo) -> tuple[int, Any]:
    """Where a number or a moment lies among all others; ValueError when the text is neither.

    >>> age = ColumnInfo("age", Kind.INTEGER, "INTEGER")
    >>> place_of("30", age) < place_of("30.5", age) < place_of("inf", age) < place_of("nan", age)
    True
    """
    if info.kind in MOMENTS:
        moment = read_moment(text)
        if moment is None:
            raise ValueError("not a date or time")
        return 0, moment
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise ValueError("not a number") from None
    if number.is_nan():
        return _NAN
    if not number.is_finite():
        return _AFTER if number > 0 else _BEFORE
    whole = number.to_integral_value()
    return 0, int(whole) if whole == number else Fraction(number)  # whole numbers are compared much faster


def label_of(value: object, info: ColumnInfo) -> str:
    """A value as a release prints it when it stands alone."""
    if info.kind in MOMENTS:
        return moment_text(str(value))
    if isinstance(value, float) and info.declared.upper() in _SHORT_FLOATS:
        return leaf_text(float(str(np.float32(value))))
    return leaf_text(value)


def loss_of_cell(covered: Coverage | None, values: Values, hidden: int) -> Fraction:
    """The share of the column's values that a cell leaves open: 0 for the value itself, 1 for nothing said.

    hidden: how many values no label names.  A label that cannot be read says nothing.
    """
    if covered is None or covered.suppressed:
        return Fraction(1)
    many = len(covered.places) + (covered.null and values.has_null) + (hidden if covered.hidden else 0)
    return Fraction(max(many - 1, 0), max(values.distinct - 1, 1))


def never_named(labels: Sequence[Coverage | None], values: Values) -> int:
    """How many values no label names: those that `...` stands for.

    A value that is only ever suppressed is counted too, although the one who wrote `...` knows better.
    """
    read = [covered for covered in labels if covered is not None and not covered.suppressed]
    if not any(covered.hidden for covered in read):
        return 0
    named = np.zeros(len(values.texts), dtype=bool)
    for covered in read:
        named[index_of(covered.places)] = True
    return int((~named).sum())


def index_of(places: frozenset[int] | range) -> Any:
    """The places of an array; of a range without writing all of them down."""
    return slice(places.start, places.stop) if isinstance(places, range) else list(places)
