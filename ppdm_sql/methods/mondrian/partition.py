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
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.methods.mondrian.level_counts import Columns, take_tally
from ppdm_sql.methods.mondrian.partition_cells import PartitionCells, PartRoutes
from ppdm_sql.methods.mondrian.split_quality import Response
from ppdm_sql.methods.mondrian.splits import Children, SplitChoice, best_splits
from ppdm_sql.methods.plan import PART
from ppdm_sql.methods.shared.columns import Axis
from ppdm_sql.methods.shared.limits import Demands
from ppdm_sql.source.lines import Flags, Ints
from ppdm_sql.watching import Progress

Floats = NDArray[np.float64]


@dataclass
class PartitionTree:
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
class Generation:
    """The nodes of one depth.  The active ones may still be split; their place in `active` is their part number."""

    offset: int  # the number of the first node
    parent: Ints
    first: Ints
    stop: Ints
    rows: Ints
    gain: Floats
    active: Ints
    hopeful: Flags  # per node and attribute: a cut may still leave k on both sides


@dataclass(frozen=True)
class Grower:
    """One run: what is split, and by which rule."""

    cells: PartitionCells
    axes: Sequence[Axis]
    demands: Demands
    response: Response
    columns: Columns
    progress: Progress

    def grow(self, rows: int, most_levels: int | None = None) -> PartitionTree:
        """The whole tree; in the end the working tables have every row in one of its leaves."""
        generations = [self._root(rows)]
        settled = 0
        while len(generations[-1].active):
            self.progress("partitioning", settled, rows)
            current = generations[-1]
            if most_levels is None or len(generations) <= most_levels:
                children, gain = self._splits(current)
            else:
                children, gain = Children.joined([]), np.zeros(len(current.active))
            current.gain[current.active] = gain
            following = self._following(current, children)
            self.cells.route(_routes(current, children, following))
            settled = rows - int(following.rows[following.active].sum())
            generations.append(following)
        self.progress("partitioning", rows, rows)
        return _tree(generations)

    def _root(self, rows: int) -> Generation:
        stop = np.array([[axis.size for axis in self.axes]], dtype=np.int64)
        place = np.zeros(1, dtype=np.int64)
        everything = np.ones(stop.shape, dtype=bool)
        return Generation(0, place - 1, np.zeros_like(stop), stop, np.array([rows]), np.zeros(1), place, everything)

    def _following(self, current: Generation, children: Children) -> Generation:
        """The children as nodes; active are those that are large enough for two parts."""
        parent = current.active[children.part]
        first, stop = current.first[parent], current.stop[parent]
        each = np.arange(len(parent))
        first[each, children.attribute] = np.maximum(first[each, children.attribute], children.first)
        stop[each, children.attribute] = np.minimum(stop[each, children.attribute], children.stop)
        enough = (children.persons >= 2 * self.demands.k) & (children.rows > 1)
        offset = current.offset + len(current.parent)
        return Generation(
            offset,
            parent + current.offset,
            first,
            stop,
            children.rows,
            np.zeros(len(parent)),
            np.flatnonzero(enough),
            current.hopeful[parent],
        )

    def _splits(self, current: Generation) -> tuple[Children, Floats]:
        """The children of every part of the level that has an allowable split, and the gain of each part's split."""
        hopeful = current.hopeful[current.active]
        found = self._by_cost(hopeful) if self.response.chooses_attribute else self._widest(hopeful)
        current.hopeful[current.active] = hopeful
        return found

    # -- choosing the attribute ----------------------------------------------------------------------

    def _widest(self, hopeful: Flags) -> tuple[Children, Floats]:
        """The attribute that spreads over the largest share of its codes; where it has no allowable split, the next."""
        parts = len(hopeful)
        share = self._shares() * hopeful
        ranking = np.argsort(-share, axis=1, kind="stable")  # equally wide: in the order of the attributes
        gain, several = np.zeros(parts), []
        pending = np.arange(parts, dtype=np.int64)
        for rank in range(len(self.axes)):
            attribute = ranking[pending, rank]
            spread = share[pending, attribute] > 0
            pending, attribute = pending[spread], attribute[spread]
            if not len(pending):
                break
            self.cells.choose(pending, attribute)
            found = self._searched(None, attribute)
            several.append(found.children(self.axes, found.ok))
            gain[pending[found.ok]] = found.gain[found.ok]
            hopeful[pending[found.hopeless], attribute[found.hopeless]] = False
            pending = pending[~found.ok]
        return Children.joined(several), gain

    def _shares(self) -> Floats:
        """Per part and attribute (greatest - least code) / (number of codes - 1).

        Ranks instead of values: one outlier does not make everybody else look alike, and dates, text and
        hierarchies are measured like numbers.  Doubles order such fractions rightly up to 2^25 codes.
        """
        extents = self.cells.extents()
        order = np.argsort(extents[PART])
        shares = [
            (extents[f"hi{number}"] - extents[f"lo{number}"])[order] / max(axis.size - 1, 1)
            for number, axis in enumerate(self.axes)
        ]
        return np.column_stack(shares)

    def _by_cost(self, hopeful: Flags) -> tuple[Children, Floats]:
        """The cheapest split over all attributes; of equal ones that of the earlier attribute."""
        parts = len(hopeful)
        cost, gain = np.full(parts, np.iinfo(np.int64).max), np.zeros(parts)
        chosen = np.full(parts, -1, dtype=np.int64)
        several = []
        for number in np.flatnonzero(hopeful.any(axis=0)).tolist():
            found = self._searched(number, np.full(parts, number, dtype=np.int64))
            better = found.ok & (found.cost < cost)
            cost[better], gain[better], chosen[better] = found.cost[better], found.gain[better], number
            several.append(found.children(self.axes, better))
            hopeful[found.hopeless, number] = False
        children = Children.joined(several)
        return children.only(children.attribute == chosen[children.part]), gain

    def _searched(self, number: int | None, attribute: Ints) -> SplitChoice:
        tally = take_tally(self.cells, self.columns, number)
        return best_splits(tally, attribute, self.axes, self.demands, self.response)


