"""The tree of kACTUS by its nodes, in arrays: what leads to a node, and what is printed for it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ppdm_sql.induction.grow import Grown
from ppdm_sql.methods.kactus.repair import DROPPED, ROOT, RepairNode, RowMoves
from ppdm_sql.source.lines import Ints

NOTHING = -1  # no attribute, no category


@dataclass(frozen=True)
class KactusTree:
    """Per node its parent, which category of which attribute leads to it, and how deep it lies; the root comes first.

    Nodes are in the order of their parents, so that children are neighbours.
    """

    parent: Ints
    attribute: Ints
    category: Ints
    depth: Ints
    named: Sequence[bool]

    @cached_property
    def nodes(self) -> list[RepairNode]:
        """As the repair wants them."""
        numbers = range(len(self.parent))
        first = np.searchsorted(self.parent, numbers, side="left").tolist()
        last = np.searchsorted(self.parent, numbers, side="right").tolist()
        parents: list[int | None] = [None, *self.parent[1:].tolist()]
        ranges = map(range, first, last)
        return list(map(RepairNode, parents, ranges, self.named))

    @property
    def levels(self) -> int:
        return int(self.depth.max())

    @property
    def leaves(self) -> int:
        return len(self.parent) - len(np.unique(self.parent[1:]))

    @cached_property
    def question(self) -> Ints:
        """Per node the attribute it is split by."""
        found = np.full(len(self.parent), NOTHING)
        found[self.parent[1:]] = self.attribute[1:]
        return found

    def shown(self, targets: Ints, attributes: int) -> Ints:
        """(target, attribute): the category that is printed."""
        found = np.full((len(targets), attributes), NOTHING)
        here = targets
        for _ in range(self.levels):
            inner = np.flatnonzero(here != ROOT)
            found[inner, self.attribute[here[inner]]] = self.category[here[inner]]
            here = np.where(here == ROOT, ROOT, self.parent[here])
        return found

    def leads_through(self, leaves: Ints, nodes: Ints) -> np.ndarray:
        """Whether the way to a leaf passes a node, pair by pair."""
        here = leaves
        for _ in range(self.levels):
            here = np.where(self.depth[here] > self.depth[nodes], self.parent[here], here)
        return np.asarray(here == nodes)


def cut_off(grown: Sequence[Grown], labels: Sequence[Sequence[str | None]], k: int) -> KactusTree:
    """The tree without what lies below a node of fewer than k rows or below a category that is never printed."""
    printed = [[label is not None for label in some] for some in labels]
    parent, attribute, category, depth, named = [-1], [NOTHING], [NOTHING], [0], [True]
    waiting = deque([(0, 0)])  # number in the grown tree, number here
    while waiting:
        old, new = waiting.popleft()
        split = grown[old].split
        if split is None or not named[new] or int(grown[old].counts.sum()) < k:
            continue
        codes = np.concatenate(split.groups).tolist()  # every group is one category
        waiting.extend(zip(grown[old].children, range(len(parent), len(parent) + len(codes)), strict=True))
        parent += [new] * len(codes)
        attribute += [split.attribute] * len(codes)
        category += codes
        depth += [depth[new] + 1] * len(codes)
        named += map(printed[split.attribute].__getitem__, codes)
    return KactusTree(_ints(parent), _ints(attribute), _ints(category), _ints(depth), named)


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def figures(tree: KactusTree, moves: RowMoves, classes: Ints, attributes: int) -> dict[str, int | Fraction | str]:
    """classes: the target's value of each kind."""
    kept = moves.target != DROPPED
    leaf, kind, rows, target = (one[kept] for one in (moves.leaf, moves.kind, moves.rows, moves.target))
    number, place = np.unique(target, return_inverse=True)
    sizes = np.bincount(place, weights=rows).astype(np.int64)
    pairs = np.unique(np.stack([place, classes[kind]]), axis=1)
    pure = np.bincount(pairs[0], minlength=len(number)) == 1
    published = int(rows.sum())
    shown = int((rows * tree.depth[target]).sum())
    swapped = int(rows[~tree.leads_through(leaf, target)].sum())
    return {
        "leaves": tree.leaves,
        "levels": tree.levels,
        "smallest class": int(sizes.min()),
        "largest class": int(sizes.max()),
        "rows in pure classes": Fraction(int(sizes[pure].sum()), published),
        "suppressed cells": 1 - Fraction(shown, published * attributes),
        "dropped rows": int(moves.rows[~kept].sum()),
        "swapped rows": swapped,
        "swap rate": Fraction(swapped, published),
    }
