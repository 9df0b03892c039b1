"""Columns as ATP asks for them: every value a category of its own, every number or day in one of a few bins.

A multiway split needs bins, and their borders are printed, so enough rows pin each of them (induction/borders.py), and
no bin has fewer.  Borders that the policy declares are taken as they are: they are nobody's.  A category that too few
rows have is not named; all such are one.

    frequency   as many rows per bin as whole values allow
    width       bins of one width, between the least and the greatest value that enough rows reach
    mdl         by Fayyad and Irani's rule: where the classes part, and no more bins than that is worth
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from sqlglot import exp

from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.induction.borders import At, EngineBorders, even_places, values_at
from ppdm_sql.induction.criteria import Ints
from ppdm_sql.methods.shared.discretize import cut_codes
from ppdm_sql.source.encode import CODE, ROWS, Lookup, joined_lookups, make_lookup, recode
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.trees.comparing import MOMENTS, position
from ppdm_sql.trees.tree import Attribute, Value, attribute_of, plain


@dataclass(frozen=True)
class AskedColumn:
    """A column as categories 0 .. size - 1."""

    attribute: Attribute
    lookup: Lookup  # value -> category
    size: int
    cuts: tuple[At, ...] = ()  # of an ordered column: between its bins
    values: tuple[Value, ...] = ()  # of any other: by category
    rare: int | None = None  # the category of all values that are not named

    @property
    def nameable(self) -> range:
        """The categories that a branch may name."""
        return range(self.size if self.rare is None else self.rare)


@dataclass(frozen=True)
class Bins:
    """How numbers are put into bins.  least: rows on either side of a border, and rows of a value that is named."""

    number: int
    way: str
    least: int
    declared: Mapping[str, tuple[At, ...]]


def asked_columns(
    engine: Engine, relation: Name, columns: Sequence[ColumnInfo], target: Lookup, bins: Bins
) -> list[AskedColumn]:
    """Every attribute in categories; look-up tables are made, nothing else."""
    found = []
    for info in columns:
        attribute = attribute_of(info)
        lookup = make_lookup(engine, relation, info)
        rows = _rows(engine, lookup)
        if not attribute.ordered:
            found.append(_categories(engine, attribute, lookup, rows, bins.least))
            continue
        column_bins = _Column(attribute, info.declared, rows, bins.least, engine, lookup, relation, bins)
        cuts = bins.declared.get(info.name) or column_bins.cuts(target)
        places = column_bins.places(cuts)
        moved = recode(engine, lookup, np.searchsorted(places, np.arange(len(rows)), side="right").tolist())
        found.append(AskedColumn(attribute, moved, len(cuts) + 1, cuts=cuts))
    return found


def class_lookup(engine: Engine, relation: Name, target: ColumnInfo) -> tuple[Lookup, tuple[Value, ...], Ints]:
    """The classes in the order of their values, and how many rows each has."""
    lookup = make_lookup(engine, relation, target)
    rows = _rows(engine, lookup)
    values = values_at(engine, attribute_of(target), lookup, range(len(rows)))
    return lookup, tuple(plain(values[code]) for code in range(len(rows))), rows


def _rows(engine: Engine, lookup: Lookup) -> Ints:
    query = exp.Select(expressions=[column(ROWS)]).from_(lookup.table.table()).order_by(column(CODE))
    return engine.arrays(query)[ROWS].astype(np.int64)


def _categories(engine: Engine, attribute: Attribute, lookup: Lookup, rows: Ints, least: int) -> AskedColumn:
    common = rows >= least
    named = np.flatnonzero(common).tolist()
    texts = values_at(engine, attribute, lookup, named)
    values = tuple(plain(texts[code]) for code in named)
    if common.all():
        return AskedColumn(attribute, lookup, len(rows), values=values)
    codes = np.where(common, np.cumsum(common) - 1, len(named))
    moved = recode(engine, lookup, codes.tolist())
    return AskedColumn(attribute, moved, len(named) + 1, values=values, rare=len(named))


# -- bins ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Column(EngineBorders):
    relation: Name
    bins: Bins

    def cuts(self, target: Lookup) -> tuple[At, ...]:
        """The borders, rising; none where the rows are too few for two bins."""
        return self.around(self._wished(self.known_values, target), apart=self.least)

    # -- where borders should lie ------------------------------------------------------------------

    def _wished(self, known: int, target: Lookup) -> list[int]:
        if self.bins.way == "mdl":
            return self._parting(known, target)
        return self._wide(known) if self.bins.way == "width" else self._even(known)

    def _even(self, known: int) -> list[int]:
        return even_places(self.rows[:known], self.bins.number)

    def _wide(self, known: int) -> list[int]:
        """Borders at equal distances; the ends are values that enough rows reach, not the least and the greatest."""
        reached = np.cumsum(self.rows[:known])
        if not known or reached[-1] < 2 * self.bins.least:
            return []
        first = int(np.searchsorted(reached, self.bins.least))
        last = int(np.searchsorted(reached, reached[-1] - self.bins.least, side="right"))
        values = self.values([first, last])
        ideal = _spread(values[first], values[last], self.attribute, self.bins.number)
        return sorted({int(place) for place in self.places(ideal) if 0 < place < known})

    def _parting(self, known: int, target: Lookup) -> list[int]:
        """Where the classes part: one grouped count of value and class."""
        query = exp.Select().from_(self.relation.table("r"))
        query, codes = joined_lookups(self.engine, query, [self.lookup, target], "r")
        names = ("ppdm_v", "ppdm_y")
        picked = [aliased(code, name) for code, name in zip(codes, names, strict=True)]
        inner = query.select(*picked)
        keys = [column(name, "g") for name in names]
        grouped = exp.Select(expressions=[*keys, aliased(exp.Count(this=exp.Star()), "ppdm_n")])
        told = self.engine.arrays(grouped.from_(inner.subquery("g")).group_by(*(key.copy() for key in keys)))
        counts = np.zeros((len(self.rows), target.size), dtype=np.int64)
        counts[told["ppdm_v"].astype(np.int64), told["ppdm_y"].astype(np.int64)] = told["ppdm_n"]
        return cut_codes(counts[:known], self.rows[:known], self.bins.least)


def _spread(low: object, high: object, attribute: Attribute, number: int) -> list[At]:
    """Places at equal distances between two values, without the two.

    >>> [str(at) for at in _spread(10, 40, Attribute("age", Kind.INTEGER, True), 3)]
    ['20', '30']
    """
    if attribute.kind in MOMENTS:
        try:
            first, last = datetime.fromisoformat(str(low)), datetime.fromisoformat(str(high))
        except ValueError:  # infinite, or before the year 1: nothing to divide
            return []
        steps = [(first + (last - first) * step / number) for step in range(1, number)]
        return [str(at.date()) if attribute.kind is Kind.DATE else at.isoformat(sep=" ") for at in steps]
    ends = [Decimal(repr(value)) if isinstance(value, float) else Decimal(str(value)) for value in (low, high)]
    if not all(end.is_finite() for end in ends):
        return []
    first_, last_ = Fraction(ends[0]), Fraction(ends[1])
    exact = [first_ + (last_ - first_) * step / number for step in range(1, number)]
    return [Decimal(one.numerator) / Decimal(one.denominator) for one in exact]


def rising(attribute: Attribute, cuts: Sequence[At]) -> bool:
    """Whether borders rise, as they must."""
    places: list[Any] = [position(attribute, at) for at in cuts]
    return all(one < other for one, other in pairwise(places))
