"""Rows by kind while kACTUS moves them about, and which kinds leave a bag: counts only.

A choice looks at one class after the other and never at a row.  What an entropy changes by follows from the one
class that gains or loses a row, so that a choice costs as much as there are classes, however large the bag is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heapreplace
from math import inf, log2


@dataclass(frozen=True)
class Kinds:
    """The kinds of rows: the class of each, and what it weighs for k (0: a person's further rows)."""

    classes: Sequence[int]
    weights: Sequence[int]

    @cached_property
    def number(self) -> int:
        """How many classes there are."""
        return max(self.classes, default=-1) + 1


Counts = Mapping[int, int]  # kind -> rows


def added(*some: Counts) -> dict[int, int]:
    """Both together.

    >>> added({0: 1}, {0: 2, 1: 1})
    {0: 3, 1: 1}
    """
    found = dict(some[0])
    for counts in some[1:]:
        for kind, rows in counts.items():
            found[kind] = found.get(kind, 0) + rows
    return found


def left_of(counts: Counts, taken: Counts) -> dict[int, int]:
    """What stays.

    >>> left_of({0: 3, 1: 1, 2: 5}, {0: 1, 1: 1})
    {0: 2, 2: 5}
    """
    left = {kind: rows - taken.get(kind, 0) for kind, rows in counts.items()}
    return {kind: rows for kind, rows in left.items() if rows}


# -- bags ------------------------------------------------------------------------------------------------


class Bag:
    """Rows by kind, and in chunks by the leaf they come from.  A bag of one leaf has its counts as its chunk."""

    __slots__ = ("_waiting", "chunks", "counts", "size", "weight")

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.chunks: list[tuple[int, dict[int, int]]] = []
        self.weight = 0
        self.size = 0
        self._waiting: dict[int, list[tuple[int, dict[int, int]]]] | None = None  # kind -> chunks, the first leaf last

    @classmethod
    def of_leaf(cls, leaf: int, counts: Counts, kinds: Kinds) -> Bag:
        bag = cls()
        bag.counts = dict(counts)
        bag.chunks = [(leaf, bag.counts)]
        for kind, rows in bag.counts.items():
            bag.size += rows
            bag.weight += rows * kinds.weights[kind]
        return bag

    def add(self, other: Bag) -> None:
        """All rows of another bag, which is no longer used."""
        if self.chunks and self.counts is self.chunks[0][1]:
            self.counts = dict(self.counts)
        for kind, rows in other.counts.items():
            self.counts[kind] = self.counts.get(kind, 0) + rows
        self.chunks += other.chunks
        self.weight += other.weight
        self.size += other.size
        self._waiting = None

    def taken(self, some: Counts, kinds: Kinds) -> Bag:
        """Takes so many rows of each kind out, from the first leaves that have any, and gives them."""
        found = Bag()
        for kind, rows in some.items():
            self._take(kind, rows, found.chunks)
            found.counts[kind] = rows
            found.size += rows
            found.weight += rows * kinds.weights[kind]
        self.size -= found.size
        self.weight -= found.weight
        return found

    def _take(self, kind: int, rows: int, into: list[tuple[int, dict[int, int]]]) -> None:
        if self.counts is not self.chunks[0][1]:
            _less(self.counts, kind, rows)
        while rows:
            leaf, chunk = self._first(kind)
            some = min(rows, chunk[kind])
            _less(chunk, kind, some)
            into.append((leaf, {kind: some}))
            rows -= some

    def _first(self, kind: int) -> tuple[int, dict[int, int]]:
        """The first leaf that has rows of a kind, by a list per kind that is made once."""
        if len(self.chunks) == 1:
            return self.chunks[0]
        if self._waiting is None:
            self._waiting = {}
            for chunk in sorted(self.chunks, key=lambda one: -one[0]):
                for one in chunk[1]:
                    self._waiting.setdefault(one, []).append(chunk)
        waiting = self._waiting[kind]
        while kind not in waiting[-1][1]:
            waiting.pop()
        return waiting[-1]


def _less(counts: dict[int, int], kind: int, rows: int) -> None:
    counts[kind] -= rows
    if not counts[kind]:
        del counts[kind]


# -- choosing --------------------------------------------------------------------------------------------


def entropy(counts: Sequence[int]) -> float:
    """Bits per row, to nine digits: what differs by less is equal, so that ties are decided by a written rule.

    >>> entropy([2, 2]), entropy([3, 0]), entropy([]), entropy([2, 1])
    (1.0, 0.0, 0.0, 0.918295834)
    """
    rows = sum(counts)
    return _per_row(rows, sum(map(_weighed, counts)))


def _weighed(rows: int) -> float:
    return rows * log2(rows) if rows else 0.0


def _per_row(rows: int, weighed: float) -> float:
    return round(log2(rows) - weighed / rows, 9) + 0.0 if rows else 0.0


class _Spread:
    """Rows per class, and what the entropy would be with one row more or less of one of them."""

    def __init__(self, counts: Counts, kinds: Kinds) -> None:
        self.classes = [0] * kinds.number
        for kind, rows in counts.items():
            self.classes[kinds.classes[kind]] += rows
        self._rows = sum(self.classes)
        self._weighed = sum(map(_weighed, self.classes))

    def purest(self, among: Iterable[int], by: int) -> int:
        """The class that leaves the least entropy; of equal ones the one with most rows, then the first."""
        rows, best = self._rows + by, (inf, 0, 0)
        bits = log2(rows) if rows else 0.0
        for one in among:
            here = self.classes[one]
            weighed = self._weighed - _weighed(here) + _weighed(here + by)
            mixed = round(bits - weighed / rows, 9) if rows else 0.0
            if mixed <= best[0]:
                best = min(best, (mixed, -here, one))
        return best[2]

    def change(self, one: int, by: int) -> None:
        here = self.classes[one]
        self._weighed += _weighed(here + by) - _weighed(here)
        self.classes[one] = here + by
        self._rows += by


class _Leaving(_Spread):
    """Rows that leave a bag one by one: of a class a row of the kind that has most, among those that count for k."""

    def __init__(self, counts: Counts, kinds: Kinds) -> None:
        super().__init__(counts, kinds)
        self.taken: dict[int, int] = {}
        self.there: dict[int, list[tuple[int, int]]] = {}  # class -> heap of (- rows, kind)
        for kind, rows in counts.items():
            if kinds.weights[kind]:
                self.there.setdefault(kinds.classes[kind], []).append((-rows, kind))
        for heap in self.there.values():
            heapify(heap)

    def take(self, one: int) -> None:
        heap = self.there[one]
        rows, kind = heap[0]
        if rows < -1:
            heapreplace(heap, (rows + 1, kind))
        elif heappop(heap) and not heap:
            del self.there[one]
        self.taken[kind] = self.taken.get(kind, 0) + 1
        self.change(one, -1)


def selected(giver: Counts, required: int, kinds: Kinds) -> Counts:
    """The rows whose loss leaves a giver purest, one after the other.

    >>> selected({0: 2, 1: 5}, 3, Kinds([0, 1], [1, 1]))
    {0: 2, 1: 1}
    """
    left = _Leaving(giver, kinds)
    for _ in range(required):
        left.take(left.purest(left.there, -1))
    return left.taken


def swapped(giver: Counts, taker: Counts, required: int, kinds: Kinds) -> tuple[float, Counts]:
    """A trial: rows of the class that leaves the taker purest, if the giver has it; and how mixed the giver is then.

    >>> swapped({0: 2, 1: 5}, {0: 3}, 3, Kinds([0, 1], [1, 1]))
    (0.0, {0: 2, 1: 1})
    """
    left, there = _Leaving(giver, kinds), _Spread(taker, kinds)
    for _ in range(required):
        wanted = there.purest(range(kinds.number), 1)
        if wanted not in left.there:
            wanted = left.purest(left.there, -1)
        left.take(wanted)
        there.change(wanted, 1)
    return entropy(left.classes), left.taken
