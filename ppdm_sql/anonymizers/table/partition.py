"""The partition, grown level by level: all parts of a level are counted, split and routed together.

LeFevre, DeWitt and Ramakrishnan 2006, strict multidimensional partitioning:
    choose a dimension       -> _widest (no target), _by_cost (with a target)
    find the median, cut     -> splits.best_splits
    recurse on both sides    -> the next level; a part that cannot be split is finished and costs nothing more
Deviations: where the median itself is not allowable the most even allowable cut is taken, and where the
widest attribute has none the next widest is tried, so that no allowable cut is left when it ends.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.anonymizers.plan import PART, Progress
from ppdm_sql.anonymizers.table.axes import Axis
from ppdm_sql.anonymizers.table.cells import Cells, Kids
from ppdm_sql.anonymizers.table.demands import Demands
from ppdm_sql.anonymizers.table.ranges import Flags, Ints
from ppdm_sql.anonymizers.table.responses import Response
from ppdm_sql.anonymizers.table.splits import Children, Found, best_splits
from ppdm_sql.anonymizers.table.tally import Columns, take_tally

Floats = NDArray[np.float64]


@dataclass
class Tree:
    """Every part there ever was, in breadth-first order; node 0 is the whole table.

    first and stop: per node and attribute, the codes first .. stop - 1 its region allows.
    """

    parent: Ints
    first: Ints
    stop: Ints
    rows: Ints
    gain: Floats  # of the node's split; 0 for a leaf
    depth: int = 0

    @property
    def leaves(self) -> Flags:
        leaf = np.ones(len(self.parent), dtype=bool)
        leaf[self.parent[1:]] = False
        return leaf

    def emitted(self, most: int | None) -> Ints:
        """Per node the part it is published in: itself, or the ancestor at which growing best-first stops.

        The frontier's part with the largest gain is split first, of equal ones the earlier; a split that
        would make more than `most` parts is passed over.
        """
        nodes = np.arange(len(self.parent))
        if most is None:
            return nodes
        kept = self._best_first(most)
        shown = nodes.copy()
        for node in nodes[1:]:  # parents come before their children
            parent = self.parent[node]
            shown[node] = node if kept[parent] and shown[parent] == parent else shown[parent]
        return shown

    def _best_first(self, most: int) -> Flags:
        """Which nodes are split when at most so many parts are wanted."""
        children = np.bincount(self.parent[1:], minlength=len(self.parent))
        opening = np.searchsorted(self.parent[1:], np.arange(len(self.parent))) + 1
        split = np.zeros(len(self.parent), dtype=bool)
        frontier, parts = [(-self.gain[0], 0)], 1
        while frontier:
            _, node = heapq.heappop(frontier)
            if children[node] and parts + children[node] - 1 <= most:
                split[node] = True
                parts += int(children[node]) - 1
                for child in range(int(opening[node]), int(opening[node] + children[node])):
                    heapq.heappush(frontier, (-self.gain[child], child))
        return split


@dataclass(frozen=True)
class Level:
    """Parts that may still be split: their nodes, regions and counts; part number = place."""

    node: Ints
    first: Ints
    stop: Ints


@dataclass
class Grower:
    """One run: what is split, by which rule, and the tree so far."""

    cells: Cells
    axes: Sequence[Axis]
    demands: Demands
    response: Response
    columns: Columns
    progress: Progress
    _pieces: list[Tree] = field(default_factory=list)
    _nodes: int = 0

    def grow(self, rows: int, persons: int, most_levels: int | None = None) -> Tree:
        """The whole tree; in the end every row is in one of its leaves."""
        first = np.zeros((1, len(self.axes)), dtype=np.int64)
        stop = np.array([[axis.size for axis in self.axes]], dtype=np.int64)
        self._remember(np.array([-1]), first, stop, np.array([rows]))
        level = Level(np.zeros(1, np.int64), first, stop)
        if persons < 2 * self.demands.k or most_levels == 0:
            self._finish_all(level)
            return self._tree(0)
        depth, settled = 0, 0
        while len(level.node):
            self.progress("partitioning", settled, rows)
            split, gain = self._splits(level)
            self._pieces_gain(level, split, gain)
            last = most_levels is not None and depth + 1 >= most_levels
            level, gone = self._descend(level, split, last)
            settled += gone
            depth += 1
        self.progress("partitioning", rows, rows)
        return self._tree(depth)
