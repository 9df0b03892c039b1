"""A quasi-identifier as an axis: its codes in order, where it may be cut, and what its values are called.

Codes are ordered so that whatever is published of a column is one contiguous range of them: numbers and
moments by size, text by its bytes, a column with a hierarchy by the hierarchy's leaves.  After the ordinary
values come NaN and NULL, which are values of their own and lie in no range of numbers.

Text values that fewer than k people hold can never be printed, so a text column has one code for all of them,
after the others: a cut between two of them would use up rows and show nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from ppdm_sql.cells.cells import Cells, Codes, code_type
from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.source.hierarchy import Hierarchy, Node
from ppdm_sql.source.leaves import leaf_text
from ppdm_sql.source.lines import Flags, Ints, Line, moment_line, moment_text, number_line

_MOMENTS = (Kind.DATE, Kind.TIMESTAMP)
_NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT)


@dataclass(frozen=True, repr=False)
class Axis:
    """One column.  Codes 0 .. ordinary - 1 are values with an order; NaN and NULL follow."""

    info: ColumnInfo
    size: int
    null_code: int | None
    raw: Sequence[object]  # the values in the order of the column's own codes, before any were put together
    texts: tuple[str, ...]  # per code but NULL's and that of the few, how the value is printed when it stands alone
    rows: Ints  # per code but NULL's
    ordinary: int
    line: Line | None = None
    hierarchy: Hierarchy | None = None
    few: int | None = None  # the code of all text values that fewer than k people hold
    few_values: int = 1  # and how many they are
    rare: Flags | None = None  # of a line: per code, whether fewer than k people hold the value
    stars: int = 0  # the length of the longest value that consists of stars
    weight: Fraction = Fraction(1)  # how much the loss of the column counts
    most_level: int | None = None  # the coarsest level of its hierarchy that may be published
    by_target: bool = False  # texts in the order of the target, which no reader knows
    stands_alone: bool = False  # texts without an order: a frequent one stands alone, and the others are {other}
    codes: Codes | None = None  # per cell, where the axis is one of cells

    def __repr__(self) -> str:
        return f"Axis({self.info.name!r}, {self.size} codes)"  # the texts are data

    @property
    def cell_codes(self) -> Codes:
        """The code of every cell."""
        if self.codes is None:
            raise TypeError(f"column {self.info.name!r} was not read from cells")
        return self.codes

    @property
    def values(self) -> int:
        """How many distinct values there are, NULL included."""
        return self.size + self.few_values - 1

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
        starts, stops = [], []
        for level, nodes in enumerate(self._tree.levels):
            starts.append(np.array([node.start for node in nodes])[self.branches[level]])
            stops.append(np.array([node.stop for node in nodes])[self.branches[level]])
        return np.stack(starts), np.stack(stops)

    @property
    def _tree(self) -> Hierarchy:
        if self.hierarchy is None:
            raise TypeError(f"column {self.info.name!r} has no hierarchy")
        return self.hierarchy


def quasi_axis(plain: Axis, held: Ints, k: int, hierarchy: Hierarchy | None) -> Axis:
    """The axis of a quasi-identifier, its codes in the order in which they can be published.

    held: per code but NULL's, how many rows or persons hold the value in the whole table.
    """
    if hierarchy is not None:
        return _along(plain, hierarchy)
    if plain.line is not None or not plain.texts:
        return replace(plain, rare=held < k)
    return _without_the_few(plain, held >= k)


def cell_axis(cells: Cells, name: str) -> Axis:
    """The axis of a column of cells, every value with its own code."""
    column = cells[name]
    plain = _plain_axis(column.column, column.values, column.rows, column.null_code is not None)
    return replace(plain, codes=column.codes)


def _plain_axis(info: ColumnInfo, values: Sequence[object], rows: Ints, has_null: bool) -> Axis:
    ordinary = len(values) - (1 if len(values) and _is_nan(values[-1]) else 0)
    texts = tuple(moment_text(str(value)) if info.kind in _MOMENTS else leaf_text(value) for value in values)
    stars = max((len(text) for text in texts if text and not text.strip("*")), default=0)
    null_code = len(values) if has_null else None
    line = _line(values[:ordinary], info)
    return Axis(info, len(values) + has_null, null_code, values, texts, rows, ordinary, line=line, stars=stars)


def _along(plain: Axis, hierarchy: Hierarchy) -> Axis:
    """Codes in the order of the hierarchy's leaves, those left out that do not occur."""
    values = list(plain.raw)
    present = hierarchy.only(values)
    position = present.positions(values)
    order = np.argsort(position)
    moved = _recode(plain, np.asarray(position), plain.size, plain.null_code)
    texts = tuple(leaf_text(values[place]) for place in order)
    return replace(
        moved, texts=texts, rows=plain.rows[order], ordinary=len(values), line=None, hierarchy=present, stars=0
    )


