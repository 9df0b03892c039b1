"""The cells of a source as kADET reads them: attributes in codes, and what histograms know of rows besides their class.

Every row has a kind: its class, its combination of sensitive values, and where k counts persons whether it is the row
that stands for its person (weight 1) or another one.  A histogram has the classes of each combination in turn, and of
each twice where persons are counted: rows of weight 0, then those of weight 1.  A requirement is about its sums: over
all combinations for the class, over the classes for a sensitive column (class_limits).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ppdm_sql.cells.cells import CellColumn, Cells, Codes
from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.induction.borders import At, Borders, even_places
from ppdm_sql.induction.coded import MOST_CLASSES, SMALL
from ppdm_sql.induction.coded_attribute import equal_bins
from ppdm_sql.induction.criteria import Flags, Ints
from ppdm_sql.methods.kadet.ladder_cuts import between_values, ladder_cuts
from ppdm_sql.methods.shared.class_limits import Hidden
from ppdm_sql.policy.policy import HierarchySource
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.relation import Source
from ppdm_sql.trees.comparing import is_below
from ppdm_sql.trees.tree import Attribute, Value, attribute_of, plain

_BINS = 255
_MOST_COMBINATIONS = 1_000  # of sensitive values: histograms have a place for each


@dataclass(frozen=True, repr=False)
class CellAttribute:
    """An attribute and its codes 0 .. size - 1: values in order, or what lies between borders."""

    attribute: Attribute
    values: Sequence[object]  # in order
    code_of_value: Ints
    size: int
    cuts: tuple[At, ...] = ()  # where they are fixed: the border above each code but the last

    @cached_property
    def first(self) -> Ints:
        """Per code the place of its least value."""
        return np.flatnonzero(np.diff(self.code_of_value, prepend=-1))

    @cached_property
    def last(self) -> Ints:
        """Per code the place of its greatest value."""
        return np.append(self.first[1:] - 1, len(self.values) - 1)

    @cached_property
    def gaps(self) -> Flags:
        """Per code, whether something lies between it and the next one: between infinity and NaN nothing does."""
        gaps = np.ones(self.size, dtype=bool)
        if self.attribute.kind is Kind.FLOAT and len(self.values) > 1:
            before, last = self.values[-2:]
            gaps[self.code_of_value[-2]] = not (last != last and before == float("inf"))
        return gaps


@dataclass(frozen=True)
class KadetTable:
    """Entries: the rows of a cell that have the same weight."""

    cells: Cells
    attributes: tuple[CellAttribute, ...]
    target: Attribute
    classes: tuple[Value, ...]
    hidden: tuple[Hidden, ...]
    codes: tuple[Codes, ...]  # per attribute and entry
    kinds: Ints  # per entry its place in a histogram
    number: int  # of places in a histogram
    rows: Ints  # per entry
    cell: Ints  # per entry

    @cached_property
    def whole(self) -> Ints:
        """The histogram of all rows."""
        return np.bincount(self.kinds, weights=self.rows, minlength=self.number).astype(np.int64)

    def cell_codes(self, attribute: int) -> Ints:
        """The code of every cell."""
        one = self.attributes[attribute]
        return one.code_of_value[self.cells[one.attribute.name].codes]


def read_table(
    cells: Cells,
    source: Source,
    hierarchies: Mapping[str, Hierarchy],
    hidden: Sequence[str],
    pinned: int | None,
    *,
    class_is_public: bool,
) -> KadetTable:
    """pinned: columns are cut where so many rows, or persons, lie around the border; None: between any two values."""
    assert source.target is not None
    names = [name for name in source.published if name != source.target]
    target = cells[source.target]
    if target.size > MOST_CLASSES:
        raise PolicyError(
            f'column "{source.target}" has {target.size} classes, but at most {MOST_CLASSES} can be learned: group '
            "its values"
        )
    attributes = tuple(
        _along(cells[name], hierarchies[name], (source.hierarchies or {}).get(name))
        if name in hierarchies and cells[name].column.kind.is_ordered
        else _attribute(cells, name, pinned)
        for name in names
    )
    combination, found = _combinations(cells, hidden)
    number = target.size * (int(combination.max(initial=0)) + 1)
    kind = combination * target.size + target.codes
    cell, rows = np.arange(len(cells)), cells.rows
    if cells.people is not None:
        # A public class parts people from the start, so a person has a row of weight 1 in each of his classes.
        apart = target.codes if class_is_public else np.zeros(len(cells), dtype=np.int64)
        weights = cells.people.weights(apart, len(cells))
        kind = combination * 2 * target.size + target.codes
        weighed = [(cell, kind, cells.rows - weights), (cell, kind + target.size, weights)]
        cell, kind, rows = (np.concatenate(each) for each in zip(*weighed, strict=True))
        cell, kind, rows, number = cell[rows > 0], kind[rows > 0], rows[rows > 0], number * 2
    codes = tuple(one.code_of_value[cells[name].codes][cell] for one, name in zip(attributes, names, strict=True))
    classes = tuple(plain(value) for value in target.values)
    return KadetTable(cells, attributes, attribute_of(target.column), classes, found, codes, kind, number, rows, cell)


def held_by(cells: Cells, name: str) -> Ints:
    """Per value, how many rows or persons hold it."""
    column = cells[name]
    return column.rows if cells.people is None else cells.people.count(column.codes, column.size)


def refuse_missing(cells: Cells, source: Source, owner: str) -> None:
    """The paper does not say what an attacker knows of a value that is missing."""
    missing = {
        name: int(cells.rows[cells[name].codes == cells[name].null_code].sum())
        for name in source.published
        if name in cells.columns and cells[name].null_code is not None
    }
    if missing:
        told = ", ".join(f'"{name}" in {count}' for name, count in missing.items())
        raise PolicyError(
            f"{owner} cannot protect NULLs ({told} of {cells.total} rows): exclude them (WHERE ... IS NOT "
            "NULL) or replace them (COALESCE)"
        )


# -- attributes ------------------------------------------------------------------------------------------


def _attribute(cells: Cells, name: str, pinned: int | None) -> CellAttribute:
    column = cells[name]
    attribute = attribute_of(column.column)
    every = np.arange(len(column.values))
    if not attribute.ordered:
        return CellAttribute(attribute, column.values, every, column.size)
    if pinned is not None and pinned > 1:
        weights = np.bincount(column.codes, weights=cells.counted, minlength=column.size).astype(np.int64)
        borders = ValueBorders(attribute, column.column.declared, weights, pinned, column.values)
        cuts = borders.around(even_places(borders.rows[: borders.known_values], _BINS))
        codes = np.searchsorted(borders.places(cuts), every, side="right")
        return _renumbered(attribute, column, codes, cuts)
    if cells.total <= SMALL or len(column.values) <= _BINS:
        return CellAttribute(attribute, column.values, every, column.size)
    return _renumbered(attribute, column, equal_bins(column.rows, _BINS), ())


def _along(column: CellColumn, hierarchy: Hierarchy, given: HierarchySource | None) -> CellAttribute:
    """Cut only where labels of the hierarchy meet."""
    attribute = attribute_of(column.column)
    wished = ladder_cuts(column.column, hierarchy, given)
    borders = ValueBorders(attribute, column.column.declared, column.rows, 1, column.values)
    cuts, places = between_values(wished, borders.places(wished).tolist(), len(column.values))
    codes = np.searchsorted(np.array(places, dtype=np.int64), np.arange(len(column.values)), side="right")
    return _renumbered(attribute, column, codes, cuts)


def _renumbered(attribute: Attribute, column: CellColumn, codes: Ints, cuts: tuple[At, ...]) -> CellAttribute:
    return CellAttribute(attribute, column.values, codes, int(codes.max(initial=0)) + 1, cuts)


@dataclass(frozen=True)
class ValueBorders(Borders):
    """Borders among values that are here."""

    column_values: Sequence[object]

    def places(self, cuts: Sequence[At]) -> Ints:
        below = [
            bisect_left(self.column_values, True, key=_not_below(self.attribute, at)) for at in cuts
        ]  # False as long as a value lies below
        return np.array(below, dtype=np.int64)

    def values(self, places: Sequence[int]) -> dict[int, object]:
        return {place: self.column_values[place] for place in places}


def _not_below(attribute: Attribute, at: At) -> Callable[[object], bool]:
    return lambda value: not is_below(attribute, at, value)


# -- sensitive values ------------------------------------------------------------------------------------


def _combinations(cells: Cells, hidden: Sequence[str]) -> tuple[Ints, tuple[Hidden, ...]]:
    """Per cell the number of its combination of sensitive values, and which values a combination stands for."""
    key = np.zeros(len(cells), dtype=np.int64)
    for name in hidden:
        key = np.unique(key * cells[name].size + cells[name].codes, return_inverse=True)[1]
    if not hidden:
        return key, ()
    number = int(key.max(initial=-1)) + 1
    if number > _MOST_COMBINATIONS:
        listed = ", ".join(f'"{name}"' for name in hidden)
        raise PolicyError(
            f"ALGORITHM kadet keeps at most {_MOST_COMBINATIONS:,} combinations of sensitive values diverse, but "
            f"{listed} have {number:,}: group the values in the SELECT, or declare a column INSENSITIVE"
        )
    first = np.unique(key, return_index=True)[1]
    return key, tuple(Hidden(name, tuple(cells[name].codes[first].tolist())) for name in hidden)
