"""The cells of a source as DMPD counts them: rows, or persons, of any group of columns and of any class in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np

from ppdm_sql.cells.cells import Cells, Ints

Made = TypeVar("Made")


@dataclass(frozen=True, repr=False)
class CellGroups:
    """Which group every cell is in, by some columns, and what k counts in each."""

    of_cell: Ints
    size: int
    units: Ints  # per group

    @property
    def smallest(self) -> int:
        return int(self.units.min(initial=np.iinfo(np.int64).max))

    def below(self, k: int) -> Ints:
        """The groups that k is too much for."""
        return np.flatnonzero(self.units < k)


@dataclass(frozen=True, repr=False)
class DmpdCells:
    """Codes per cell of every column that is published, after rare values were folded."""

    cells: Cells
    target: str
    codes: dict[str, Ints]  # column -> its code per cell
    sizes: dict[str, int]
    _kept: dict[object, object] = field(default_factory=dict)

    @property
    def classes(self) -> int:
        return self.cells[self.target].size

    @cached_property
    def class_codes(self) -> Ints:
        return self.cells[self.target].codes.astype(np.int64)

    @cached_property
    def class_rows(self) -> Ints:
        return self.count_rows(self.class_codes, self.classes)

    @property
    def rows(self) -> int:
        return self.cells.total

    def count_rows(self, group: Ints, groups: int) -> Ints:
        return np.bincount(group, weights=self.cells.rows, minlength=groups).astype(np.int64)

    def count(self, group: Ints, groups: int) -> Ints:
        """Rows, or distinct persons, of each group."""
        if self.cells.people is None:
            return self.count_rows(group, groups)
        return self.cells.people.count(group, groups)

    def groups(self, names: Sequence[str]) -> CellGroups:
        """The groups by some columns; each set of columns is counted once."""
        about = ("groups", frozenset(names))
        return self._once(about, lambda: self._groups(sorted(names)))

    def _groups(self, names: Sequence[str]) -> CellGroups:
        of_cell = np.zeros(len(self.cells), dtype=np.int64)
        size = min(len(self.cells), 1)
        for name in names:
            packed = of_cell * self.sizes[name] + self.codes[name]
            of_cell, size = dense(packed, size * self.sizes[name])
        return CellGroups(of_cell, size, self.count(of_cell, size))

    def by_class(self, names: Sequence[str]) -> Ints:
        """(group, class) counts."""
        about = ("by_class", frozenset(names))
        return self._once(about, lambda: self._by_class(self.groups(names)))

    def _by_class(self, groups: CellGroups) -> Ints:
        packed = groups.of_cell * self.classes + self.class_codes
        return self.count(packed, groups.size * self.classes).reshape(groups.size, self.classes)

    def _once(self, about: object, make: Callable[[], Made]) -> Made:
        if about not in self._kept:
            self._kept[about] = make()
        return self._kept[about]  # type: ignore[return-value]


def dense(packed: Ints, size: int) -> tuple[Ints, int]:
    """Numbers 0, 1, ... instead of those that occur, in their order.

    >>> dense(np.array([7, 2, 7]), 9)
    (array([1, 0, 1]), 2)
    """
    if size <= max(4 * len(packed), 1 << 16):
        seen = np.zeros(size, dtype=bool)
        seen[packed] = True
        number = np.cumsum(seen) - 1
        return number[packed], int(seen.sum())
    values, number = np.unique(packed, return_inverse=True)
    return number, len(values)
