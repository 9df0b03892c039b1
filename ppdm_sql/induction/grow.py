"""Growing: count, choose, send the rows on; level by level, or best leaf first when leaves are limited.

Rows are in slots: slot 0 is the sink of finished nodes, slots 1, 2, ... are the nodes that are still open.
A round counts all open nodes with the same few statements, however many there are.  The last level needs no
counting, because a split knows the histograms of its children.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ppdm_sql.induction.candidates import NONE, Best, Found, Nodes, Rules, Veto, best_splits
from ppdm_sql.induction.criteria import TIE, Flags, Ints
from ppdm_sql.induction.routing import Routes
from ppdm_sql.induction.tree_rows import TreeRows
from ppdm_sql.watching import Progress


@dataclass(frozen=True)
class Limits:
    """When a node stays a leaf."""

    max_depth: int
    min_rows: int  # a node with fewer is not looked at
    max_leaves: int | None
    min_gain: float  # share of the root's impurity
    by_ratio: bool  # C4.5's choice between attributes


@dataclass
class Grown:
    """A node while the tree grows; splits are in codes."""

    number: int
    parent: int | None
    depth: int
    way: tuple[int, ...]  # branches taken from the root: how nodes are put in order
    counts: Ints
    split: Found | None = None
    children: list[int] = field(default_factory=list)


def grow(
    rows: TreeRows, root: Ints, rules: Rules, limits: Limits, veto: Veto | None, progress: Progress
) -> list[Grown]:
    """The nodes of the tree, the root first."""
    return TreeGrowth(rows, rules, limits, veto, progress, [Grown(0, None, 0, (), root)]).run()


@dataclass
class TreeGrowth:
    """A tree while it grows; `run` makes all of it, nested.py one split after the other."""

    rows: TreeRows
    rules: Rules
    limits: Limits
    veto: Veto | None
    progress: Progress
    nodes: list[Grown]
    _slots: dict[int, int] = field(default_factory=lambda: {0: 1})  # node -> slot of its rows

    def run(self) -> list[Grown]:
        fresh = [0] if self.can_split(0, self.nodes[0].counts[None])[0] else []
        waiting: dict[int, Found] = {}  # looked at, not split yet
        leaves, rounds = 1, 0
        try:
            while fresh:
                self.progress("growing the tree", rounds, None)
                rounds += 1
                waiting |= self.best_of(fresh)
                fresh, leaves = self._expand(waiting, leaves)
                if fresh:
                    self.send_on({*fresh, *waiting})
        finally:
            self.rows.close()
        return self.nodes

    # -- choosing ----------------------------------------------------------------------------------

    def can_split(self, depth: int, counts: Ints) -> Flags:
        """Which of some nodes of one depth are worth looking at; counts holds one histogram per node."""
        rows = self.rules.rows(counts)
        impure = self.rules.impurity(counts) > TIE * np.maximum(rows, 1)
        return np.asarray(impure & (rows >= self.limits.min_rows) & (depth < self.limits.max_depth))

    def best_of(self, fresh: list[int]) -> dict[int, Found]:
        """The best split of every fresh node that has one."""
        by_slot = sorted(fresh, key=self._slots.__getitem__)
        slots = np.array([self._slots[node] for node in by_slot])
        nodes = Nodes(np.array(by_slot), np.stack([self.nodes[node].counts for node in by_slot]))
        number = len(self.rows.attributes)
        bests: list[Best | None] = [None] * number
        for attribute, tally in self.rows.count(max(self._slots.values()) + 1, slots):
            coded = self.rows.attributes[attribute]
            if coded.size > 1:
                here = tally.of_slots(slots)
                bests[attribute] = best_splits(attribute, coded, here, nodes, self.rules, self.veto)
        return self._winners(by_slot, nodes, bests)

    def _winners(self, numbers: list[int], nodes: Nodes, bests: list[Best | None]) -> dict[int, Found]:
        none = np.full(len(numbers), NONE)
        gains = np.stack([none if best is None else best.gain for best in bests])
        tolerance = self.rules.tolerance(nodes.totals)
        least = np.maximum(tolerance, self.limits.min_gain * float(self.rules.impurity(self.nodes[0].counts)))
        gains = np.where(gains > tolerance, gains, NONE)
        if self.limits.by_ratio:
            ones = np.ones(len(numbers))
            information = np.stack([ones if best is None else best.information for best in bests])
            chosen = _by_ratio(gains, information, self.rules.rows(nodes.totals))
        else:
            chosen = np.argmax(gains >= gains.max(axis=0) - tolerance, axis=0)
        winners = {}
        for place, number in enumerate(numbers):
            best = bests[chosen[place]]
            gain = gains[chosen[place], place]
            if best is not None and gain > NONE and gain >= least[place]:
                winners[number] = best.winner(place)
        return winners

    # -- expanding ---------------------------------------------------------------------------------

    def _expand(self, waiting: dict[int, Found], leaves: int) -> tuple[list[int], int]:
        """Splits what may be split now; gives the new nodes that have to be looked at, and the number of leaves."""
        if self.limits.max_leaves is None:
            fresh = [child for node, split in waiting.items() for child in self.split(node, split)]
            waiting.clear()
            return fresh, leaves
        fresh = []
        while waiting:
            if leaves >= self.limits.max_leaves:
                waiting.clear()
                return [], leaves
            node = self.first_of(waiting)
            split = waiting[node]
            # a child's gain cannot exceed its impurity: one that might come first is looked at first
            if any(float(self.rules.impurity(self.nodes[child].counts)) >= split.gain for child in fresh):
                return fresh, leaves
            if leaves + len(split.counts) - 1 > self.limits.max_leaves:
                waiting.clear()
                return [], leaves
            leaves += len(split.counts) - 1
            del waiting[node]
            fresh += self.split(node, split)
        return fresh, leaves

    def first_of(self, waiting: dict[int, Found]) -> int:
        """The leaf with the greatest gain; of equal ones the nearest to the root, then the leftmost."""
        best = max(split.gain for split in waiting.values())
        tolerance = float(self.rules.tolerance(self.nodes[0].counts[None])[0])
        near = [node for node, split in waiting.items() if split.gain >= best - tolerance]
        return min(near, key=lambda node: (self.nodes[node].depth, self.nodes[node].way))

    def split(self, number: int, split: Found) -> list[int]:
        """Makes the children; gives those that can be split themselves."""
        node = self.nodes[number]
        node.split = split
        for branch, counts in enumerate(split.counts):
            child = Grown(len(self.nodes), number, node.depth + 1, (*node.way, branch), counts)
            self.nodes.append(child)
            node.children.append(child.number)
        worth = self.can_split(node.depth + 1, split.counts).tolist()
        return [child for child, can in zip(node.children, worth, strict=True) if can]

    # -- sending rows on ---------------------------------------------------------------------------

    def send_on(self, live: set[int]) -> None:
        """Every row of a live node gets the node's new slot, every other row goes to the sink."""
        slots = {node: place for place, node in enumerate(sorted(live), start=1)}
        routes = Routes(max(self._slots.values()) + 1)
        for node, slot in self._slots.items():
            if node in slots:
                routes.stays(slot, slots[node])
            elif self.nodes[node].split is not None:
                self._add_route(routes, slot, self.nodes[node], slots)
        rows = int(sum(int(self.rules.rows(self.nodes[node].counts)) for node in live))
        self.rows.send_on(routes, rows)
        self._slots = slots

    def _add_route(self, routes: Routes, slot: int, node: Grown, slots: dict[int, int]) -> None:
        split = node.split
        assert split is not None
        targets = [self._target(child, slots) for child in node.children]
        if not any(targets):
            return
        coded = self.rows.attributes[split.attribute]
        if split.cut is not None:
            low_null = coded.null if split.null_branch == 0 else None
            routes.cuts(slot, split.attribute, split.cut, low_null, targets[0], targets[1])
            return
        child_of_code = [targets[0]] * coded.size  # a code that no group has does not occur here
        for target, codes in zip(targets, split.groups, strict=True):
            for code in codes:
                child_of_code[code] = target
        routes.groups(slot, split.attribute, child_of_code)

    def _target(self, child: int, slots: dict[int, int]) -> int:
        return slots.get(child, 0)


def _by_ratio(gains: np.ndarray, information: np.ndarray, rows: Ints) -> Ints:
    """C4.5: of the attributes with at least average gain the one with the greatest ratio to split information."""
    per_row = gains / np.maximum(rows, 1)
    there = gains > NONE
    average = np.where(there, per_row, 0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    looked_at = there & (per_row >= average - 1e-3) & (information > 0)
    ratio = np.where(looked_at, per_row / np.where(information > 0, information, 1), NONE)
    return np.asarray(np.argmax(ratio >= ratio.max(axis=0) - TIE, axis=0))
