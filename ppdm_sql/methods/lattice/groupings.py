"""The cells of a source grouped by one level of every quasi-identifier: a node of the lattice of levels.

A group is known by its labels, each a few bits of a packed number.  A coarser node is made from a finer one by
exchanging the bits of the columns that differ and adding up the groups that have become the same (roll-up); groups are
far fewer than cells, and cells far fewer than rows.  At most MOST_KEPT groups, and counts of values in them, are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ppdm_sql.cells.cells import Cells, Ints
from ppdm_sql.methods.lattice.levels import LevelColumn
from ppdm_sql.methods.mondrian.level_counts import Histogram
from ppdm_sql.methods.shared.key_sums import sum_by_key

MOST_KEPT = 8_000_000
_WORD = 62  # bits of a packed number
Levels = tuple[int, ...]  # per column the place of its level


@dataclass(frozen=True)
class Field:
    """Where a column's label is packed."""

    word: int
    shift: int
    mask: int


@dataclass(frozen=True)
class Grouping:
    """The groups of one node."""

    levels: Levels
    words: tuple[Ints, ...]
    rows: Ints  # per group
    units: Ints  # what k counts
    histograms: tuple[Histogram, ...]  # of every column that is counted by value, in the order of `told`

    def __len__(self) -> int:
        return len(self.rows)

    def label_codes(self, field: Field, groups: Ints | slice = slice(None)) -> Ints:
        """Per group the label of the column whose field it is."""
        return (self.words[field.word][groups] >> field.shift) & field.mask


class GroupingCache:
    """Makes the groupings of nodes, each from the smallest finer one at hand."""

    def __init__(self, cells: Cells, columns: Sequence[LevelColumn], told: Sequence[str]) -> None:
        self.columns = tuple(columns)
        self.fields = _fields(columns)
        self.base, self.base_of_cell = self._base(cells, told)  # the finest node, and where each cell is in it
        self._forget()

    def _forget(self) -> None:
        """Keeps the base alone."""
        self._kept = [self.base]
        self._place = {self.base.levels: 0}
        self._levels = np.zeros((64, len(self.columns)), dtype=np.int64)  # per place of _kept
        self._sizes = np.array([len(self.base)])
        self._total = 0

    def grouping(self, levels: Levels) -> Grouping:
        """The groups of a node."""
        place = self._place.get(levels)
        if place is not None:
            return self._kept[place]
        finer = np.flatnonzero((self._levels[: len(self._kept)] <= levels).all(axis=1))
        nearest = int(finer[self._sizes[finer].argmin()])
        found = self.rolled_up(self._kept[nearest], levels)[0]
        self._keep(found)
        return found

    def rolled_up(self, finer: Grouping, levels: Levels, *, numbered: bool = False) -> tuple[Grouping, Ints | None]:
        """A coarser node, and where it is asked for, per group of the finer one its group there."""
        words = list(finer.words)
        for column, field, before, after in zip(self.columns, self.fields, finer.levels, levels, strict=True):
            if before != after:
                codes = (words[field.word] >> field.shift) & field.mask
                kept = words[field.word] & ~(field.mask << field.shift)
                words[field.word] = kept | (column.up(before, after)[codes] << field.shift)
        order, starts, number = _same_keys(words, numbered=numbered or bool(finer.histograms))
        rows = np.add.reduceat(finer.rows[order], starts)
        units = rows if finer.units is finer.rows else np.add.reduceat(finer.units[order], starts)
        first = order[starts]
        merged = () if number is None else tuple(merge_histogram(one, number) for one in finer.histograms)
        return Grouping(levels, tuple(word[first] for word in words), rows, units, merged), number

    def _keep(self, found: Grouping) -> None:
        """Groupings are kept as long as there is room."""
        entries = len(found) + sum(len(one.rows) for one in found.histograms)
        if self._total + entries > MOST_KEPT:
            self._forget()
        place = len(self._kept)
        if place == len(self._levels):
            self._levels = np.vstack([self._levels, np.zeros_like(self._levels)])
        if place >= len(self._sizes):
            self._sizes = np.append(self._sizes, np.zeros(place, dtype=np.int64))
        self._levels[place], self._sizes[place] = found.levels, len(found)
        self._kept.append(found)
        self._place[found.levels] = place
        self._total += entries

    def _base(self, cells: Cells, told: Sequence[str]) -> tuple[Grouping, Ints]:
        """Cells that are alike in all quasi-identifiers, together; and per cell which of these it is."""
        words = [np.zeros(len(cells), dtype=np.int64) for _ in {one.word for one in self.fields}]
        for column, field in zip(self.columns, self.fields, strict=True):
            words[field.word] |= column.levels[0].codes[cells[column.name].codes] << field.shift
        order, starts, number = _same_keys(words, numbered=True)
        assert number is not None
        histograms = []
        for name in told:
            column_cells = cells[name]
            whole = Histogram(np.arange(len(cells)), column_cells.codes.astype(np.int64), cells.rows, column_cells.size)
            histograms.append(merge_histogram(whole, number))
        rows = np.add.reduceat(cells.rows[order], starts)
        units = rows if cells.weights is None else np.add.reduceat(cells.weights[order], starts)
        first = order[starts]
        levels = (0,) * len(self.columns)
        return Grouping(levels, tuple(word[first] for word in words), rows, units, tuple(histograms)), number


def _fields(columns: Sequence[LevelColumn]) -> tuple[Field, ...]:
    """Bits for the labels of every column; a new word where the last one is full."""
    fields, word, shift = [], 0, 0
    for column in columns:
        bits = max(1, (max(len(level.labels) for level in column.levels) - 1).bit_length())
        if shift + bits > _WORD:
            word, shift = word + 1, 0
        fields.append(Field(word, shift, (1 << bits) - 1))
        shift += bits
    return tuple(fields)


def _same_keys(words: Sequence[Ints], *, numbered: bool) -> tuple[Ints, Ints, Ints | None]:
    """An order of the entries by key, where each new key starts in it, and per entry the number of its key."""
    order = np.argsort(words[0]) if len(words) == 1 else np.lexsort(words)
    new = np.zeros(len(order), dtype=bool)
    new[:1] = True
    for word in words:
        ordered = word[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    number = None
    if numbered:
        number = np.empty(len(order), dtype=np.int64)
        number[order] = np.cumsum(new) - 1
    return order, np.flatnonzero(new), number


def merge_histogram(histogram: Histogram, number: Ints) -> Histogram:
    """The histogram of groups of cells: entries of one group and value are added up."""
    key = number[histogram.cell] * histogram.width + histogram.value
    kept, (rows,) = sum_by_key(key, [histogram.rows])
    return Histogram(kept // histogram.width, kept % histogram.width, rows, histogram.width)
