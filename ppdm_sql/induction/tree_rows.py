"""What a tree is grown from: rows that are counted by node and code, and sent on when nodes are split.

EngineRows    a table of packed codes, counted and routed in the engine
ArrayRows     cells of codes with their counts, here

Both give the same counts, so the same tree grows from either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engines.base import Engine
from ppdm_sql.induction.coded import Training
from ppdm_sql.induction.coded_attribute import SplitAttribute
from ppdm_sql.induction.counts import Counter, Tally, moments_of, tally_of
from ppdm_sql.induction.criteria import Flags, Ints
from ppdm_sql.induction.routing import NEVER, Routes, route
from ppdm_sql.statements.names import Name
from ppdm_sql.trees.tree import Attribute


class TreeRows(Protocol):
    """Rows in slots: slot 0 is the sink of finished nodes, slots 1, 2, ... are the nodes that are still open."""

    @property
    def attributes(self) -> Sequence[SplitAttribute]:
        """What can be asked of a row."""

    def count(self, slots: int, wanted: Ints) -> Iterator[tuple[int, Tally]]:
        """(attribute, tally) for every attribute; slots counts the numbers in use, the sink 0 included.

        wanted: the slots that are asked for; others may be counted with them.
        """

    def send_on(self, routes: Routes, live: int) -> None:
        """Gives every row its new slot; live: how many rows are in open nodes then."""

    def close(self) -> None:
        """Drops what was made for the tree."""


class EngineRows:
    """The rows of a training table."""

    def __init__(self, engine: Engine, training: Training) -> None:
        self._engine, self._training = engine, training
        self._counter = Counter(engine, training)
        self._table: Name = training.table
        self._rows = training.rows

    @property
    def attributes(self) -> Sequence[SplitAttribute]:
        return self._training.attributes

    def count(self, slots: int, wanted: Ints) -> Iterator[tuple[int, Tally]]:
        return self._counter.count(self._table, self._rows, slots)

    def send_on(self, routes: Routes, live: int) -> None:
        self._table, self._rows = route(self._engine, self._training, self._table, routes, live=live, rows=self._rows)

    def close(self) -> None:
        self._engine.drop_table(self._table, temporary=True)


@dataclass
class ArrayRows:
    """Cells: per attribute the code of every cell, its class or response, and how many rows it stands for."""

    attributes: Sequence[SplitAttribute]
    codes: Sequence[NDArray[Any]]
    classes: NDArray[Any]  # of a regression the response, as a whole number
    number: int  # of classes; 0: a regression
    rows: Ints
    _cells: Ints = field(init=False)  # those in open nodes
    _slot: Ints = field(init=False)

    def __post_init__(self) -> None:
        self._cells = np.arange(len(self.rows))
        self._slot = np.ones(len(self.rows), dtype=np.int64)

    @property
    def root(self) -> Ints:
        """The histogram of all rows."""
        if self.number:
            return np.bincount(self.classes, weights=self.rows, minlength=self.number).astype(np.int64)
        return np.array([moment.sum() for moment in _moments(self.classes.astype(np.int64), self.rows)])

    def count(self, slots: int, wanted: Ints) -> Iterator[tuple[int, Tally]]:
        asked = np.zeros(slots, dtype=bool)
        asked[wanted] = True
        here = np.flatnonzero(asked[self._slot])
        cells, slot = self._cells[here], self._slot[here]
        klass, rows = self.classes[cells], self.rows[cells]
        for place, one in enumerate(self.attributes):
            code = self.codes[place][cells]
            if self.number:
                yield place, tally_of(slot, code, klass, rows, slots, one.size, self.number)
            else:
                yield place, moments_of(slot, code, _moments(klass.astype(np.int64), rows), one.size)

    def send_on(self, routes: Routes, live: int) -> None:
        attribute = np.array(routes.attribute)[self._slot]
        target = np.array(routes.low)[self._slot]
        for place in routes.used_attributes:
            mine = np.flatnonzero(attribute == place)
            target[mine] = self._children(routes, place, self._slot[mine], self.codes[place][self._cells[mine]])
        going = np.flatnonzero(target > 0)
        self._cells, self._slot = self._cells[going], target[going]

    def _children(self, routes: Routes, place: int, slot: Ints, code: NDArray[Any]) -> Ints:
        below = (code <= np.array(routes.cut)[slot]) | (code == np.array(routes.low_null)[slot])
        target = np.where(below, np.array(routes.low)[slot], np.array(routes.high)[slot])
        grouped = [one for one in routes.children if routes.attribute[one] == place]
        if not grouped:
            return target
        table = np.array([routes.children[one] for one in grouped], dtype=np.int64)
        row = np.full(routes.slots, NEVER)
        row[grouped] = np.arange(len(grouped))
        here = np.flatnonzero(row[slot] != NEVER)
        target[here] = table[row[slot[here]], code[here]]
        return target

    def close(self) -> None:
        """Arrays need no closing."""


def _moments(response: Ints, rows: Ints) -> list[Ints]:
    """Rows, sum and sum of squares of a response, per cell."""
    return [rows, rows * response, rows * response * response]


@dataclass(frozen=True)
class ValueAttribute:
    """An attribute of cells, every value with its own code, NULL last."""

    attribute: Attribute
    size: int
    null: int | None

    @property
    def gaps(self) -> Flags:
        return np.ones(self.size - (self.null is not None), dtype=bool)
