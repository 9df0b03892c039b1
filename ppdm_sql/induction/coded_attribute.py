"""An attribute as codes: values in order, bins, borders that enough rows pin, or categories; NULL last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from sqlglot import exp

from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.induction.borders import At, EngineBorders, even_places, values_at
from ppdm_sql.induction.criteria import Flags, Ints
from ppdm_sql.source.encode import CODE, ROWS, VALUE, Lookup, make_lookup, recode
from ppdm_sql.statements.names import Name, column
from ppdm_sql.trees.tree import Attribute, attribute_of


class SplitAttribute(Protocol):
    """What growing a tree has to know of an attribute."""

    @property
    def attribute(self) -> Attribute: ...
    @property
    def size(self) -> int: ...
    @property
    def null(self) -> int | None: ...
    @property
    def gaps(self) -> Flags: ...


@dataclass(frozen=True)
class CodedAttribute:
    """An attribute and its codes 0 .. size - 1: values or bins in order, then the rare ones together, NULL last."""

    attribute: Attribute
    lookup: Lookup
    size: int
    null: int | None
    rare: int | None  # the code that all rare categories share
    first: Ints  # per code but rare and NULL: its least value's place among all distinct values
    last: Ints
    gaps: Flags  # per such code: whether something lies between it and the next one
    cuts: tuple[At, ...] = ()  # where they are fixed: the border above each code but the last

    def texts(self, engine: Engine, places: Sequence[int]) -> dict[int, object]:
        """The values at these places of the column's order; moments as text."""
        return values_at(engine, self.attribute, self.lookup, places)


@dataclass(frozen=True)
class Cutting:
    """How ordered columns are cut into codes: every value, so many bins, or at borders that enough rows pin."""

    limit: int | None  # bins at most; None: every value has its code
    bins: int
    pinned: int


def coded_attribute(
    engine: Engine, relation: Name, info: ColumnInfo, rare: int, ordered: bool | None, cut: Cutting
) -> CodedAttribute:
    attribute = attribute_of(info, ordered=ordered)
    lookup = make_lookup(engine, relation, info)
    if attribute.ordered and cut.pinned > 1:
        return _code_between_borders(engine, attribute, lookup, cut)
    if attribute.ordered:
        return _code_ordered(engine, attribute, lookup, cut.limit)
    return _categories(engine, attribute, lookup, rare)


def rows_of(engine: Engine, lookup: Lookup) -> Ints:
    query = exp.Select(expressions=[column(ROWS)]).from_(lookup.table.table()).order_by(column(CODE))
    return engine.arrays(query)[ROWS].astype(np.int64)


def _code_ordered(engine: Engine, attribute: Attribute, lookup: Lookup, bins: int | None) -> CodedAttribute:
    known = lookup.size - (lookup.null_code is not None)
    gaps = np.ones(known, dtype=bool)
    if attribute.kind is Kind.FLOAT and known > 1 and _ends_in_infinity_and_nan(engine, lookup, known):
        gaps[known - 2] = False
    places = np.arange(known)
    if bins is None or known <= bins:
        return CodedAttribute(attribute, lookup, lookup.size, lookup.null_code, None, places, places, gaps)
    bin_of = equal_bins(rows_of(engine, lookup), bins)
    return _code_bins(engine, attribute, lookup, bin_of, gaps)


def _code_between_borders(engine: Engine, attribute: Attribute, lookup: Lookup, cut: Cutting) -> CodedAttribute:
    """Codes between borders that can be published; fewer than two where the rows are too few for a border."""
    declared = lookup.column.declared
    borders = EngineBorders(attribute, declared, rows_of(engine, lookup), cut.pinned, engine, lookup)
    cuts = borders.around(even_places(borders.rows[: borders.known_values], cut.bins))
    values = np.arange(len(borders.rows))
    bin_of = np.searchsorted(borders.places(cuts), values, side="right")
    coded = _code_bins(engine, attribute, lookup, bin_of, np.ones(len(values), dtype=bool))
    return replace(coded, cuts=cuts)


def _code_bins(engine: Engine, attribute: Attribute, lookup: Lookup, bin_of: Ints, gaps: Flags) -> CodedAttribute:
    first = np.flatnonzero(np.diff(bin_of, prepend=-1))
    last = np.append(first[1:] - 1, len(bin_of) - 1)
    null = len(first) if lookup.null_code is not None else None
    moved = recode(engine, lookup, bin_of.tolist())
    # the first look-up stays: it knows the values at the borders of the bins
    binned = Binned(moved.column, lookup.table, len(first) + (null is not None), null, moved.table)
    return CodedAttribute(attribute, binned, binned.size, null, None, first, last, gaps[last])


@dataclass(frozen=True)
class Binned(Lookup):
    """A look-up by place in order whose rows are coded by bin."""

    coded_table: Name


def equal_bins(rows: Ints, bins: int) -> Ints:
    """The bin of every value: as even in rows as whole values allow, numbered without gaps.

    >>> equal_bins(np.array([1, 1, 1, 1, 4, 1, 1]), 3).tolist()
    [0, 0, 0, 1, 1, 2, 2]
    """
    before = np.cumsum(rows) - rows
    raw = (2 * before + rows) * bins // (2 * rows.sum())
    return np.cumsum(np.diff(raw, prepend=raw[0]) > 0)


def _ends_in_infinity_and_nan(engine: Engine, lookup: Lookup, known: int) -> bool:
    """Whether the two greatest values are infinity and NaN: no number lies between them."""
    places = [exp.Literal.number(known - 2), exp.Literal.number(known - 1)]
    query = exp.Select(expressions=[column(VALUE)]).from_(lookup.table.table())
    values = [row[0] for row in engine.fetch(query.where(exp.In(this=column(CODE), expressions=places)))]
    return any(value != value for value in values) and any(value == float("inf") for value in values)


def _categories(engine: Engine, attribute: Attribute, lookup: Lookup, rare: int) -> CodedAttribute:
    known = lookup.size - (lookup.null_code is not None)
    places = np.arange(known)
    common = rows_of(engine, lookup) >= rare if rare > 1 else np.ones(known, dtype=bool)
    none = np.zeros(known, dtype=bool)
    if common.all():
        return CodedAttribute(attribute, lookup, lookup.size, lookup.null_code, None, places, places, none)
    named = int(common.sum())
    codes = np.where(common, np.cumsum(common) - 1, named)
    null = None if lookup.null_code is None else named + 1
    moved = recode(engine, lookup, codes.tolist())
    both = Binned(lookup.column, lookup.table, named + 1 + (null is not None), null, moved.table)
    return CodedAttribute(attribute, both, both.size, null, named, places[common], places[common], none[common])
