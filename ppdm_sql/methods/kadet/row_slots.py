"""Where the rows are while a tree grows: a cell is a node and a span, and a slot of the coded table.

What moves is counted, and nothing else: cells that rows move into get numbers above all others.  Which of them
really get rows is known when they have been counted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ppdm_sql.engines.base import Engine
from ppdm_sql.statements.names import Name
from ppdm_sql.trees.coded import Training
from ppdm_sql.trees.counts import Counter, Tally
from ppdm_sql.trees.criteria import Ints
from ppdm_sql.trees.moving import Moves, move, rewrite

MOST_SLOTS = 1 << 31
Cell = tuple[int, int]  # node, span


@dataclass(frozen=True)
class Branching:
    """A split in codes: of a cut the last code of the first branch, else the branch of every code."""

    attribute: int
    public: bool
    cut: int | None = None
    branch: Ints | None = None

    def of(self, codes: Ints) -> Ints:
        """The branch of each of some codes."""
        if self.cut is not None:
            return (codes > self.cut).astype(np.int64)
        assert self.branch is not None
        return np.asarray(self.branch[codes])

    @cached_property
    def highest(self) -> int:
        return 1 if self.branch is None else int(self.branch.max(initial=0))

    @cached_property
    def by_code(self) -> list[int]:
        return [] if self.branch is None else [int(branch) for branch in self.branch]


@dataclass(frozen=True)
class Leaving:
    """Cells whose rows move: by branch to which cell.  Rows of other branches are not looked at any more."""

    cells: Sequence[Cell]
    branching: Branching
    going: Mapping[int, Cell]  # the first of the cells: its rows stay

    @property
    def moves(self) -> bool:
        return any(target != self.cells[0] for target in self.going.values())


@dataclass
class Rows:
    """The coded table and its cells."""

    engine: Engine
    training: Training
    cells: dict[int, dict[int, int]] = field(default_factory=lambda: {0: {0: 1}})  # span -> node -> slot
    _fresh: list[Cell] = field(default_factory=lambda: [(0, 0)])  # not counted yet, by their slots
    _first: int = 1  # slot of a fresh cell
    _table: Name = field(init=False)
    _table_rows: int = field(init=False)
    _moved: int = field(init=False)  # rows in fresh cells, at most

    def __post_init__(self) -> None:
        self._table, self._table_rows = self.training.table, self.training.rows
        self._moved = self._table_rows
        self._counter = Counter(self.engine, self.training)

    def count(self) -> tuple[list[Cell], list[Tally]]:
        """The cells that rows have moved into since the last count, and per attribute their codes.

        Slots of the tallies are places in the list.  A cell that got no row is gone.
        """
        fresh = self._fresh
        if not fresh:
            return [], []
        some = self._first > 1  # else there are no other cells, and the first slot is 1
        first, slots = (self._first, len(fresh)) if some else (0, len(fresh) + 1)
        tallies: list[Tally | None] = [None] * len(self.training.attributes)
        for attribute, tally in self._counter.count(self._table, min(self._moved, self._table_rows), slots, first):
            tallies[attribute] = tally if some else Tally(tally.slot - 1, tally.code, tally.counts)
        found = [tally for tally in tallies if tally is not None]
        there = np.bincount(found[0].slot, minlength=len(fresh)) > 0
        for place in np.flatnonzero(~there):
            node, span = fresh[place]
            del self.cells[span][node]
        self._fresh, self._first = [], self._first + len(fresh)
        return fresh, found

    def send_on(self, leaving: Sequence[Leaving], live: Collection[int], *, moved: int, left: int) -> None:
        """Every row of these cells to its new one.

        live: the spans that are still looked at, with this many rows left in them; moved: rows in leaving cells.
        """
        moving: list[tuple[list[int], Leaving]] = []
        for one in leaving:
            slots = [self.cells[span].pop(node) for node, span in one.cells]
            if one.moves:
                moving.append((slots, one))
            elif one.going:
                self._keep(one.cells[0], slots[0])
        if not moving:
            return
        few = moved * 2 < self._table_rows <= left * 2
        most = sum(len(one.going) for _, one in moving)
        if few and self.engine.updates_in_place and self._first + most < MOST_SLOTS:
            for slots, one in moving:
                if one.cells[0] in one.going.values():
                    self._keep(one.cells[0], slots[0])
            move(self.engine, self.training, self._table, self._moves(moving, Moves(), in_place=True))
        else:
            moves = self._moves(moving, self._renumbered(live), in_place=False)
            self._table, self._table_rows = rewrite(self.engine, self.training, self._table, moves), left
        self._moved = moved

    def _keep(self, cell: Cell, slot: int) -> None:
        self.cells[cell[1]][cell[0]] = slot

    def _renumbered(self, live: Collection[int]) -> Moves:
        """All cells from 1 on, but for those of spans that are not looked at any more."""
        moves = Moves()
        self.cells = {span: cells for span, cells in self.cells.items() if span in live}
        self._first = 1
        for cells in self.cells.values():
            for node, slot in cells.items():
                moves.whole([slot], self._first)
                cells[node] = self._first
                self._first += 1
        return moves

    def _moves(self, moving: Sequence[tuple[list[int], Leaving]], moves: Moves, *, in_place: bool) -> Moves:
        for slots, one in moving:
            going = {b: self._slot(cell) for b, cell in one.going.items() if not in_place or cell != one.cells[0]}
            branching = one.branching
            if branching.cut is not None:
                moves.cut(slots, branching.attribute, branching.cut, going.get(0, 0), going.get(1, 0))
            else:
                moves.groups(slots, branching.attribute, [going.get(b, 0) for b in branching.by_code])
        return moves

    def _slot(self, cell: Cell) -> int:
        node, span = cell
        cells = self.cells.setdefault(span, {})
        if node not in cells:
            cells[node] = self._first + len(self._fresh)
            self._fresh.append(cell)
        return cells[node]

    def close(self) -> None:
        self.engine.drop_table(self._table, temporary=True)
