"""A quasi-identifier as an axis: its codes in order, where it may be cut, and what its values are called.

Codes are ordered so that whatever is published of a column is one contiguous range of them: numbers and
moments by size, text by its bytes, a column with a hierarchy by the hierarchy's leaves.  After the ordinary
values come NaN and NULL, which are values of their own and lie in no range of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sqlglot import exp

from ppdm_sql.anonymizers.table.ranges import Ints, Line, moment_line, number_line
from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.source.encode import CODE, ROWS, VALUE, Lookup, make_lookup, recoded
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.leaves import leaf_text
from ppdm_sql.statements.names import Name, column

_MOMENTS = (Kind.DATE, Kind.TIMESTAMP)
_NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT)


@dataclass(frozen=True, repr=False)
class Axis:
    """One quasi-identifier.  Codes 0 .. ordinary - 1 are values with an order; NaN and NULL follow."""

    lookup: Lookup
    texts: tuple[str, ...]  # every value but NULL, as it is published when it stands alone
    rows: Ints  # per value but NULL
    ordinary: int
    line: Line | None = None
    hierarchy: Hierarchy | None = None

    def __repr__(self) -> str:
        return f"Axis({self.info.name!r}, {self.size} codes)"  # the texts are data

    @property
    def info(self) -> ColumnInfo:
        return self.lookup.column

    @property
    def size(self) -> int:
        return self.lookup.size

    @property
    def null_code(self) -> int | None:
        return self.lookup.null_code

    def text(self, code: int) -> str | None:
        return None if code == self.null_code else self.texts[code]

    def cuts(self, before: Ints, after: Ints) -> Ints:
        """Per gap between two codes that occur in a part, the first code of the upper side."""
        cut = before + 1  # text has no round boundaries: what does not occur in the part goes up
        plain = after < self.ordinary
        if self.line is not None and plain.any():
            cut[plain] = self.line.cuts(before[plain], after[plain])
        return np.where(plain, cut, np.maximum(before + 1, self.ordinary))

    # -- along a hierarchy -------------------------------------------------------------------------

    @cached_property
    def branches(self) -> Ints:
        """(level, code) -> which label of the level the code's leaf has."""
        tree = self._tree
        return np.stack([tree.codes(level).astype(np.int64) for level in range(tree.height + 1)])

    def splitting_level(self, low: Ints, high: Ints) -> Ints:
        """The highest level on which the least and the greatest code of a part have different labels."""
        apart = self.branches[:, low] != self.branches[:, high]
        return np.asarray(apart.sum(axis=0) - 1)  # labels that differ on a level differ on all below it

    def branch_ranges(self, level: Ints, code: Ints) -> tuple[Ints, Ints]:
        """The codes first .. stop - 1 that share a code's label on a level."""
        first, stop = self._ranges
        return first[level, code], stop[level, code]

    @cached_property
    def _ranges(self) -> tuple[Ints, Ints]:
        tree = self._tree
        nodes = [[tree.node_at(level, code) for code in range(self.ordinary)] for level in range(tree.height + 1)]
        first = np.array([[node.start for node in row] for row in nodes], dtype=np.int64)
        return first, np.array([[node.stop for node in row] for row in nodes], dtype=np.int64)

    @property
    def _tree(self) -> Hierarchy:
        if self.hierarchy is None:
            raise TypeError(f"column {self.info.name!r} has no hierarchy")
        return self.hierarchy


def read_axis(
    engine: Engine,
    relation: Name,
    info: ColumnInfo,
    number: int,
    hierarchy: Hierarchy | None = None,
    *,
    measured: bool = True,
) -> Axis:
    """The axis of a column: one GROUP BY, the codes put into the order in which they can be published.

    measured: whether numbers are placed on a line; a column that is only counted needs none.
    """
    lookup = make_lookup(engine, relation, info, number)
    if hierarchy is not None:
        return _along(engine, lookup, number, hierarchy)
    values, rows = _values(engine, lookup)
    ordinary = len(values) - (1 if values and _is_nan(values[-1]) else 0)
    texts = tuple(str(v) if info.kind in _MOMENTS else leaf_text(v) for v in values)
    return Axis(lookup, texts, rows, ordinary, line=_line(values[:ordinary], info) if measured else None)


def _along(engine: Engine, lookup: Lookup, number: int, hierarchy: Hierarchy) -> Axis:
    """Codes in the order of the hierarchy's leaves, those left out that do not occur."""
    found = lookup.values(engine)
    values = [row[0] for row in found]
    rows = np.array([row[1] for row in found], dtype=np.int64)
    present = hierarchy.only(values)
    position = present.positions(values)
    order = np.argsort(position)
    texts = tuple(leaf_text(values[place]) for place in order)
    return Axis(recoded(engine, lookup, position.tolist(), number), texts, rows[order], len(values), hierarchy=present)


def _values(engine: Engine, lookup: Lookup) -> tuple[list[object], Ints]:
    """Values and their rows in code order.  Moments come as text: Python's have neither nanoseconds nor infinity."""
    value: exp.Expr = column(VALUE)
    if lookup.column.kind in _MOMENTS:
        value = exp.cast(value, "TEXT")
    query = exp.Select(expressions=[value, column(ROWS)]).from_(lookup.table.table()).order_by(column(CODE))
    found = engine.fetch(query)
    return [row[0] for row in found], np.array([row[1] for row in found], dtype=np.int64)


def _line(values: Sequence[object], info: ColumnInfo) -> Line | None:
    if not values:
        return None
    if info.kind in _MOMENTS:
        return moment_line([str(value) for value in values], info)
    return number_line(values, info) if info.kind in _NUMBERS else None


def _is_nan(value: object) -> bool:
    return bool(value != value)