def _routes(current: Generation, children: Children, following: Generation) -> PartRoutes:
    """Where the rows go: into children, or, where a part was not split, out of the working table as they are."""
    target = -1 - (following.offset + np.arange(len(children.part)))
    target[following.active] = np.arange(len(following.active))
    parts = len(current.active)
    own = -1 - (current.offset + current.active)
    attribute, cut, low, high = np.zeros(parts, np.int64), np.zeros(parts, np.int64), own.copy(), own.copy()
    attribute[children.part] = children.attribute
    lower = np.flatnonzero(np.append(children.part[1:] == children.part[:-1], False))
    # Of a part of two the first child is the lower side; of a part of more the branches decide.
    low[children.part[lower]] = target[lower]
    cut[children.part[lower]] = children.first[lower + 1]
    high[children.part[lower]] = target[lower + 1]
    several = (np.bincount(children.part, minlength=parts) > 2)[children.part]
    branches = {
        PART: children.part[several],
        "ppdm_first": children.first[several],
        "ppdm_last": children.stop[several] - 1,
        "ppdm_child": target[several],
    }
    return PartRoutes(np.arange(parts), attribute, cut, low, high, branches)


def _tree(generations: Sequence[Generation]) -> PartitionTree:
    return PartitionTree(
        parent=np.concatenate([one.parent for one in generations]),
        first=np.concatenate([one.first for one in generations]),
        stop=np.concatenate([one.stop for one in generations]),
        rows=np.concatenate([one.rows for one in generations]),
        gain=np.concatenate([one.gain for one in generations]),
        depth=len([one for one in generations if len(one.parent)]) - 1,
    )
