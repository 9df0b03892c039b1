"""The set of cuts with the least classification metric, and a proof that no other set has less if there is time.

Bayardo, Agrawal: Data Privacy through Optimal k-Anonymization (ICDE 2005).

    the paper                        here
    head and tail of a node          CutNode.chosen, CutNode.open
    cost, CM                         CutSearch.cost: rows of classes left out, and rows not of their class's commonest
    lower bound, PRUNE               _Bounds, CutSearch._settle
    REORDER                          the cut without which the bound is highest is decided first

Deviations.  A cut is decided in or out, instead of enumerating supersets in an order: what the paper prunes from a tail
is a cut that is decided out, and a cut without which the bound is no better than the best is decided in.  The bound of
the paper is about k.  With other requirements, a class of the head that fails can have parts that hold, so only
classes too small for k count as left out; where no row may be left out, a class that fails ends the branch.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
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
        without = CutNode(node.chosen, rest, self._without(node.finest, {branch}))
        return [without, CutNode(node.chosen | {branch}, rest, node.finest)]  # the last one is looked at first

    def _settle(self, node: CutNode) -> tuple[CutNode, Cut | None] | None:
        """The node with every cut decided that can be, and the cut to divide it by."""
        noted: frozenset[Cut] | None = None
        while True:
            if node.chosen != noted and not self._note(node.chosen):
                return None
            noted = node.chosen
            bounds = _Bounds.of(self, node)
            if bounds.here >= self.best_cost:
                return None
            made = bounds.with_cuts()
            out = {cut for cut in node.open if made[cut] >= self.best_cost}
            if out:
                rest = tuple(cut for cut in node.open if cut not in out)
                node = CutNode(node.chosen, rest, self._without(node.finest, out))
                continue
            left = bounds.without_cuts()
            needed = {cut for cut in node.open if left[cut] >= self.best_cost}
            if needed:
                rest = tuple(cut for cut in node.open if cut not in needed)
                node = CutNode(node.chosen | needed, rest, node.finest)
                continue
            return node, max(node.open, key=lambda cut: left[cut], default=None)

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

    def groups(self, chosen: frozenset[Cut], pieces: FinestPieces) -> tuple[Ints, int]:
        """Per entry the number of its class, and how many classes there are."""
        runs = [np.zeros(size, dtype=np.int64) for size in self.sizes]
        for column, piece in chosen:
            runs[column][piece:] += 1
        taken = [run[codes] for run, codes in zip(runs, pieces.codes, strict=True)]
        return _group_numbers(taken, [int(run[-1]) + 1 for run in runs])

    def _without(self, finest: FinestPieces, cuts: Collection[Cut]) -> FinestPieces:
        """The pieces where these cuts are not made: what starts there belongs to the piece before it."""
        codes = finest.codes.copy()
        for column in {column for column, _ in cuts}:
            gone = [piece for here, piece in cuts if here == column]
            stays = np.setdiff1d(codes[column], gone)
            before = np.searchsorted(stays, codes[column], side="right") - 1
            codes[column] = np.where(before >= 0, stays[before], 0) if len(stays) else 0
        number, groups = _group_numbers(list(codes), self.sizes)
        merged = np.zeros((len(codes), groups), dtype=np.int64)
        merged[:, number] = codes
        units = np.bincount(number, weights=finest.units, minlength=groups).astype(np.int64)
        return FinestPieces(merged, _class_sums(finest.classes, number, groups), units)


@dataclass(frozen=True)
class _Bounds:
    """What every set costs at least that has the chosen cuts, and no others than those that leave `finest` apart.

    Rows of a class too small for k stay left out however it is divided further.  Of other rows, those that are not of
    the commonest class of their finest piece are in the minority of any class they can be in.  All cuts of a column are
    looked at together: one that is made divides classes, one that is not made joins pieces that are neighbours.
    """

    search: CutSearch
    node: CutNode
    number: Ints  # per entry its class
    groups: int
    rows: Ints
    minority: Ints  # per entry the rows that are not of its commonest class
    small: Flags  # per class

    @classmethod
    def of(cls, search: CutSearch, node: CutNode) -> _Bounds:
        finest = node.finest
        number, groups = search.groups(node.chosen, finest)
        rows = finest.rows
        small = np.bincount(number, weights=finest.units, minlength=groups) < search.demands.k
        return cls(search, node, number, groups, rows, rows - finest.classes.max(axis=1), np.asarray(small))

    @property
    def _gone(self) -> int:
        return int(self.rows[self.small[self.number]].sum())

    @property
    def here(self) -> float:
        """The bound with every open cut left open."""
        return self._cost(self._gone, int(self.minority[~self.small[self.number]].sum()))

    def _cost(self, gone: int, minority: int) -> float:
        return inf if gone > self.search.limits.suppressed else gone + minority

    def with_cuts(self) -> dict[Cut, float]:
        """Per open cut the bound where it is made."""
        found = {}
        for column, pieces in self._open_by_column().items():
            width = self.search.sizes[column]
            place = self.number * width + self.node.finest.codes[column]
            rows, units, minority = (
                np.bincount(place, weights=one, minlength=self.groups * width).astype(np.int64).reshape(-1, width)
                for one in (self.rows, self.node.finest.units, self.minority)
            )
            gone, kept = np.zeros(width), np.zeros(width)
            for backwards in (False, True):
                below = [_sums_below(one, backwards) for one in (rows, units, minority)]
                fails = below[1] < self.search.demands.k
                gone += np.where(fails, below[0], 0).sum(axis=0)
                kept += np.where(fails, 0, below[2]).sum(axis=0)
            for piece in pieces:
                found[column, piece] = self._cost(int(gone[piece]), int(kept[piece]))
        return found

    def without_cuts(self) -> dict[Cut, float]:
        """Per open cut the bound where it is not made."""
        here, found = self.here, {}
        classes = self.node.finest.classes
        for column, pieces in self._open_by_column().items():
            codes = self.node.finest.codes[column]
            others = [one for place, one in enumerate(self.node.finest.codes) if place != column]
            sizes = [size for place, size in enumerate(self.search.sizes) if place != column]
            row = _group_numbers(others, sizes)[0] if others else np.zeros(len(codes), dtype=np.int64)
            order = np.argsort(row * self.search.sizes[column] + codes)
            first, second = order[:-1], order[1:]
            there = np.unique(codes)
            before = np.full(self.search.sizes[column], -1)
            before[there[1:]] = there[:-1]
            pair = (row[first] == row[second]) & (before[codes[second]] == codes[first])
            pair &= ~self.small[self.number[first]]
            first, second = first[pair], second[pair]
            both = classes[first] + classes[second]
            more = both.sum(axis=1) - both.max(axis=1) - self.minority[first] - self.minority[second]
            added = np.bincount(codes[second], weights=more, minlength=self.search.sizes[column])
            for piece in pieces:
                found[column, piece] = here + int(added[piece])
        return found

    def _open_by_column(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for column, piece in self.node.open:
            found.setdefault(column, []).append(piece)
        return found


def _sums_below(amounts: Ints, backwards: bool) -> Ints:
    """Per class and piece the sum over the pieces below it, or over itself and those above it."""
    below = np.cumsum(amounts, axis=1) - amounts
    return np.asarray(amounts.sum(axis=1, keepdims=True) - below if backwards else below)


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
