"""Which rows keep which part of their way through the tree: decided from counts, without a single row.

Kisilevich, Elovici, Shapira, Rokach: kACTUS 2 (ISIPS 2008), and its predecessor kACTUS (TKDE 2010).
docs/methods/kactus.md says where this departs from print and why.

    the paper                                  here
    main loop, deepest leaf first              repair, _Repair.run
    PERFORM_ANONYMIZATION                      _Repair.settle
    PERFORM_SWAPPING, VIRTUAL_SWAP             _Repair.swap, row_kinds.swapped
    PERFORM_SUPPRESSION and its selection      _Repair.suppress, row_kinds.selected
    kACTUS: rows taken at random               _Repair.borrow

Rows that are alike in class, sensitive values and weight are of one kind.  They are interchangeable here; which
of them it is that is moved is left to the database.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from heapq import heapify, heappop
from typing import NamedTuple

import numpy as np

from ppdm_sql.methods.kactus.row_kinds import Bag, Counts, Kinds, added, left_of, selected, swapped
from ppdm_sql.source.lines import Ints

ROOT = 0
DROPPED = -1
Holds = Callable[[Counts], bool]


class RepairNode(NamedTuple):
    """A node of the tree by its place in the list; children come after their parents.

    named: the value that leads to it may be printed.  It may not where fewer than k people hold it.
    """

    parent: int | None
    children: Sequence[int] = ()
    named: bool = True


@dataclass(frozen=True)
class RepairRules:
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
    holds: Holds | None = None  # what is required besides k


@dataclass(frozen=True)
class RowMoves:
    """Per entry: so many rows of a leaf and kind are printed with the way to a node, or DROPPED.

    In order of target, kind and leaf, what is dropped last.
    """

    leaf: Ints
    kind: Ints
    rows: Ints
    target: Ints

    def __len__(self) -> int:
        return len(self.leaf)


def repair(nodes: Sequence[RepairNode], rows: Mapping[int, Counts], kinds: Kinds, rules: RepairRules) -> RowMoves:
    """The moves of all rows.  The whole table must meet the requirements.

    >>> tree = [RepairNode(None, (1, 2)), RepairNode(0), RepairNode(0)]
    >>> moves = repair(tree, {1: {0: 5}, 2: {0: 2, 1: 1}}, Kinds([0, 1], [1, 1]), RepairRules(k=4))
    >>> moves.leaf.tolist(), moves.kind.tolist(), moves.rows.tolist(), moves.target.tolist()
    ([1, 2, 2], [0, 0, 1], [5, 2, 1], [1, -1, -1])
    """
    return _Repair(nodes, kinds, rules, rows).run()


@dataclass
class _Repair:
    nodes: Sequence[RepairNode]
    kinds: Kinds
    rules: RepairRules
    rows: Mapping[int, Counts]
    _bags: dict[int, Bag] = field(default_factory=dict)
    _emitted: dict[int, Bag] = field(default_factory=dict)
    _draws: int = 0

    def run(self) -> RowMoves:
        self._bags = {leaf: Bag.of_leaf(leaf, counts, self.kinds) for leaf, counts in self.rows.items()}
        # Children have greater numbers than their parents: this order handles them first.
        for number in range(len(self.nodes) - 1, ROOT, -1):
            if self.nodes[number].children:
                self.settle(number)
        if self.rules.compensate_at_root:
            self.settle(ROOT)
        else:
            self._settle_roots()
        return self._moves(self._finish(self._bags.pop(ROOT, Bag())))

    def complies(self, bag: Bag) -> bool:
        return self._enough(bag.weight, bag.size) and self._holds(bag.counts)

    def _enough(self, weight: int, size: int) -> bool:
        return weight >= self.rules.k and size > 0

    def _holds(self, counts: Counts) -> bool:
        return self.rules.holds is None or self.rules.holds(counts)

    def emit(self, bag: Bag, target: int) -> None:
        """The bag is the target's from now on."""
        if target in self._emitted:
            self._emitted[target].add(bag)
        else:
            self._emitted[target] = bag

    def settle(self, parent: int) -> None:
        """Publishes what can be of the leaves below a node; the rest is the node's own, which becomes a leaf."""
        bags = self._bags
        kids = [child for child in self.nodes[parent].children if child in bags and bags[child].size]
        if sum(bags[child].weight for child in kids) >= self.rules.k:
            fine, small = [], []
            for child in kids:
                if not self.complies(bags[child]):
                    small.append(child)
                elif self.nodes[child].named:
                    fine.append(child)
                else:
                    self.emit(bags.pop(child), parent)  # enough rows, but no value that could be printed
            if self.rules.informed:
                small = self.swap(fine, small)
            self._compensate(fine, small, parent)
            for child in fine:
                self.emit(bags.pop(child), child)
        left = [bags.pop(child) for child in (parent, *kids) if child in bags]
        rest = left[0] if left else Bag()
        for bag in left[1:]:
            rest.add(bag)
        if not self._joined(rest, parent):
            bags[parent] = rest

    def _settle_roots(self) -> None:
        """The values of the first attribute have no parent to share rows by: each stands for itself."""
        rest = self._bags.pop(ROOT, Bag())
        for child in self.nodes[ROOT].children:
            bag = self._bags.pop(child, Bag())
            if self.nodes[child].named and self.complies(bag):
                self.emit(bag, child)
            else:
                rest.add(bag)
        self._bags[ROOT] = rest

    def _joined(self, rest: Bag, target: int) -> bool:
        """Option join_existing_group: rows that found no partners join those already printed like this."""
        if not self.rules.join_existing_group or target not in self._emitted:
            return False
        there = self._emitted[target]
        enough = self._enough(there.weight + rest.weight, there.size + rest.size)
        if not (enough and self._holds(added(there.counts, rest.counts))):
            return False
        there.add(rest)
        return True

    # -- kACTUS-2 ----------------------------------------------------------------------------------

    def swap(self, fine: Sequence[int], small: list[int]) -> list[int]:
        """Rows of a large sibling get the value of a small one; gives the small ones that are left."""
        left = []
        most = self.rules.swap_threshold * self.rules.k // 1
        if not most:
            return small
        for child in small:
            required = self.rules.k - self._bags[child].weight
            allowed = 0 < required <= most and self.nodes[child].named
            if not (allowed and self._swap_into(child, fine, required)):
                left.append(child)
        return left

    def _swap_into(self, child: int, fine: Sequence[int], required: int) -> bool:
        best: tuple[float, Bag, Counts] | None = None
        taker = self._bags[child]
        for other in fine:
            giver = self._bags[other]
            if giver.weight - self.rules.k < required + self.rules.strict_swap:
                continue
            mixed, taken = swapped(giver.counts, taker.counts, required, self.kinds)
            if best is None or mixed < best[0]:
                both = left_of(giver.counts, taken), added(taker.counts, taken)
                if all(map(self._holds, both)):
                    best = mixed, giver, taken
        if best is None:
            return False
        taker.add(best[1].taken(best[2], self.kinds))
        self.emit(self._bags.pop(child), child)
        return True

    def _compensate(self, fine: Sequence[int], small: Sequence[int], parent: int) -> None:
        """The small siblings lose their last value, alone or, with pool_non_complying, all together."""
        if not self.rules.informed or self.rules.pool_non_complying:
            lots = [list(small)] if self.rules.pool_non_complying else [[child] for child in small]
            for lot in filter(None, lots):
                self._compensate_lot(fine, lot, parent)
            return
        left = small
        for giver in fine:
            if self._bags[giver].weight > self.rules.k:
                left = [child for child in left if not self.suppress(giver, [child], parent)]

    def _compensate_lot(self, fine: Sequence[int], lot: Sequence[int], parent: int) -> None:
        weight, size = (sum(getattr(self._bags[child], what) for child in lot) for what in ("weight", "size"))
        if self._enough(weight, size) and self._holds(self._pooled(lot)):
            self._publish_pool(lot, Bag(), parent)
        elif self.rules.informed:
            any(self.suppress(giver, lot, parent) for giver in fine)
        else:
            self.borrow(fine, lot, parent)

    def _pooled(self, lot: Sequence[int]) -> Counts:
        return added(*(self._bags[child].counts for child in lot))

    def _publish_pool(self, lot: Sequence[int], helpers: Bag, parent: int) -> None:
        for child in lot:
            self.emit(self._bags.pop(child), parent)
        self.emit(helpers, parent)

    def suppress(self, giver: int, lot: Sequence[int], parent: int) -> bool:
        """A large sibling helps out with the rows that leave it purest; all of them lose the last value."""
        bag = self._bags[giver]
        required = self.rules.k
        for child in lot:
            required -= self._bags[child].weight
        if not 0 < required <= bag.weight - self.rules.k:
            return False
        taken = selected(bag.counts, required, self.kinds)
        if self.rules.holds is not None:
            both = left_of(bag.counts, taken), added(self._pooled(lot), taken)
            if not all(map(self._holds, both)):
                return False
        self._publish_pool(lot, bag.taken(taken, self.kinds), parent)
        return True

    # -- kACTUS ------------------------------------------------------------------------------------

    def borrow(self, fine: Sequence[int], lot: Sequence[int], parent: int) -> None:
        """Large siblings, one after the other, help out with rows drawn at random, none below k."""
        required = self.rules.k - sum(self._bags[child].weight for child in lot)
        spares = [self._bags[giver].weight - self.rules.k for giver in fine]
        if not 0 < required <= sum(spares):
            return
        drawn: dict[int, Counts] = {}
        for giver, spare in zip(fine, spares, strict=True):
            drawn[giver] = self._drawn(self._bags[giver], min(required, spare))
            required -= min(required, spare)
        pool = added(self._pooled(lot), *drawn.values())
        left = (left_of(self._bags[giver].counts, taken) for giver, taken in drawn.items())
        if self._holds(pool) and all(map(self._holds, left)):
            helpers = Bag()
            for giver, taken in drawn.items():
                helpers.add(self._bags[giver].taken(taken, self.kinds))
            self._publish_pool(lot, helpers, parent)

    def _drawn(self, bag: Bag, number: int) -> Counts:
        """The kinds of rows drawn from those that count for k, each as likely as any other."""
        left = {kind: bag.counts[kind] for kind in sorted(bag.counts) if self.kinds.weights[kind]}
        found: dict[int, int] = {}
        for weight in range(bag.weight, bag.weight - number, -1):
            self._draws += 1
            text = f"{self.rules.seed}|{self._draws}".encode()
            kind = _at(left, int.from_bytes(hashlib.sha256(text).digest()) % weight)
            left[kind] -= 1
            found[kind] = found.get(kind, 0) + 1
        return found

    # -- the end -----------------------------------------------------------------------------------

    def _finish(self, rest: Bag) -> Bag:
        """What nobody could place: printed without any value, or dropped; gives what is dropped.

        Fewer than k rows are dropped.  More, which do not comply for another reason, are joined by the smallest
        classes, one after the other, until they do: at the latest the whole table does.
        """
        if not rest.size or self._joined(rest, ROOT):
            return Bag()
        if not self.complies(rest) and rest.size < self.rules.k and self.rules.may_drop:
            return rest
        others = [(one != ROOT, bag.size, one) for one, bag in self._emitted.items()]
        heapify(others)
        while not self.complies(rest):
            rest.add(self._emitted.pop(heappop(others)[2]))
        self.emit(rest, ROOT)
        return Bag()

    def _moves(self, dropped: Bag) -> RowMoves:
        parts = [
            (target, kind, leaf, rows)
            for target, bag in (*self._emitted.items(), (len(self.nodes), dropped))
            for leaf, counts in bag.chunks
            for kind, rows in counts.items()
        ]
        target, kind, leaf, rows = np.array(parts, dtype=np.int64).reshape(-1, 4).T
        order = np.lexsort((leaf, kind, target))
        target, kind, leaf, rows = target[order], kind[order], leaf[order], rows[order]
        new = np.ones(len(order), dtype=bool)  # a leaf may have helped out more than once
        new[1:] = (np.diff(target) != 0) | (np.diff(kind) != 0) | (np.diff(leaf) != 0)
        starts = np.flatnonzero(new)
        target = np.where(target[starts] == len(self.nodes), DROPPED, target[starts])
        return RowMoves(leaf[starts], kind[starts], np.add.reduceat(rows, starts) if len(starts) else rows, target)


def _at(counts: Counts, place: int) -> int:
    """The kind of the row at a place, rows being put in a line kind by kind.

    >>> _at({4: 2, 7: 3}, 1), _at({4: 2, 7: 3}, 2)
    (4, 7)
    """
    for kind, rows in counts.items():
        place -= rows
        if place < 0:
            return kind
    raise AssertionError("a bag weighs what its kinds weigh")
