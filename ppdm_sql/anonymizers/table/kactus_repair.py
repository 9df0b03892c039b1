"""Which rows keep which part of their way through the tree: decided from counts, without a single row.

Kisilevich, Elovici, Shapira, Rokach: kACTUS 2 (ISIPS 2008), and its predecessor kACTUS (TKDE 2010).
docs/methods/kactus.md says where this departs from print and why.

    the paper                                  here
    main loop, deepest leaf first              repair, _Repair.run
    PERFORM_ANONYMIZATION                      _Repair.settle
    PERFORM_SWAPPING, VIRTUAL_SWAP             _Repair.swap, _swapped
    PERFORM_SUPPRESSION and its selection      _Repair.suppress, _purest
    kACTUS: rows taken at random               _Repair.borrow

Rows that are alike in class, sensitive values and weight are of one kind.  They are interchangeable here; which
of them it is that is moved is left to the database.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import log2

ROOT = 0


@dataclass(frozen=True)
class Node:
    """A node of the tree by its place in the list; children come after their parents.

    named: the value that leads to it may be printed.  It may not where fewer than k people hold it.
    """

    parent: int | None
    children: tuple[int, ...] = ()
    named: bool = True


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
Holds = Callable[[Counts], bool]


@dataclass(frozen=True)
class Rules:
    """The requirements and the options of the method."""

    k: int
    informed: bool = True  # kACTUS-2; else rows are borrowed at random, as in kACTUS
    swap_threshold: Fraction = Fraction(0)
    pool_non_complying: bool = False
    compensate_at_root: bool = False
    join_existing_group: bool = False
    strict_swap: bool = False
    may_drop: bool = True  # not where t compares with the whole table: without some rows it is another one
    seed: int = 0
    holds: Holds | None = None  # what is required beside k


@dataclass(frozen=True)
class Move:
    """So many rows of a leaf and kind are printed with the way to a node; None: they are dropped."""

    leaf: int
    kind: int
    rows: int
    target: int | None


def repair(nodes: Sequence[Node], rows: Mapping[int, Counts], kinds: Kinds, rules: Rules) -> list[Move]:
    """The moves of all rows.  The whole table must meet the requirements.

    >>> tree = [Node(None, (1, 2)), Node(0), Node(0)]
    >>> repair(tree, {1: {0: 5}, 2: {0: 2, 1: 1}}, Kinds([0, 1], [1, 1]), Rules(k=4))
    [Move(leaf=1, kind=0, rows=5, target=1), Move(leaf=2, kind=0, rows=2, target=None), \
Move(leaf=2, kind=1, rows=1, target=None)]
    """
    return _Repair(nodes, kinds, rules, rows).run()


# -- bags of rows ----------------------------------------------------------------------------------------


class Bag:
    """Rows by kind and the leaf they come from, with the figures that are asked for again and again."""

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self.rows: dict[int, dict[int, int]] = {}  # kind -> leaf -> rows
        self.counts: dict[int, int] = {}
        self.classes = [0] * kinds.number
        self.weight = 0
        self.size = 0

    def copy(self) -> Bag:
        other = Bag(self._kinds)
        other.add(self)
        return other

    def put(self, kind: int, leaf: int, rows: int) -> None:
        """Adds rows; a negative number takes some out."""
        of_kind = self.rows.setdefault(kind, {})
        of_kind[leaf] = of_kind.get(leaf, 0) + rows
        if not of_kind[leaf]:
            del of_kind[leaf]
        self.counts[kind] = self.counts.get(kind, 0) + rows
        if not self.counts[kind]:
            del self.counts[kind], self.rows[kind]
        self.classes[self._kinds.classes[kind]] += rows
        self.weight += rows * self._kinds.weights[kind]
        self.size += rows

    def add(self, other: Bag) -> None:
        for kind, leaves in other.rows.items():
            for leaf, rows in leaves.items():
                self.put(kind, leaf, rows)

    def moved(self, kind: int, other: Bag) -> None:
        """One row goes to another bag, from the first leaf that has one."""
        leaf = min(self.rows[kind])
        self.put(kind, leaf, -1)
        other.put(kind, leaf, 1)

    def of_class(self) -> dict[int, int]:
        """Per class the kind to take a row of: one that counts for k, the most frequent, then the first."""
        best: dict[int, int] = {}
        for kind in sorted(self.counts, key=lambda one: (-self.counts[one], one)):
            if self._kinds.weights[kind]:
                best.setdefault(self._kinds.classes[kind], kind)
        return best


def entropy(counts: Sequence[int]) -> float:
    """Bits per row, to nine digits: what differs by less is equal, so that ties are decided by a written rule.

    >>> entropy([2, 2]), entropy([3, 0]), entropy([]), entropy([2, 1])
    (1.0, 0.0, 0.0, 0.918295834)
    """
    rows = sum(counts)
    if not rows:
        return 0.0
    return round(log2(rows) - sum(n * log2(n) for n in counts if n) / rows, 9) + 0.0


def _changed(counts: Sequence[int], at: int, by: int) -> float:
    after = list(counts)
    after[at] += by
    return entropy(after)


def _purest(bag: Bag, of_class: Mapping[int, int]) -> int:
    """The class whose loss leaves the bag purest; of equal ones the one with most rows, then the first."""
    return min(of_class, key=lambda one: (_changed(bag.classes, one, -1), -bag.classes[one], one))


def _swapped(giver: Bag, taker: Bag, required: int) -> tuple[Bag, Bag]:
    """Both bags after a trial; each row is of the class that leaves the taker purest, if the giver has it."""
    giver, taker = giver.copy(), taker.copy()
    for _ in range(required):
        every = range(len(taker.classes))
        wanted = min(every, key=lambda one: (_changed(taker.classes, one, 1), -taker.classes[one], one))
        of_class = giver.of_class()
        if wanted not in of_class:
            wanted = _purest(giver, of_class)
        giver.moved(of_class[wanted], taker)
    return giver, taker


def _selected(giver: Bag, required: int) -> tuple[Bag, Bag]:
    """A giver without the rows whose loss leaves it purest, and these rows."""
    giver, taken = giver.copy(), Bag(giver._kinds)
    for _ in range(required):
        of_class = giver.of_class()
        giver.moved(of_class[_purest(giver, of_class)], taken)
    return giver, taken


# -- the repair ------------------------------------------------------------------------------------------


@dataclass
class _Repair:
    nodes: Sequence[Node]
    kinds: Kinds
    rules: Rules
    rows: Mapping[int, Counts]
    _bags: dict[int, Bag] = field(default_factory=dict)
    _emitted: dict[int, Bag] = field(default_factory=dict)
    _draws: int = 0

    def run(self) -> list[Move]:
        for leaf, counts in self.rows.items():
            self._bags[leaf] = bag = Bag(self.kinds)
            for kind, rows in sorted(counts.items()):
                bag.put(kind, leaf, rows)
        # Children have greater numbers than their parents: this order handles them first.
        for number in range(len(self.nodes) - 1, ROOT, -1):
            if self.nodes[number].children:
                self.settle(number)
        if self.rules.compensate_at_root:
            self.settle(ROOT)
        else:
            self._settle_roots()
        return self._moves(self._finish(self._bags.pop(ROOT, Bag(self.kinds))))

    def complies(self, bag: Bag) -> bool:
        met = bag.weight >= self.rules.k and bag.size > 0
        return met and (self.rules.holds is None or self.rules.holds(bag.counts))

    def emit(self, bag: Bag, target: int) -> None:
        self._emitted.setdefault(target, Bag(self.kinds)).add(bag)

    def settle(self, parent: int) -> None:
        """Publishes what can be of the leaves below a node; the rest is the node's own, which becomes a leaf."""
        kids = [child for child in self.nodes[parent].children if child in self._bags and self._bags[child].size]
        if sum(self._bags[child].weight for child in kids) >= self.rules.k:
            fine = [child for child in kids if self.complies(self._bags[child])]
            for child in [child for child in fine if not self.nodes[child].named]:
                fine.remove(child)
                self.emit(self._bags.pop(child), parent)  # enough rows, but no value that could be printed
            small = [child for child in kids if child in self._bags and child not in fine]
            if self.rules.informed:
                small = self.swap(fine, small)
            self._compensate(fine, small, parent)
            for child in fine:
                self.emit(self._bags.pop(child), child)
        rest = Bag(self.kinds)
        for child in (parent, *kids):
            if child in self._bags:
                rest.add(self._bags.pop(child))
        if not self._joined(rest, parent):
            self._bags[parent] = rest

    def _settle_roots(self) -> None:
        """The values of the first attribute have no parent to share rows by: each stands for itself."""
        rest = self._bags.pop(ROOT, Bag(self.kinds))
        for child in self.nodes[ROOT].children:
            bag = self._bags.pop(child, Bag(self.kinds))
            if self.nodes[child].named and self.complies(bag):
                self.emit(bag, child)
            else:
                rest.add(bag)
        self._bags[ROOT] = rest

    def _joined(self, rest: Bag, target: int) -> bool:
        """Option join_existing_group: rows that found no partners join those already printed like this."""
        if not self.rules.join_existing_group or target not in self._emitted:
            return False
        together = self._emitted[target].copy()
        together.add(rest)
        if not self.complies(together):
            return False
        self._emitted[target] = together
        return True

    # -- kACTUS-2 ----------------------------------------------------------------------------------

    def swap(self, fine: Sequence[int], small: Sequence[int]) -> list[int]:
        """Rows of a large sibling get the value of a small one; gives the small ones that are left."""
        left = []
        most = self.rules.swap_threshold * self.rules.k // 1
        if not most:
            return list(small)
        for child in small:
            required = self.rules.k - self._bags[child].weight
            allowed = 0 < required <= most and self.nodes[child].named
            if not (allowed and self._swap_into(child, fine, required)):
                left.append(child)
        return left

    def _swap_into(self, child: int, fine: Sequence[int], required: int) -> bool:
        best: tuple[float, int, Bag, Bag] | None = None
        for other in fine:
            spare = self._bags[other].weight - self.rules.k
            if spare < required + self.rules.strict_swap:
                continue
            giver, taker = _swapped(self._bags[other], self._bags[child], required)
            mixed = entropy(giver.classes)
            if (best is None or mixed < best[0]) and self.complies(giver) and self.complies(taker):
                best = mixed, other, giver, taker
        if best is None:
            return False
        _, other, self._bags[other], taker = best
        self.emit(taker, child)
        del self._bags[child]
        return True

    def _compensate(self, fine: Sequence[int], small: Sequence[int], parent: int) -> None:
        """The small siblings lose their last value, alone or, with pool_non_complying, all together."""
        if not self.rules.informed or self.rules.pool_non_complying:
            lots = [list(small)] if self.rules.pool_non_complying else [[child] for child in small]
            for lot in filter(None, lots):
                self._compensate_lot(fine, lot, parent)
            return
        left = list(small)
        for giver in fine:
            left = [child for child in left if not self.suppress([giver], [child], parent)]

    def _compensate_lot(self, fine: Sequence[int], lot: Sequence[int], parent: int) -> None:
        pool = self._pool(lot)
        if self.complies(pool):
            self._publish_pool(lot, pool, parent)
        elif self.rules.informed:
            self.suppress(fine, lot, parent)
        else:
            self.borrow(fine, lot, parent)

    def _pool(self, lot: Sequence[int]) -> Bag:
        pool = Bag(self.kinds)
        for child in lot:
            pool.add(self._bags[child])
        return pool

    def _publish_pool(self, lot: Sequence[int], pool: Bag, parent: int) -> None:
        self.emit(pool, parent)
        for child in lot:
            del self._bags[child]

    def suppress(self, fine: Sequence[int], lot: Sequence[int], parent: int) -> bool:
        """One large sibling helps out with the rows that leave it purest; all of them lose the last value."""
        required = self.rules.k - sum(self._bags[child].weight for child in lot)
        if not any(0 < required <= self._bags[other].weight - self.rules.k for other in fine):
            return False
        pool = self._pool(lot)
        for other in fine:
            if not 0 < required <= self._bags[other].weight - self.rules.k:
                continue
            giver, taken = _selected(self._bags[other], required)
            taken.add(pool)
            if self.complies(giver) and self.complies(taken):
                self._bags[other] = giver
                self._publish_pool(lot, taken, parent)
                return True
        return False

    # -- kACTUS ------------------------------------------------------------------------------------

    def borrow(self, fine: Sequence[int], lot: Sequence[int], parent: int) -> None:
        """Large siblings, one after the other, help out with rows drawn at random, none below k."""
        pool = self._pool(lot)
        required = self.rules.k - pool.weight
        givers = {child: self._bags[child].copy() for child in fine}
        if not 0 < required <= sum(bag.weight - self.rules.k for bag in givers.values()):
            return
        for giver in givers.values():
            for _ in range(min(required, giver.weight - self.rules.k)):
                giver.moved(self._drawn(giver), pool)
                required -= 1
        if self.complies(pool) and all(map(self.complies, givers.values())):
            self._bags |= givers
            self._publish_pool(lot, pool, parent)

    def _drawn(self, bag: Bag) -> int:
        """The kind of a row drawn from those that count for k, each as likely as any other."""
        self._draws += 1
        text = f"{self.rules.seed}|{self._draws}".encode()
        place = int.from_bytes(hashlib.sha256(text).digest()) % bag.weight
        for kind in sorted(bag.counts):
            place -= bag.counts[kind] * self.kinds.weights[kind]
            if place < 0:
                return kind
        raise AssertionError("a bag weighs what its kinds weigh")

    # -- the end -----------------------------------------------------------------------------------

    def _finish(self, rest: Bag) -> Bag:
        """What nobody could place: printed without any value, or dropped; gives what is dropped.

        Fewer than k rows are dropped.  More, which do not comply for another reason, are joined by the smallest
        classes, one after the other, until they do: at the latest the whole table does.
        """
        if not rest.size or self._joined(rest, ROOT):
            return Bag(self.kinds)
        if not self.complies(rest) and rest.size < self.rules.k and self.rules.may_drop:
            return rest
        while not self.complies(rest):
            smallest = min(self._emitted, key=lambda one: (one != ROOT, self._emitted[one].size, one))
            rest.add(self._emitted.pop(smallest))
        self.emit(rest, ROOT)
        return Bag(self.kinds)

    def _moves(self, dropped: Bag) -> list[Move]:
        bags: list[tuple[int | None, Bag]] = [*sorted(self._emitted.items()), (None, dropped)]
        return [
            Move(leaf, kind, rows, target)
            for target, bag in bags
            for kind, leaves in sorted(bag.rows.items())
            for leaf, rows in sorted(leaves.items())
        ]
