"""Where an ordered column may be cut so that the cut is printed and nobody is: borders that enough rows pin.

The number between two neighbouring values reveals that both are there, and perhaps one person has each.  So around the
place where a border should lie a gap is opened that has enough rows on either side, and the border is the
roundest number in that gap (thresholds.py).  It may fall elsewhere in the gap: the rows go by it, not by the place.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import numpy as np
from sqlglot import exp

from ppdm_sql.engines.base import Engine, Kind
from ppdm_sql.induction.criteria import Ints
from ppdm_sql.induction.thresholds import between
from ppdm_sql.source.encode import CODE, VALUE, Lookup
from ppdm_sql.statements.names import column
from ppdm_sql.trees.comparing import MOMENTS, below
from ppdm_sql.trees.tree import Attribute

At = Decimal | str
_CHUNK = 5000


def values_at(engine: Engine, attribute: Attribute, lookup: Lookup, places: Sequence[int]) -> dict[int, object]:
    """The values at these places of the column's order; moments as text."""
    value: exp.Expr = column(VALUE)
    if attribute.kind in MOMENTS or attribute.kind is Kind.UUID:
        value = exp.cast(value, "TEXT")
    found: dict[int, object] = {}
    wanted = sorted(set(places))
    for start in range(0, len(wanted), _CHUNK):
        chunk = [exp.Literal.number(place) for place in wanted[start : start + _CHUNK]]
        query = exp.Select(expressions=[column(CODE), value.copy()]).from_(lookup.table.table())
        found |= dict(engine.fetch(query.where(exp.In(this=column(CODE), expressions=chunk))))
    return found


def even_places(rows: Ints, number: int) -> list[int]:
    """Where to cut so that the parts are as even in rows as whole values allow.

    >>> even_places(np.array([1, 1, 1, 1, 4, 1, 1]), 3)
    [3, 5]
    """
    before = np.cumsum(rows) - rows
    raw = (2 * before + rows) * number // max(2 * rows.sum(), 1)
    return [int(place) for place in np.flatnonzero(np.diff(raw)) + 1]


@dataclass(frozen=True)
class Borders(ABC):
    """An ordered column: its values without NULL in their order, and how many rows have each."""

    attribute: Attribute
    declared: str
    rows: Ints
    least: int  # rows that a gap has on either side of where the border should lie, and beyond its ends

    @abstractmethod
    def places(self, cuts: Sequence[At]) -> Ints:
        """Per border, how many distinct values lie below it: as the database compares them."""

    @abstractmethod
    def values(self, places: Sequence[int]) -> dict[int, object]:
        """The values at these places of the column's order; moments as text."""

    def around(self, wished: Sequence[int], *, apart: int = 1) -> tuple[At, ...]:
        """Borders near these places, rising; none where the rows are too few.  A place is the values below it.

        apart: rows that lie between two borders, and beyond the first and the last.
        """
        gaps = [gap for gap in map(self._gap, wished) if gap is not None]
        values = self.values([place for gap in gaps for place in gap])
        found = list(
            dict.fromkeys(
                between(values[low], values[high], self.attribute, self.declared, midpoint=False) for low, high in gaps
            )
        )
        return self._apart(found, apart)

    @cached_property
    def known_values(self) -> int:
        """Values that borders can lie between: NaN comes last, and no number lies between it and infinity."""
        if self.attribute.kind is not Kind.FLOAT or not len(self.rows):
            return len(self.rows)
        last = self.values([len(self.rows) - 1])[len(self.rows) - 1]
        return len(self.rows) - (last != last)

    def _gap(self, place: int) -> tuple[int, int] | None:
        """Around a place the nearest values that have enough rows between them and it; None: there are too few.

        Near an end of the column the gap is narrower: enough rows must lie beyond it as well, or the roundest number
        could lie beyond all of them but one and tell an extreme.
        """
        reached = self._rows_before
        low = int(np.searchsorted(reached, reached[place] - self.least, side="right")) - 1
        high = int(np.searchsorted(reached, reached[place] + self.least, side="left")) - 1
        first, last = self._ends
        low, high = max(low, first), min(high, last)
        return (low, high) if low < place <= high else None

    @cached_property
    def _ends(self) -> tuple[int, int]:
        """The least value that enough rows do not exceed, and the greatest that as many reach."""
        reached = self._rows_before[: self.known_values + 1]
        first = int(np.searchsorted(reached, self.least)) - 1
        last = int(np.searchsorted(reached, reached[-1] - self.least, side="right")) - 1
        return first, last

    @cached_property
    def _rows_before(self) -> Ints:
        return np.concatenate([[0], np.cumsum(self.rows)])

    def _apart(self, found: Sequence[At], least: int) -> tuple[At, ...]:
        """The borders that leave no part with fewer rows than are needed."""
        kept: list[At] = []
        last, reached = 0, self._rows_before
        for place, at in sorted(zip(self.places(found).tolist(), found, strict=True), key=lambda pair: pair[0]):
            rows = int(reached[place] - last)
            if min(rows, int(reached[-1] - reached[place])) >= least:
                kept.append(at)
                last = int(reached[place])
        return tuple(kept)


@dataclass(frozen=True)
class EngineBorders(Borders):
    """Borders among the values of a look-up table."""

    engine: Engine
    lookup: Lookup

    def places(self, cuts: Sequence[At]) -> Ints:
        if not cuts:
            return np.zeros(0, dtype=np.int64)
        one, none = exp.Literal.number(1), exp.Literal.number(0)
        under = [exp.If(this=below(self.attribute, at, column(VALUE)), true=one.copy()) for at in cuts]
        sums = [exp.Sum(this=exp.Case(ifs=[one_if], default=none.copy())) for one_if in under]
        told = self.engine.fetch_one(exp.Select(expressions=sums).from_(self.lookup.table.table()))
        return np.array([int(number or 0) for number in told], dtype=np.int64)

    def values(self, places: Sequence[int]) -> dict[int, object]:
        return values_at(self.engine, self.attribute, self.lookup, places)
