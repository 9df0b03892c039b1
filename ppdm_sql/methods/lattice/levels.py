"""A quasi-identifier as a ladder of levels: what every value is called on each of them.

Level 0 has the values themselves, the highest level one label for all of them.  A column with a HIERARCHY has the
levels of the hierarchy.  Without one, numbers get intervals of 5, 10, 20, 100, ... (as its range asks for), dates and
timestamps their calendar, and everything else the two levels "value" and "everything".  NULL is a leaf of its own
below the highest level; so is a number that lies in no interval (NaN, infinity).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from functools import cached_property

import numpy as np

from ppdm_sql.cells.cells import CellColumn, Ints
from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.methods.base import CellJob
from ppdm_sql.methods.shared.columns import Axis, cell_axis
from ppdm_sql.methods.shared.labels import marker
from ppdm_sql.policy.policy import CalendarLadder, IntervalLadder, Tuning
from ppdm_sql.source.calendar import calendar_rows
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.ladders import interval_rows

_NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT)
_PERIODS = {Kind.DATE: ("month", "quarter", "year", "decade"), Kind.TIMESTAMP: ("day", "month", "year", "decade")}
_FINEST = 50  # intervals of the finest width that a column of numbers is divided into, at most


@dataclass(frozen=True, repr=False)
class ColumnLevel:
    """One level of a column: its labels, which of them every value has, and how many leaves each stands for."""

    number: int  # the level as the hierarchy counts it
    codes: Ints  # per value of the column (NULL last) the place of its label
    labels: tuple[str | None, ...]
    leaves: Ints  # per label


@dataclass(frozen=True, repr=False)
class LevelColumn:
    """The levels of a column that may be published, from the finest to the coarsest."""

    name: str
    levels: tuple[ColumnLevel, ...]
    leaves: int  # below the highest level, whether they occur or not
    height: int  # the highest level, whether it may be published or not
    everything: str  # its label
    weight: Fraction = Fraction(1)

    def __repr__(self) -> str:
        return f"LevelColumn({self.name!r}, {len(self.levels)} levels)"  # the labels are data

    def up(self, lower: int, upper: int) -> Ints:
        """From the labels of one place of `levels` to those of a coarser one."""
        if (lower, upper) not in self._maps:
            here, there = self.levels[lower], self.levels[upper]
            found = np.zeros(len(here.labels), dtype=np.int64)
            found[here.codes] = there.codes
            self._maps[lower, upper] = found
        return self._maps[lower, upper]

    @cached_property
    def _maps(self) -> dict[tuple[int, int], Ints]:
        return {}


def level_columns(job: CellJob) -> tuple[LevelColumn, ...]:
    """Every quasi-identifier with its levels, in the order of the policy."""
    own = {name: cell_axis(job.cells, name) for name in job.source.quasi if name not in job.hierarchies}
    everything = marker(list(own.values())) if own else ""
    found = []
    for name in job.source.quasi:
        column, tuning = job.cells[name], job.source.tunings.get(name, Tuning())
        if name in job.hierarchies:
            made = along_hierarchy(column, job.hierarchies[name])
        else:
            made = along_ladder(column, own[name], everything)
        found.append(_limited(made, tuning))
    return tuple(found)


def _limited(made: LevelColumn, tuning: Tuning) -> LevelColumn:
    """Without levels above AT MOST LEVEL, and without those that print what the level below prints."""
    most = made.height if tuning.most_level is None else tuning.most_level
    if most > made.height:
        raise PolicyError(
            f'AT MOST LEVEL {most} of column "{made.name}": its hierarchy has no such level, the highest one is '
            f"{made.height}"
        )
    kept: list[ColumnLevel] = []
    for level in made.levels:
        if level.number <= most and not (kept and kept[-1].labels == level.labels):
            kept.append(level)
    return replace(made, levels=tuple(kept), weight=tuning.weight)


# -- along a hierarchy -------------------------------------------------------------------------------------


def along_hierarchy(column: CellColumn, hierarchy: Hierarchy) -> LevelColumn:
    """The levels of a hierarchy, with the labels that occur."""
    positions = hierarchy.positions(column.values)
    has_null = column.null_code is not None
    leaves = len(hierarchy.order) + has_null
    levels = []
    for number in range(hierarchy.height + 1):
        present, codes = np.unique(hierarchy.codes(number)[positions], return_inverse=True)
        nodes = hierarchy.nodes(number)
        labels: list[str | None] = [nodes[place].label for place in present.tolist()]
        covered = [nodes[place].stop - nodes[place].start for place in present.tolist()]
        if number == hierarchy.height:
            # The root stands for NULL too, and is there where nothing else is.
            labels, covered = [nodes[0].label if nodes else "*"], [leaves]
            codes = np.zeros(column.size, dtype=np.int64)
        elif has_null:
            labels, covered, codes = [*labels, None], [*covered, 1], np.append(codes, len(labels))
        levels.append(ColumnLevel(number, codes.astype(np.int64), tuple(labels), np.array(covered, dtype=np.int64)))
    return LevelColumn(column.column.name, tuple(levels), leaves, hierarchy.height, str(levels[-1].labels[0]))


# -- the product's own -------------------------------------------------------------------------------------


def along_ladder(column: CellColumn, axis: Axis, everything: str) -> LevelColumn:
    """The levels of a column without a hierarchy."""
    rungs = [list(axis.texts), *_rungs(column, axis.texts)]
    has_null = column.null_code is not None
    levels = []
    for number, texts in enumerate(rungs):
        distinct = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        codes = np.array([distinct[text] for text in texts], dtype=np.int64)
        labels: list[str | None] = [*distinct]
        covered = np.bincount(codes, minlength=len(distinct)) if len(codes) else np.zeros(0, dtype=np.int64)
        if has_null:
            codes, labels, covered = np.append(codes, len(labels)), [*labels, None], np.append(covered, 1)
        levels.append(ColumnLevel(number, codes.astype(np.int64), tuple(labels), covered.astype(np.int64)))
    top = ColumnLevel(len(levels), np.zeros(column.size, dtype=np.int64), (everything,), np.array([column.size]))
    return LevelColumn(column.column.name, (*levels, top), column.size, top.number, everything)


def _rungs(column: CellColumn, texts: Sequence[str]) -> list[list[str]]:
    """Between the values and everything: per level the label of every value."""
    kind = column.column.kind
    if kind in _NUMBERS:
        return _number_rungs(kind, column.values, texts)
    if kind in _PERIODS:
        return _moment_rungs(kind, column.values, texts)
    return []


def _number_rungs(kind: Kind, values: Sequence[object], texts: Sequence[str]) -> list[list[str]]:
    placed = {code: value for code, value in enumerate(values) if np.isfinite(float(value))}  # type: ignore[arg-type]
    if not placed:
        return []
    numbers = [Fraction(str(value)) for value in placed.values()]
    widths = interval_widths(*usual_spans(sorted(numbers)), whole=kind is Kind.INTEGER)
    if not widths:
        return []
    return _labels_by_code(interval_rows(IntervalLadder(widths), kind, list(placed.values())), list(placed), texts)


def usual_spans(values: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    """How far distinct values, rising, would reach without outliers, by their middle nine tenths; and at most.

    >>> [int(span) for span in usual_spans([*range(101)])], [int(span) for span in usual_spans([*range(100), 99_999])]
    ([100, 100], [100, 180])
    """
    outer = (len(values) - 1) // 20
    middle, whole = Fraction(values[len(values) - 1 - outer] - values[outer]), Fraction(values[-1] - values[0])
    return min(whole, middle * 10 / 9), min(whole, middle * 2)


def interval_widths(usual: Fraction, most: Fraction, *, whole: bool) -> tuple[Fraction, ...]:
    """Widths that divide one another: the first makes at most 50 intervals of what is usual, the last is below most.

    >>> [int(width) for width in interval_widths(Fraction(73), Fraction(73), whole=True)]
    [5, 10, 20]
    >>> [float(width) for width in interval_widths(Fraction(3, 2), Fraction(3), whole=False)]
    [0.05, 0.1, 0.2, 1.0, 2.0]
    """
    if usual <= 0:
        return ()
    decade = Fraction(1)
    while decade * _FINEST >= usual:
        decade /= 10
    width, lead = decade, 1
    while width * _FINEST < usual or (whole and width < 2):
        width, lead = (width * 5, 5) if lead == 1 else (width * 2, 1)
    widths = []
    while width < most:
        widths.append(width)
        width, lead = (width * 5, 1) if lead == 2 else (width * 2, 2 if lead == 1 else 1)
    return tuple(widths)


def _moment_rungs(kind: Kind, values: Sequence[object], texts: Sequence[str]) -> list[list[str]]:
    """The calendar; what Python has no date for (infinity, years before 1) keeps its text."""
    read: Callable[[str], date] = date.fromisoformat if kind is Kind.DATE else datetime.fromisoformat
    placed: dict[int, date] = {}
    for code, value in enumerate(values):
        try:
            placed[code] = read(str(value))
        except ValueError:
            continue
    if not placed:
        return []
    return _labels_by_code(
        calendar_rows(CalendarLadder(_PERIODS[kind]), kind, list(placed.values())), list(placed), texts
    )


def _labels_by_code(lines: Sequence[Sequence[str]], placed: Sequence[int], texts: Sequence[str]) -> list[list[str]]:
    """Per level but the first and the last the label of every code; one that is not placed keeps its text."""
    rungs = []
    for labels in list(zip(*lines, strict=True))[1:-1]:
        rung = list(texts)
        for code, label in zip(placed, labels, strict=True):
            rung[code] = label
        rungs.append(rung)
    return rungs
