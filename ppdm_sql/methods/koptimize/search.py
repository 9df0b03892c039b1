"""The set of cuts with the least classification metric, and a proof that no other set has less if there is time.

Bayardo, Agrawal: Data Privacy through Optimal k-Anonymization (ICDE 2005).

    the paper                        here
    head and tail of a node          CutNode.chosen, CutNode.open
    cost, CM                         CutSearch.cost: rows of classes left out, and rows not of their class's commonest
    lower bound, PRUNE               CutSearch.bound, CutSearch._settle
    REORDER                          the cut without which the bound is highest is decided first

Deviations.  A cut is decided in or out, instead of enumerating supersets in an order: what the paper prunes from a tail
is a cut that is decided out, and a cut without which the bound is no better than the best is decided in.  The bound of
the paper is about k.  With other requirements, a class of the head that fails can have parts that hold, so only
classes too small for k count as left out; where no row may be left out, a class that fails ends the branch.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, prod

import numpy as np

from ppdm_sql.cells.cells import Ints
from ppdm_sql.methods.lattice.groupings import merge_histogram
from ppdm_sql.methods.mondrian.level_counts import Histogram
from ppdm_sql.methods.shared.labels import same_rows
from ppdm_sql.methods.shared.limits import Demands
from ppdm_sql.source.lines import Flags
from ppdm_sql.watching import Progress, silent

Cut = tuple[int, int]  # a column, and the piece that starts there
_DENSE = 1 << 17  # groups that are numbered without sorting
_LARGEST = 1 << 62  # that fit into a number


@dataclass(frozen=True)
class FinestPieces:
    """Cells that are in the same piece of every column, together."""

    codes: Ints  # (column, entry) -> piece
    classes: Ints  # (entry, class) -> rows
    units: Ints  # what k counts
    histograms: tuple[Histogram, ...] = ()  # of the sensitive columns

    @property
    def rows(self) -> Ints:
        return np.asarray(self.classes.sum(axis=1))


@dataclass(frozen=True)
class CutLimits:
    """How many rows may be left out, and when to stop."""

    suppressed: int
    nodes: int
    seconds: float


@dataclass(frozen=True)
class CutNode:
    """Cuts that are made, and cuts that may still be made, with the pieces that all of them together leave apart."""

    chosen: frozenset[Cut]
    open: tuple[Cut, ...]
    finest: FinestPieces


@dataclass
class CutSearch:
    """Depth first, from the whole table; best: the cuts of the least cost so far."""

    pieces: FinestPieces
    sizes: tuple[int, ...]  # pieces per column
    demands: Demands
    limits: CutLimits
    progress: Progress = silent
    best: frozenset[Cut] = frozenset()
    best_cost: float = inf
    nodes: int = 0
    proved: bool = False
    _ends: float = field(default=inf, init=False)

    def run(self) -> None:
        self._ends = time.monotonic() + self.limits.seconds
        cuts = tuple((column, piece) for column, size in enumerate(self.sizes) for piece in range(1, size))
        self._note(frozenset())
        self._climb(cuts)
        waiting = [CutNode(frozenset(), cuts, self.pieces)]
        while waiting and self.nodes < self.limits.nodes and not self._is_late():
            self.nodes += 1
            self.progress("searching cuts", self.nodes, None)
            waiting += self._children(waiting.pop())
        self.proved = not waiting
        self._refine(cuts)

    def _is_late(self) -> bool:
        return time.monotonic() > self._ends

    def _climb(self, cuts: Sequence[Cut]) -> None:
        """A good start: cuts are made or taken back, the best first, as long as that costs less."""
        improved = True
        while improved and not self._is_late():
            now, before = self.best, self.best_cost
            for cut in cuts:
                self._note(now ^ {cut})
                if self._is_late():
                    break
            improved = self.best_cost < before

    def _refine(self, cuts: Sequence[Cut]) -> None:
        """Further cuts that cost nothing: of equally good sets a finer one shows more."""
        for cut in sorted(set(cuts) - self.best):
            if self.cost(self.best | {cut})[0] == self.best_cost:
                self.best |= {cut}

    def _children(self, node: CutNode) -> list[CutNode]:
        """The node divided by a cut; nothing where its branch cannot be better than the best."""
        settled = self._settle(node)
        if settled is None:
            return []
        node, branch = settled
        if branch is None:
            return []
        rest = tuple(cut for cut in node.open if cut != branch)
        without = CutNode(node.chosen, rest, self._without(node.finest, branch))
        return [without, CutNode(node.chosen | {branch}, rest, node.finest)]  # the last one is looked at first

    def _settle(self, node: CutNode) -> tuple[CutNode, Cut | None] | None:
        """The node with every cut decided that can be, and the cut to divide it by."""
        while True:
            if not self._note(node.chosen) or self.bound(node.chosen, node.finest) >= self.best_cost:
                return None
            out = [cut for cut in node.open if self.bound(node.chosen | {cut}, node.finest) >= self.best_cost]
            if out:
                rest = tuple(cut for cut in node.open if cut not in set(out))
                finest = node.finest
                for cut in out:
                    finest = self._without(finest, cut)
                node = CutNode(node.chosen, rest, finest)
                continue
            bounds = {cut: self.bound(node.chosen, self._without(node.finest, cut)) for cut in node.open}
            needed = {cut for cut, bound in bounds.items() if bound >= self.best_cost}
            if needed:
                rest = tuple(cut for cut in node.open if cut not in needed)
                node = CutNode(node.chosen | needed, rest, node.finest)
                continue
            return node, max(node.open, key=lambda cut: bounds[cut], default=None)

    # -- costs -------------------------------------------------------------------------------------

    def _note(self, chosen: frozenset[Cut]) -> bool:
        """Whether sets with these cuts and more can meet the policy; takes note of one that is better than the best."""
        cost, may_hold = self.cost(chosen)
        if cost < self.best_cost:
            self.best, self.best_cost = chosen, cost
        return may_hold

    def cost(self, chosen: frozenset[Cut]) -> tuple[float, bool]:
        """What a set of cuts costs, infinite where too many rows are left out; and whether finer sets can be better."""
        number, groups = self.groups(chosen, self.pieces)
        kept = self.classes_that_hold(number, groups)
        classes = _class_sums(self.pieces.classes, number, groups)
        rows = classes.sum(axis=1)
        gone = int(rows[~kept].sum())
        if gone > self.limits.suppressed:
            return inf, self.limits.suppressed > 0
        return gone + int((rows - classes.max(axis=1))[kept].sum()), True

    def classes_that_hold(self, number: Ints, groups: int) -> Flags:
        """Which groups of pieces meet every requirement."""
        units = np.bincount(number, weights=self.pieces.units, minlength=groups)
        fine = np.asarray(units >= self.demands.k)
        for secret, histogram in zip(self.demands.secrets, self.pieces.histograms, strict=True):
            for here, counts in merge_histogram(histogram, number).grouped(np.arange(groups), groups):
                fine[here] &= secret.holds(counts)
        return fine

    def bound(self, chosen: frozenset[Cut], finest: FinestPieces) -> float:
        """What every set costs at least that has the chosen cuts, and no others than those that leave `finest` apart.

        Rows of a class too small for k stay left out however it is divided further.  Of other rows, those that are
        not of the commonest class of their finest piece are in the minority of any class they can be in.
        """
        number, groups = self.groups(chosen, finest)
        rows = finest.rows
        total = np.bincount(number, weights=rows, minlength=groups)
        small = np.bincount(number, weights=finest.units, minlength=groups) < self.demands.k
        gone = int(total[small].sum())
        if gone > self.limits.suppressed:
            return inf
        return gone + int((rows - finest.classes.max(axis=1))[~small[number]].sum())

    def groups(self, chosen: frozenset[Cut], pieces: FinestPieces) -> tuple[Ints, int]:
        """Per entry the number of its class, and how many classes there are."""
        runs = [np.zeros(size, dtype=np.int64) for size in self.sizes]
        for column, piece in chosen:
            runs[column][piece:] += 1
        taken = [run[codes] for run, codes in zip(runs, pieces.codes, strict=True)]
        return _group_numbers(taken, [int(run[-1]) + 1 for run in runs])

    def _without(self, finest: FinestPieces, cut: Cut) -> FinestPieces:
        """The pieces where this cut is not made: what starts there belongs to the piece before it."""
        column, piece = cut
        here = finest.codes[column]
        before = here[here < piece]
        codes = finest.codes.copy()
        codes[column] = np.where(here == piece, before.max(initial=0), here)
        number, groups = _group_numbers(list(codes), self.sizes)
        merged = np.zeros((len(codes), groups), dtype=np.int64)
        merged[:, number] = codes
        units = np.bincount(number, weights=finest.units, minlength=groups).astype(np.int64)
        return FinestPieces(merged, _class_sums(finest.classes, number, groups), units)


def _group_numbers(codes: Sequence[Ints], sizes: Sequence[int]) -> tuple[Ints, int]:
    """Per entry a number 0, 1, ...; entries that are alike in every column have the same one."""
    span = prod(sizes)
    if span > _LARGEST:
        number = same_rows(np.column_stack(codes))
        return number, int(number.max(initial=-1)) + 1
    key = np.zeros(len(codes[0]), dtype=np.int64)
    for column, size in zip(codes, sizes, strict=True):
        key = key * size + column
    if span > _DENSE:
        present, number = np.unique(key, return_inverse=True)
        return number, len(present)
    there = np.bincount(key, minlength=span) > 0
    return (np.cumsum(there) - 1)[key], int(there.sum())


def _class_sums(classes: Ints, number: Ints, groups: int) -> Ints:
    """(group, class) -> rows."""
    width = classes.shape[1]
    place = (number[:, np.newaxis] * width + np.arange(width)).ravel()
    found = np.bincount(place, weights=classes.ravel(), minlength=groups * width)
    return found.astype(np.int64).reshape(-1, width)
