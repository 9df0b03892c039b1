"""Numbers that were moved and are still numbers: what they stand for, and how far they went.

A method that moves numbers keeps their order, so the k-th smallest released one was made from the k-th smallest of the
source.  Where rows were dropped the two are matched by their share of the rows.  Everything is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise

from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.source.leaves import leaf_text
from ppdm_sql.trees.comparing import read_moment

_MOMENTS = (Kind.DATE, Kind.TIMESTAMP)


@dataclass(frozen=True)
class Displacement:
    """open_share: the mean share of values a released number leaves open; moved: mean distance over the range."""

    open_share: Fraction
    moved: Fraction


def displacement_of(info: ColumnInfo, held: Mapping[object, int], shown: Mapping[object, int]) -> Displacement:
    """Of a column's values and rows before and after; NULL, NaN and infinities have no place and are left out.

    >>> age = ColumnInfo("age", Kind.INTEGER, "INTEGER")
    >>> displacement_of(age, {10: 1, 20: 1, 30: 1, 40: 1}, {15: 2, 35: 2})
    Displacement(open_share=Fraction(1, 3), moved=Fraction(1, 6))
    """
    before, after = _line(info, held), _line(info, shown)
    rows, released = sum(count for _, count in before), sum(count for _, count in after)
    if not rows or not released:
        return Displacement(Fraction(0), Fraction(0))
    return Displacement(_open_share(before, after, rows, released), _distance(before, after, rows, released))


def _line(info: ColumnInfo, counted: Mapping[object, int]) -> list[tuple[Fraction, int]]:
    placed = ((_place(info, value), rows) for value, rows in counted.items() if value is not None)
    return sorted((place, rows) for place, rows in placed if place is not None)


def _place(info: ColumnInfo, value: object) -> Fraction | None:
    if info.kind in _MOMENTS:
        moment = read_moment(str(value))
        return None if moment is None or abs(moment[0]) >= 10**18 else moment[0] + Fraction(moment[1], 10**9)
    try:
        return Fraction(leaf_text(value))
    except ValueError:  # nan, inf
        return None


def _open_share(
    before: list[tuple[Fraction, int]], after: list[tuple[Fraction, int]], rows: int, released: int
) -> Fraction:
    """Per released value the values of the source whose rows lie at the same ranks."""
    ends = list(accumulate((count for _, count in before), initial=0))
    lost, first, done = 0, 0, 0
    for _, count in after:
        start, stop = done * rows, (done + count) * rows  # ranks in units of 1 / released
        while ends[first + 1] * released <= start:
            first += 1
        last = first
        while ends[last + 1] * released < stop:
            last += 1
        lost += (last - first) * count
        done += count
    return Fraction(lost, max(len(before) - 1, 1) * released)


def _distance(
    before: list[tuple[Fraction, int]], after: list[tuple[Fraction, int]], rows: int, released: int
) -> Fraction:
    """The area between the two cumulated shares, which is the mean distance where order is kept; over the range."""
    steps: dict[Fraction, Fraction] = {}
    for place, count in before:
        steps[place] = steps.get(place, Fraction(0)) + Fraction(count, rows)
    for place, count in after:
        steps[place] = steps.get(place, Fraction(0)) - Fraction(count, released)
    places = sorted(steps)
    heights = accumulate(steps[place] for place in places)
    area = sum(
        (abs(height) * (high - low) for height, (low, high) in zip(heights, pairwise(places), strict=False)),
        Fraction(0),
    )
    width = before[-1][0] - before[0][0]
    return area / width if width else Fraction(0)
