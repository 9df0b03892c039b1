"""Where the rows are while a tree grows: a slot is a node and a span, and the entries of the table that are in it.

What moves is counted, and nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ppdm_sql.induction.counts import Tally, tally_of
from ppdm_sql.induction.criteria import Ints
from ppdm_sql.methods.kadet.kadet_cells import KadetTable

Slot = tuple[int, int]  # node, span


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


@dataclass(frozen=True)
class Leaving:
    """Slots whose rows move: by branch to which slot.  Rows of other branches are no longer looked at."""

    slots: Sequence[Slot]
    branching: Branching
    going: Mapping[int, Slot]  # the first of the slots: its rows stay

    @property
    def moves(self) -> bool:
        return any(target != self.slots[0] for target in self.going.values())


@dataclass
class Rows:
    """The entries by span and node."""

    table: KadetTable
    slots: dict[int, dict[int, Ints]] = field(init=False)  # span -> node -> entries
    _fresh: list[Slot] = field(default_factory=lambda: [(0, 0)])  # not counted yet

    def __post_init__(self) -> None:
        self.slots = {0: {0: np.arange(len(self.table.rows))}}

    def count(self) -> tuple[list[Slot], list[Tally]]:
        """The slots that rows have moved into since the last count, and per attribute their codes.

        Slots of the tallies are places in the list.
        """
        fresh, self._fresh = self._fresh, []
        if not fresh:
            return [], []
        entries = [self.slots[span][node] for node, span in fresh]
        here = np.concatenate(entries)
        slot = np.repeat(np.arange(len(fresh)), [len(one) for one in entries])
        kinds, rows = self.table.kinds[here], self.table.rows[here]
        return fresh, [
            tally_of(slot, codes[here], kinds, rows, len(fresh), one.size, self.table.number)
            for one, codes in zip(self.table.attributes, self.table.codes, strict=True)
        ]

    def send_on(self, leaving: Sequence[Leaving], live: Collection[int]) -> None:
        """Every row of these slots to its new one.  live: the spans that are still looked at."""
        moving = [([self.slots[span].pop(node) for node, span in one.slots], one) for one in leaving]
        for entries, one in moving:
            if not one.moves:
                if one.going:
                    self._put(one.slots[0], entries[0], is_fresh=False)
                continue
            here = np.concatenate(entries)
            branch = one.branching.of(self.table.codes[one.branching.attribute][here])
            for taken, target in one.going.items():
                self._put(target, here[branch == taken], is_fresh=target != one.slots[0])
        self.slots = {span: nodes for span, nodes in self.slots.items() if span in live}

    def _put(self, slot: Slot, entries: Ints, *, is_fresh: bool) -> None:
        """A slot that gets no row is none."""
        if not len(entries):
            return
        node, span = slot
        nodes = self.slots.setdefault(span, {})
        if node in nodes:
            nodes[node] = np.concatenate([nodes[node], entries])
            return
        nodes[node] = entries
        if is_fresh:
            self._fresh.append(slot)
