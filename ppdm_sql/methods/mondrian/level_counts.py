"""Counts of one level as arrays: per part and code, and what else was counted along with them.

A tally's cells are the combinations of part and code that occur, sorted; a segment is the cells of one part.
Everything here works on all segments at once.  Histograms are kept sparse and written out in pieces, so that
memory does not grow with the number of classes or sensitive values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ppdm_sql.methods.mondrian.partition_cells import KNOWN, OTHER, SQUARES, SUM, VALUE, WEIGHT, N, PartitionCells
from ppdm_sql.methods.plan import PART
from ppdm_sql.source.lines import Flags, Ints

_PIECE = 1 << 21  # entries of a histogram that are written out at once


@dataclass(frozen=True)
class Histogram:
    """Rows per cell and value of another column; entries in the order of their cells."""

    cell: Ints
    value: Ints
    rows: Ints
    width: int

    def grouped(self, group: Ints, number: int) -> Iterator[tuple[slice, Ints]]:
        """The histograms of groups of cells, some at a time.

        group: per cell its group, rising, or -1 for a cell that belongs to none.
        """
        at = group[self.cell]
        inside = np.flatnonzero(at >= 0)
        at, flat, rows = at[inside], self.value[inside], self.rows[inside]
        step = max(1, _PIECE // self.width)
        for first in range(0, number, step):
            last = min(first + step, number)
            here = slice(*np.searchsorted(at, [first, last]))
            index = (at[here] - first) * self.width + flat[here]
            yield slice(first, last), _sums(index, rows[here], (last - first) * self.width).reshape(-1, self.width)

    def only(self, kept: Flags, number: Ints) -> Histogram:
        """The entries of some cells, which get new numbers."""
        inside = kept[self.cell]
        return Histogram(number[self.cell[inside]], self.value[inside], self.rows[inside], self.width)

    def renumbered(self, number: Ints) -> Histogram:
        """The same with other numbers of the cells; entries stay in the order of their cells."""
        cell = number[self.cell]
        order = np.argsort(cell, kind="stable")
        return Histogram(cell[order], self.value[order], self.rows[order], self.width)


@dataclass(frozen=True)
class LevelCounts:
    """The counts of one attribute in every part, or of the attribute that was chosen in each."""

    part: Ints
    code: Ints
    rows: Ints
    persons: Ints  # what k counts: rows, or the weights of persons
    classes: Histogram | None = None
    numbers: tuple[Ints, Ints, Ints] | None = None  # of a numeric target: rows that have it, sum, squares
    secrets: tuple[Histogram, ...] = ()

    @cached_property
    def starts(self) -> Ints:
        """Where each segment starts."""
        return _changes(self.part)

    @cached_property
    def stops(self) -> Ints:
        return np.append(self.starts[1:], len(self.part)).astype(np.int64)

    @cached_property
    def segment(self) -> Ints:
        return np.repeat(np.arange(len(self.starts), dtype=np.int64), self.stops - self.starts)

    @cached_property
    def parts(self) -> Ints:
        return self.part[self.starts]

    def totals(self, amounts: Ints) -> Ints:
        """Per segment."""
        return np.add.reduceat(amounts, self.starts) if len(amounts) else amounts

    def up_to(self, amounts: Ints) -> Ints:
        """Per cell, the amount in its segment up to it."""
        running = np.cumsum(amounts)
        before = running[self.starts] - amounts[self.starts]
        return running - np.repeat(before, self.stops - self.starts)

    def sides(self, histogram: Histogram, after: Ints) -> Iterator[tuple[slice, Ints, Ints]]:
        """Histograms below and above cuts, some at a time; after: the cells after which is cut, rising."""
        step = max(1, _PIECE // histogram.width)
        for first in range(0, len(after), step):
            here = slice(first, min(first + step, len(after)))
            yield here, *self._sides(histogram, after[here])

    def _sides(self, histogram: Histogram, after: Ints) -> tuple[Ints, Ints]:
        segment = self.segment[after]
        span = slice(int(segment[0]), int(segment[-1]) + 1)
        low, high = int(self.starts[span][0]), int(self.stops[span][-1])
        # A group of cells ends at every cut and with every segment; running sums over groups are the sides.
        ends = np.union1d(after, self.stops[span] - 1)
        entries = slice(*np.searchsorted(histogram.cell, [low, high]))
        group = np.searchsorted(ends, histogram.cell[entries])
        index = group * histogram.width + histogram.value[entries]
        sums = _sums(index, histogram.rows[entries], len(ends) * histogram.width).reshape(-1, histogram.width)
        running = np.cumsum(sums, axis=0)
        opening = np.searchsorted(ends, self.starts[segment])  # the first group of the cut's segment
        below = running[opening] - sums[opening]
        lower = running[np.searchsorted(ends, after)] - below
        return lower, running[np.searchsorted(ends, self.stops[segment] - 1)] - below - lower

    def only(self, wanted: Flags) -> LevelCounts:
        """The segments that are wanted; everything gets a new number."""
        if wanted.all():
            return self
        kept = wanted[self.segment]
        number = np.cumsum(kept) - 1
        return replace(
            self,
            part=self.part[kept],
            code=self.code[kept],
            rows=self.rows[kept],
            persons=self.persons[kept],
            classes=self.classes.only(kept, number) if self.classes is not None else None,
            numbers=(self.numbers[0][kept], self.numbers[1][kept], self.numbers[2][kept]) if self.numbers else None,
            secrets=tuple(histogram.only(kept, number) for histogram in self.secrets),
        )

    def reordered(self, order: Ints) -> LevelCounts:
        """The same cells in another order, each still in its segment."""
        number = np.empty_like(order)
        number[order] = np.arange(len(order))
        return replace(
            self,
            part=self.part[order],
            code=self.code[order],
            rows=self.rows[order],
            persons=self.persons[order],
            classes=self.classes.renumbered(number) if self.classes is not None else None,
            numbers=(self.numbers[0][order], self.numbers[1][order], self.numbers[2][order]) if self.numbers else None,
            secrets=tuple(histogram.renumbered(number) for histogram in self.secrets),
        )


@dataclass(frozen=True)
class Columns:
    """What is counted besides rows: code columns of the working table."""

    classes: str | None = None
    numeric: bool = False
    secrets: tuple[str, ...] = ()


def take_tally(cells: PartitionCells, columns: Columns, attribute: int | None) -> LevelCounts:
    """Counts of an attribute in every part of the level, or (None) of the attribute chosen for each part."""
    others = list(dict.fromkeys([*([columns.classes] if columns.classes else []), *columns.secrets]))
    amounts = [N, *([WEIGHT] if cells.has_entity else []), *([KNOWN, SUM, SQUARES] if columns.numeric else [])]
    first = others[0] if others else None
    counted = _sorted(cells.counts(attribute, first, amounts), cells.sizes.get(first or "", 1))
    cell = _numbers(counted)
    opening = _changes(cell)

    def summed(name: str) -> Ints:
        return np.add.reduceat(counted[name], opening) if len(cell) else counted[name]

    histograms = {first: Histogram(cell, counted[OTHER], counted[N], cells.sizes[first])} if first else {}
    for other in others[1:]:
        found = _sorted(cells.counts(attribute, other, [N]), cells.sizes[other])
        histograms[other] = Histogram(_numbers(found), found[OTHER], found[N], cells.sizes[other])
    return LevelCounts(
        part=counted[PART][opening],
        code=counted[VALUE][opening],
        rows=summed(N),
        persons=summed(WEIGHT if cells.has_entity else N),
        classes=histograms[columns.classes] if columns.classes else None,
        numbers=(summed(KNOWN), summed(SUM), summed(SQUARES)) if columns.numeric else None,
        secrets=tuple(histograms[name] for name in columns.secrets),
    )


def _sorted(counted: Mapping[str, Ints], width: int) -> Mapping[str, Ints]:
    """By part, code and value: engines return groups in any order."""
    keys: Sequence[Ints] = [counted[name] for name in (PART, VALUE, OTHER) if name in counted]
    span = int(keys[1].max(initial=0)) + 1
    packed = keys[0] * span + keys[1]
    if len(keys) > 2:
        packed = packed * width + keys[2]
    if (packed[1:] > packed[:-1]).all():
        return counted
    order = np.argsort(packed)
    return {name: values[order] for name, values in counted.items()}


def _numbers(counted: Mapping[str, Ints]) -> Ints:
    """Per sorted entry, which combination of part and code it belongs to."""
    new = np.ones(len(counted[PART]), dtype=bool)
    new[1:] = (counted[PART][1:] != counted[PART][:-1]) | (counted[VALUE][1:] != counted[VALUE][:-1])
    return np.cumsum(new) - 1


def _changes(values: Ints) -> Ints:
    """Where a sorted array takes a new value."""
    new = np.ones(len(values), dtype=bool)
    new[1:] = values[1:] != values[:-1]
    return np.flatnonzero(new)


def _sums(index: Ints, amounts: Ints, size: int) -> Ints:
    """Sums per index.  bincount adds doubles, which is exact as long as a table has fewer than 2^53 rows."""
    return np.bincount(index, weights=amounts, minlength=size).astype(np.int64)
