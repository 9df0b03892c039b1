"""The rows of a source, as a table method sees them: the combinations of values that occur, and how often each does.

A cell is one combination of the values of the quasi-identifiers, the target and the sensitive columns that something
is required of.  Values are small whole numbers here; what a number stands for is looked up in its column.  No engine
and no row is needed to work with cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from ppdm_sql.engines.base import ColumnInfo
from ppdm_sql.statements.names import Name

KEY = "ppdm_key"
Ints = NDArray[np.int64]
Codes = NDArray[Any]  # of the smallest unsigned type that holds them


@dataclass(frozen=True, repr=False)
class CellColumn:
    """One column of the cells: codes 0 .. size - 1 in the order of the values, NULL last."""

    column: ColumnInfo
    codes: Codes  # per cell
    size: int
    null_code: int | None
    values: Sequence[object]  # per code but NULL's
    rows: Ints  # per code but NULL's
    held: Ints  # the same in persons, where the policy names them; from `enough` of aggregate() on at least so many

    def __repr__(self) -> str:
        return f"CellColumn({self.column.name!r}, {self.size} codes)"  # the values are data


@dataclass(frozen=True, repr=False)
class People:
    """Who is in which cell, as pairs; persons are numbers 0, 1, ...  A row without a person counts for nobody."""

    cell: Ints
    person: Ints

    def count(self, group: Ints, groups: int) -> Ints:
        """Distinct persons per group, given the group of every cell."""
        persons = int(self.person.max(initial=-1)) + 1
        pairs = np.unique(group[self.cell].astype(np.int64) * persons + self.person)
        return np.bincount(pairs // max(persons, 1), minlength=groups)

    def weights(self, apart: Ints, cells: int) -> Ints:
        """Per cell how many persons have their first cell here, among those with the same value of `apart`."""
        values = int(apart.max(initial=0)) + 1
        order = np.argsort(self.cell, kind="stable")
        key = self.person[order] * values + apart[self.cell[order]].astype(np.int64)
        first = np.unique(key, return_index=True)[1]
        return np.bincount(self.cell[order][first], minlength=cells)


@dataclass(frozen=True, repr=False)
class Cells:
    """All cells of a source.  A cell is known by its place in the arrays, and by its key in the engine."""

    table: Name  # (ppdm_v0, ppdm_v1, ..., ppdm_rows), in the engine where the rows are
    columns: Mapping[str, CellColumn]
    rows: Ints  # per cell
    weights: Ints | None  # per cell, where the policy names persons: one row of each person weighs 1, the others 0
    people: People | None = None  # where the policy names persons and the method asked for them
    keyed: exp.Select = field(default_factory=exp.Select)  # (ppdm_key, ppdm_v0, ppdm_v1, ...), in that engine
    keys: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # per cell what it is known by there
    codes: Name | None = None  # the values of all columns with their codes, where a key is made of these

    def __repr__(self) -> str:
        return f"Cells({len(self)} of {self.total} rows)"

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> CellColumn:
        return self.columns[name]

    @cached_property
    def total(self) -> int:
        """The rows of the source."""
        return int(self.rows.sum())

    @property
    def counted(self) -> Ints:
        """What k counts, per cell: rows, or the weights of persons."""
        return self.rows if self.weights is None else self.weights

    @property
    def units(self) -> int:
        """What k counts in the whole table: rows, or persons."""
        return int(self.counted.sum())

    def value_column(self, name: str) -> str:
        """The column of `table` that has the values of a column of the source."""
        return f"ppdm_v{list(self.columns).index(name)}"


def code_type(size: int) -> np.dtype[Any]:
    """The smallest unsigned type that holds the codes 0 .. size - 1.

    >>> code_type(256), code_type(257)
    (dtype('uint8'), dtype('uint16'))
    """
    return np.dtype(np.min_scalar_type(max(size - 1, 0)))
