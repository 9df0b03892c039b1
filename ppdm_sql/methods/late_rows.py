"""Rows that come after a release was made, sent down its recoding: as fine as so few of them can be.

Every cell starts at the most specific node whose labels are true of it.  From the deepest nodes upwards, a node whose
rows do not meet the requirements either hands them on to its coarser node or takes rows of one class below it,
whichever loses less: as many as are needed where the class meets the requirements without them, else all of them.  What
is left at the coarsest node and is too little waits.

Rows with another history (they were published before, in different classes) are never put together: an attacker who
holds the earlier release can tell them apart.  They meet the requirements with the values that they had as well.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ppdm_sql.cells.parts import DROPPED, Parts
from ppdm_sql.methods.recoding import Recoding
from ppdm_sql.methods.shared.labels import same_rows
from ppdm_sql.methods.shared.limits import Demands, Secret
from ppdm_sql.source.lines import Ints

_WAITS = -1
_TRIED = 12  # classes below a node that are tried as partners, the cheapest first


@dataclass(frozen=True)
class FormerColumn:
    """A sensitive column as it was published before: what is required of it, and its code in each cell."""

    secret: Secret
    codes: Ints
    histories: frozenset[int]  # whose rows have had such values


@dataclass(frozen=True)
class LateRows:
    """The cells of late rows with what the requirements count in them."""

    node: Ints  # per cell the most specific node of the recoding
    rows: Ints
    persons: Ints
    secrets: tuple[Ints, ...]  # per sensitive column the code of each cell
    history: Ints  # per cell a number; 0: its rows were never published
    former: tuple[FormerColumn, ...] = ()
    turn: Ints | None = None  # a secret order of the cells: which rows of a class others take must tell nothing of them


@dataclass(frozen=True)
class LatePlan:
    """Where late rows are published: parts and what they print.  Rows that wait are dropped from the parts."""

    parts: Parts
    labels: dict[str, list[str | None]]
    loss: float  # of the rows that are published, by the recoding's own measure; 1 where there are none

    @property
    def published(self) -> int:
        """How many classes there are."""
        return self.parts.classes


def place_late_rows(recoding: Recoding, late: LateRows, demands: Demands, *, due: bool = False) -> LatePlan:
    """The parts of late rows; each meets every requirement by itself.

    due: rows that are too few may not wait for others any longer, whatever their company loses.
    """
    node = np.full(len(late.node), _WAITS, dtype=np.int64)
    for history in np.unique(late.history).tolist():
        here = np.flatnonzero(late.history == history)
        former = [(one.secret, one.codes) for one in late.former if history in one.histories]
        node[here] = _Settling(recoding, late, demands, here, former, due).run()
    out = np.flatnonzero(node != _WAITS)
    if not len(out):
        return LatePlan(Parts(np.full(len(node), DROPPED), 0), {name: [] for name in recoding.names}, 1.0)
    used, place = np.unique(node[out], return_inverse=True)
    printed = recoding.labels(used)
    number = same_rows(np.column_stack([_numbered(texts) for texts in printed.values()]))  # nodes that print the same
    part = np.full(len(node), DROPPED)
    part[out] = same_rows(np.column_stack([number[place], late.history[out]]))
    classes, first = np.unique(part[out], return_index=True)
    labels = {name: [texts[place[at]] for at in first.tolist()] for name, texts in printed.items()}
    lost = float((recoding.losses[node[out]] * late.rows[out]).sum() / late.rows[out].sum())
    return LatePlan(Parts(part, len(classes)), labels, lost)


def _numbered(texts: Sequence[str | None]) -> Ints:
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    return np.array([places[text] for text in texts], dtype=np.int64)


@dataclass
class _Group:
    """Cells that would be published together."""

    cells: list[int]
    rows: int
    persons: int

    def add(self, other: _Group) -> None:
        self.cells += other.cells
        self.rows += other.rows
        self.persons += other.persons


@dataclass
class _Settling:
    """One history: groups move up the recoding until every one of them may be a class."""

    recoding: Recoding
    late: LateRows
    demands: Demands
    here: Ints
    former: Sequence[tuple[Secret, Ints]] = ()
    due: bool = False
    groups: dict[int, _Group] = field(default_factory=dict)  # node -> what is there now
    classes: dict[int, _Group] = field(default_factory=dict)  # node -> a class that meets the requirements
    below: dict[int, list[int]] = field(default_factory=dict)  # node -> classes at it and below it

    def run(self) -> Ints:
        """Per cell of `here` the node it is published at, or that it waits."""
        self._start()
        waiting = sorted(self.groups)
        while waiting:  # the highest number first: children come after their parents
            node = waiting.pop()
            parent = int(self.recoding.coarser[node])
            self._settle(node, parent)
            if parent >= 0 and parent not in self.groups and (node in self.groups or self.below.get(node)):
                self.groups[parent] = _Group([], 0, 0)
                insort(waiting, parent)
            if parent >= 0:
                self.below.setdefault(parent, []).extend(self.below.pop(node, []))
                if node in self.groups:
                    self._join(parent, self.groups.pop(node))
        found = np.full(len(self.late.node), _WAITS, dtype=np.int64)
        for node, group in self.classes.items():
            found[group.cells] = node
        return found[self.here]

    def _start(self) -> None:
        """Puts every cell where it may become a class: below a node that has k people nothing can."""
        node = self._crowded(self.late.node[self.here], self.late.persons[self.here])
        order = np.argsort(node, kind="stable")
        for cells in np.split(order, np.flatnonzero(np.diff(node[order])) + 1):
            here = self.here[cells]
            self.groups[int(node[cells[0]])] = self._group(here.tolist())

    def _crowded(self, node: Ints, persons: Ints) -> Ints:
        """Per cell the lowest node at it or above it that has k people at it and below it, else the coarsest one."""
        coarser = self.recoding.coarser
        total = np.zeros(len(coarser), dtype=np.int64)
        here, places = node.copy(), np.arange(len(node))
        while len(places):
            np.add.at(total, here[places], persons[places])
            here[places] = coarser[here[places]]
            places = places[here[places] >= 0]
        here = node.copy()
        while True:
            rising = (total[here] < self.demands.k) & (coarser[here] >= 0)
            if not rising.any():
                return here
            here[rising] = coarser[here[rising]]

    def _join(self, node: int, group: _Group) -> None:
        if node in self.groups:
            self.groups[node].add(group)
        else:
            self.groups[node] = group

    def _settle(self, node: int, parent: int) -> None:
        """Makes a class of what is at a node, with the rows of one below it where that loses less than going up."""
        group = self.groups[node]
        if not group.cells:
            del self.groups[node]
            return
        if not self.recoding.printable[node]:
            return
        if not self._meets(group.cells, group.persons):
            partners = self._partners(node, parent, group)
            if not partners:
                return
            for one, cells in partners:
                self._take(group, node, one, cells)
        self.classes[node] = self.groups.pop(node)
        self.below.setdefault(node, []).append(node)

    def _take(self, group: _Group, node: int, one: int, cells: list[int]) -> None:
        """Moves cells of a class below a node into the group that is there."""
        lender = self.classes[one]
        moved = self._group(cells)
        group.add(moved)
        if len(cells) == len(lender.cells):
            del self.classes[one]
            self.below[node].remove(one)
        else:
            gone = set(cells)
            left = [cell for cell in lender.cells if cell not in gone]
            self.classes[one] = _Group(left, lender.rows - moved.rows, lender.persons - moved.persons)

    def _group(self, cells: list[int]) -> _Group:
        return _Group(cells, int(self.late.rows[cells].sum()), int(self.late.persons[cells].sum()))

    def _partners(self, node: int, parent: int, group: _Group) -> list[tuple[int, list[int]]]:
        """The class below a node, and those of its cells that cost least to be made coarser, if that costs less than
        going up.

        Several classes where rows are due that can go no further up.
        """
        losses, k = self.recoding.losses, self.demands.k
        is_top = parent < 0 or not self.recoding.printable[parent]
        if is_top and group.persons < k and not self.due:
            return []  # so few can wait for others
        worse = {one: float(losses[node] - losses[one]) for one in self.below.get(node, ())}
        most = np.inf if is_top else group.rows * float(losses[parent] - losses[node])
        needed = max(k - group.persons, 1)
        spare = {one: self.classes[one].persons - needed >= k for one in worse}
        price = {one: (needed if spare[one] else self.classes[one].rows) * worse[one] for one in worse}
        cheapest = sorted((one for one in price if price[one] <= most), key=lambda one: (price[one], one))
        for one in cheapest[:_TRIED]:
            lent = self._lent(group, one) if spare[one] else []
            if lent and int(self.late.rows[lent].sum()) * worse[one] <= most:
                return [(one, lent)]
            if self.classes[one].rows * worse[one] <= most and self._meets_with(group, [one]):
                return [(one, self.classes[one].cells)]
        if is_top and self.due:
            numbers = range(2, len(cheapest) + 1)
            few = next((cheapest[:n] for n in numbers if self._meets_with(group, cheapest[:n])), [])
            return [(one, self.classes[one].cells) for one in few]
        return []

    def _lent(self, group: _Group, one: int) -> list[int]:
        """Cells of a class that make a class of the group and leave one; none where a few tries find none."""
        turn = self.late.turn
        cells = sorted(self.classes[one].cells, key=lambda cell: (0 if turn is None else int(turn[cell]), cell))
        persons = np.cumsum(self.late.persons[cells])
        first = int(np.searchsorted(persons, self.demands.k - group.persons)) + 1
        for number in range(first, min(first + _TRIED, len(cells))):
            lent, rest = int(persons[number - 1]), int(persons[-1] - persons[number - 1])
            if self._meets([*group.cells, *cells[:number]], group.persons + lent):
                return cells[:number] if self._meets(cells[number:], rest) else []
        return []

    def _meets_with(self, group: _Group, classes: list[int]) -> bool:
        others = [self.classes[one] for one in classes]
        cells = [*group.cells, *(cell for other in others for cell in other.cells)]
        return self._meets(cells, group.persons + sum(other.persons for other in others))

    def _meets(self, cells: list[int], persons: int) -> bool:
        if persons < self.demands.k:
            return False
        place = np.array(cells)
        for secret, codes in [*zip(self.demands.secrets, self.late.secrets, strict=True), *self.former]:
            width = len(secret.reference) + 1  # NULL comes last
            counts = np.bincount(codes[place], weights=self.late.rows[place], minlength=width).astype(np.int64)
            if not secret.holds(counts.reshape(1, -1))[0]:
                return False
        return True