def in_order(axis: Axis, order: Ints) -> Axis:
    """A text column with its codes in another order: order[new code] is the old one; the few and NULL stay last."""
    many = len(axis.texts)
    moved = np.arange(axis.size - (axis.null_code is not None))
    moved[order] = np.arange(many)
    rows = np.append(axis.rows[order], axis.rows[many:])
    texts = tuple(axis.texts[code] for code in order.tolist())
    return replace(_recode(axis, moved, axis.size, axis.null_code), texts=texts, rows=rows)


def order_by_share(above: Ints, below: Ints) -> Ints:
    """Codes in the order of above / below, as CART orders categories: of two classes no other order has a better cut.

    Equal shares stay in the order of the codes.

    >>> order_by_share(np.array([3, 0, 1]), np.array([4, 2, 4])).tolist()
    [1, 2, 0]
    """
    shares = [Fraction(top, max(bottom, 1)) for top, bottom in zip(above.tolist(), below.tolist(), strict=True)]
    return np.array(sorted(range(len(shares)), key=lambda one: (shares[one], one)), dtype=np.int64)


def alone(axis: Axis) -> Axis:
    """A text column whose values have no order: each is a label of its own below everything."""
    leaves = [*axis.texts, *(["{other}"] if axis.few is not None else [])]  # the few are never printed
    nodes = tuple(Node(leaf, place, place + 1) for place, leaf in enumerate(leaves))
    tree = Hierarchy(axis.info.name, tuple(leaves), (nodes, (Node("*", 0, len(leaves)),)))
    return replace(axis, hierarchy=tree, stands_alone=True)


def _without_the_few(plain: Axis, common: Flags) -> Axis:
    """Values that few people hold get one code, after those that many hold."""
    if common.all():
        return plain
    many = int(common.sum())
    order = np.where(common, np.cumsum(common) - 1, many)
    null_code = None if plain.null_code is None else many + 1
    return replace(
        _recode(plain, order, many + (1 if null_code is None else 2), null_code),
        texts=tuple(text for text, kept in zip(plain.texts, common, strict=True) if kept),
        rows=np.append(plain.rows[common], plain.rows[~common].sum()),
        ordinary=many + 1,
        few=many,
        few_values=int((~common).sum()),
    )


def _recode(plain: Axis, order: Ints, size: int, null_code: int | None) -> Axis:
    """Other codes: order[old code] is the new one; NULL's is given apart."""
    codes = plain.codes
    if codes is not None:
        moved = order if null_code is None else np.append(order, null_code)
        codes = moved.astype(code_type(size))[codes]
    return replace(plain, size=size, null_code=null_code, codes=codes)


def _line(values: Sequence[object], info: ColumnInfo) -> Line | None:
    if not values:
        return None
    if info.kind in _MOMENTS:
        return moment_line([str(value) for value in values], info)
    return number_line(values, info) if info.kind in _NUMBERS else None


def _is_nan(value: object) -> bool:
    return bool(value != value)
