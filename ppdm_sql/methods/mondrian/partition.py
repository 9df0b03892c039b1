"""The partition, grown level by level: all parts of a level are counted, split and routed together.

LeFevre, DeWitt and Ramakrishnan 2006, strict multidimensional partitioning:
    choose a dimension       -> _widest (no target), _by_cost (with a target)
    find the median, cut     -> splits.best_splits
    recurse on both sides    -> the next level; a part that cannot be split is finished and costs nothing more
Deviations: where the median itself is not allowable the most even allowable cut is taken, and where the
widest attribute has none the next widest is tried, so that no allowable cut is left when it ends.  With a target,
a split that gains no more than chance would is not made for its gain: the widest attribute is split then, too.
A split along a hierarchy that leaves too little behind is mended where it comes up (left_behind.py): put off, rare
values would be in many small parts, and each would cost its part the label.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.errors import RequirementBreached
from ppdm_sql.methods.mondrian.branches import label_groups
from ppdm_sql.methods.mondrian.children import Children, branch_children
from ppdm_sql.methods.mondrian.left_behind import Mender
from ppdm_sql.methods.mondrian.level_counts import Columns, take_tally
from ppdm_sql.methods.mondrian.partition_cells import PartitionCells, PartRoutes
from ppdm_sql.methods.mondrian.pieces import Pulls
from ppdm_sql.methods.mondrian.split_quality import Evenness, Response
from ppdm_sql.methods.mondrian.splits import SplitChoice, best_splits
from ppdm_sql.methods.mondrian.trim import Trimmer
from ppdm_sql.methods.plan import PART
from ppdm_sql.methods.shared.columns import Axis
from ppdm_sql.methods.shared.limits import Demands
from ppdm_sql.policy.words import many
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
    lost: Flags  # its rows are left out
    behind: Flags  # per node and attribute: it is what was left behind when others got labels of their own
    depth: int = 0

    @property
    def leaves(self) -> Flags:
        leaf = np.ones(len(self.parent), dtype=bool)
        leaf[self.parent[1:]] = False
        return leaf

    @property
    def forced_parts(self) -> int:
        """How many parts AT MOST LEVEL alone makes."""
        forced = np.isinf(self.gain)
        made = ~forced & np.append(True, forced[self.parent[1:]])
        return int(made.sum())

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
    lost: Flags
    behind: Flags
    active: Ints
    hopeful: Flags  # per node and attribute: a split may still leave k on both sides


@dataclass(frozen=True)
class LevelSplits:
    """The splits of a level's parts: what they make, what each gains, and which rows are pulled up in them."""

    children: Children
    gain: Floats
    pulls: tuple[Pulls, ...] = ()

    @staticmethod
    def none(parts: int) -> LevelSplits:
        return LevelSplits(Children.joined([]), np.zeros(parts))

    @property
    def sizes(self) -> Ints:
        """Per part the number of its children; 0: it is not split."""
        return np.bincount(self.children.part, minlength=len(self.gain))

    def only(self, wanted: Flags) -> LevelSplits:
        """The splits of some parts."""
        pulls = tuple(one for one in self.pulls if wanted[one.part[0]])
        return LevelSplits(self.children.only(wanted[self.children.part]), np.where(wanted, self.gain, 0.0), pulls)

    def joined(self, other: LevelSplits) -> LevelSplits:
        """These and those of other parts."""
        children = Children.joined([self.children, other.children])
        return LevelSplits(children, self.gain + other.gain, (*self.pulls, *other.pulls))


@dataclass(frozen=True)
class Grower:
    """One run: what is split, and by which rule."""

    cells: PartitionCells
    axes: Sequence[Axis]
    demands: Demands
    response: Response
    columns: Columns
    progress: Progress
    mender: Mender

    def grow(self, rows: int, most_levels: int | None = None) -> PartitionTree:
        """The whole tree; in the end the working tables have every row in one of its leaves."""
        generations = [self._root(rows)]
        for number in [number for number, axis in enumerate(self.axes) if axis.most_level is not None]:
            generations.append(self._limited(generations[-1], number))
        forced = len(generations) - 1
        settled = 0
        while len(generations[-1].active):
            self.progress("partitioning", settled, rows)
            current = generations[-1]
            if most_levels is None or len(generations) - forced <= most_levels:
                split = self._splits(current)
            else:
                split = LevelSplits.none(len(current.active))
            current.gain[current.active] = split.gain
            following = self._following(current, split.children)
            self.cells.route(_routes(current, split, following))
            settled = rows - int(following.rows[following.active].sum())
            generations.append(following)
        self.progress("partitioning", rows, rows)
        return _tree(generations)

    def _root(self, rows: int) -> Generation:
        stop = np.array([[axis.size for axis in self.axes]], dtype=np.int64)
        place = np.zeros(1, dtype=np.int64)
        every = np.ones(stop.shape, dtype=bool)
        gain, lost = np.zeros(1), np.zeros(1, dtype=bool)
        return Generation(0, place - 1, np.zeros_like(stop), stop, np.array([rows]), gain, lost, ~every, place, every)

    def _limited(self, current: Generation, number: int) -> Generation:
        """Every part by the labels of the coarsest level that may be published of an attribute.

        Labels that do not meet the requirements are left out, as far as the policy allows that.
        """
        axis = self.axes[number]
        assert axis.most_level is not None
        tally = take_tally(self.cells, self.columns, number)
        level = np.full(len(tally.starts), axis.most_level)
        group, opening = label_groups(tally, axis, level)
        left = ~self.demands.groups(tally, group, len(opening))[group]
        lost = int(tally.rows[left].sum())
        if lost > self.mender.budget.rows:
            labels = int(left[opening].sum())
            raise RequirementBreached(
                f'column "{axis.info.name}": AT MOST LEVEL {axis.most_level} cannot be kept: {many(labels, "label")} '
                f"of that level ({many(lost, 'row')}) would not meet the requirements. Allow a higher level, or more "
                "rows to be left out (SUPPRESS AT MOST)"
            )
        self.mender.budget.rows -= lost
        children = branch_children(tally, axis, number, level, left)
        split = LevelSplits(replace(children, lost=children.rest), np.full(len(current.active), np.inf))
        current.gain[current.active] = split.gain
        following = self._following(current, split.children)
        following = replace(following, active=np.flatnonzero(~following.lost))
        self.cells.route(_routes(current, split, following))
        return following

    def _following(self, current: Generation, children: Children) -> Generation:
        """The children as nodes; active are those that are large enough for two parts, or for one and rows to lose."""
        parent = current.active[children.part]
        first, stop = current.first[parent], current.stop[parent]
        each = np.arange(len(parent))
        first[each, children.attribute] = np.maximum(first[each, children.attribute], children.first)
        stop[each, children.attribute] = np.minimum(stop[each, children.attribute], children.stop)
        least = self.demands.k if self.mender.budget.rows else 2 * self.demands.k
        enough = (children.persons >= least) & (children.rows > 1) & ~children.lost
        offset = current.offset + len(current.parent)
        behind = current.behind[parent]
        behind[each[children.rest], children.attribute[children.rest]] = True
        return Generation(
            offset,
            parent + current.offset,
            first,
            stop,
            children.rows,
            np.zeros(len(parent)),
            children.lost,
            behind,
            np.flatnonzero(enough),
            current.hopeful[parent],
        )

    def _splits(self, current: Generation) -> LevelSplits:
        """The split of every part of the level that has an allowable one."""
        hopeful = current.hopeful[current.active]
        split = LevelSplits.none(len(hopeful))
        if self.response.chooses_attribute:
            split = self._by_cost(hopeful)
            idle = ~self.response.worth_telling(split.gain, split.sizes, current.rows[current.active])
            split = split.only(~idle)
        pending = np.flatnonzero(split.sizes == 0)
        if len(pending):
            every = self._shares()
            split = split.joined(self._widest(hopeful, every, pending))
            pending = np.flatnonzero(split.sizes == 0)
            if self.mender.budget.rows:
                split = split.joined(self._trimmed(every, pending, current))
        current.hopeful[current.active] = hopeful
        return split

    # -- choosing the attribute ----------------------------------------------------------------------

    def _widest(self, hopeful: Flags, every: Floats, pending: Ints) -> LevelSplits:
        """The attribute that spreads over the largest share of its codes; where nothing can be made of it, the next."""
        split, share = LevelSplits.none(len(every)), every * hopeful
        ranking = np.argsort(-every, axis=1, kind="stable")  # equally wide: in the order of the attributes
        for rank in range(len(self.axes)):
            here, attribute = self._next(share, ranking, pending, rank)
            if len(here):
                split = split.joined(self._split_along(hopeful, here, attribute))
                pending = pending[split.sizes[pending] == 0]
        return split

    def _split_along(self, hopeful: Flags, parts: Ints, attribute: Ints) -> LevelSplits:
        """The most even split of every part along its attribute; one that leaves too little behind is mended."""
        found = self._searched(None, attribute, Evenness())
        hopeful[parts[found.hopeless], attribute[found.hopeless]] = False
        split = self._without_gain(found.children(self.axes, found.ok), len(hopeful))
        for number in np.unique(attribute[found.short]).tolist():
            children, pulls = self.mender.mend(found.tally.only(found.short & (attribute == number)), number)
            split = split.joined(self._without_gain(children, len(hopeful), pulls))
        return split

    def _trimmed(self, every: Floats, pending: Ints, current: Generation) -> LevelSplits:
        """Parts that still have none: without an end of the widest number line where that loses less."""
        share = every * np.array([axis.line is not None and axis.hierarchy is None for axis in self.axes])
        split = LevelSplits.none(len(share))
        ranking = np.argsort(-share, axis=1, kind="stable")
        trimmer = Trimmer(self.axes, self.demands, self.mender.budget)
        for rank in range(len(self.axes)):
            here, attribute = self._next(share, ranking, pending, rank)
            if not len(here):
                break
            tally = take_tally(self.cells, self.columns, None)
            for number in np.unique(attribute).tolist():
                some = tally.only(attribute == number)
                node = current.active[some.parts]
                children = trimmer.trim(some, number, current.first[node, number], current.stop[node, number])
                split = split.joined(self._without_gain(children, len(share)))
            pending = pending[split.sizes[pending] == 0]
        return split

    def _without_gain(self, children: Children, parts: int, pulls: Sequence[Pulls] = ()) -> LevelSplits:
        """Splits that are not made for what they say of a target; without one, the largest part comes first."""
        gain = np.zeros(parts)
        if not self.response.chooses_attribute:
            gain += np.bincount(children.part, children.rows, parts)
        return LevelSplits(children, gain, tuple(pulls))

    def _next(self, share: Floats, ranking: Ints, pending: Ints, rank: int) -> tuple[Ints, Ints]:
        """The parts that spread over the attribute of this rank, and that attribute; the next counts are about it."""
        attribute = ranking[pending, rank]
        spread = share[pending, attribute] > 0
        pending, attribute = pending[spread], attribute[spread]
        if len(pending):
            self.cells.choose(pending, attribute)
        return pending, attribute

    def _shares(self) -> Floats:
        """Per part and attribute (greatest - least code) / (number of codes - 1), times its weight.

        Ranks instead of values: one outlier does not make everybody else look alike, and dates, text and
        hierarchies are measured like numbers.  Doubles order such fractions rightly up to 2^25 codes.
        """
        extents = self.cells.extents()
        order = np.argsort(extents[PART])
        shares = [
            (extents[f"hi{number}"] - extents[f"lo{number}"])[order] / max(axis.size - 1, 1) * float(axis.weight)
            for number, axis in enumerate(self.axes)
        ]
        return np.column_stack(shares)

    def _by_cost(self, hopeful: Flags) -> LevelSplits:
        """The cheapest split over all attributes; of equal ones that of the earlier attribute."""
        parts = len(hopeful)
        cost, gain = np.full(parts, np.iinfo(np.int64).max), np.zeros(parts)
        chosen = np.full(parts, -1, dtype=np.int64)
        several = []
        for number in np.flatnonzero(hopeful.any(axis=0)).tolist():
            found = self._searched(number, np.full(parts, number, dtype=np.int64), self.response)
            price = self._weighed(found, number)
            better = found.ok & (price < cost)
            cost[better], gain[better], chosen[better] = price[better], found.gain[better], number
            several.append(found.children(self.axes, better))
            hopeful[found.hopeless, number] = False
        children = Children.joined(several)
        return LevelSplits(children.only(children.attribute == chosen[children.part]), gain)

    def _weighed(self, found: SplitChoice, number: int) -> Ints:
        """The costs of splits; what a split of an attribute gains counts as often as its weight says."""
        weight = self.axes[number].weight
        if weight == 1:
            return found.cost
        more = self.response.per_row(found.gain * float(weight - 1), found.tally)
        return np.where(found.ok, found.cost - more, found.cost)

    def _searched(self, number: int | None, attribute: Ints, response: Response) -> SplitChoice:
        tally = take_tally(self.cells, self.columns, number)
        return best_splits(tally, attribute, self.axes, self.demands, response)


def _routes(current: Generation, split: LevelSplits, following: Generation) -> PartRoutes:
    """Where the rows go: into children, or, where a part was not split, out of the working table unchanged."""
    children = split.children
    target = -1 - (following.offset + np.arange(len(children.part)))
    target[following.active] = np.arange(len(following.active))
    parts = len(current.active)
    own = -1 - (current.offset + current.active)
    attribute, cut, low, high = np.zeros(parts, np.int64), np.zeros(parts, np.int64), own.copy(), own.copy()
    attribute[children.part] = children.attribute
    branched = np.bincount(children.part, minlength=parts) != 2
    branched[children.part[children.rest]] = True
    # Of two children the first is the lower side.  Otherwise the branches decide; what is in none stays behind.
    lower = np.flatnonzero(np.append(children.part[1:] == children.part[:-1], False) & ~branched[children.part])
    low[children.part[lower]] = target[lower]
    cut[children.part[lower]] = children.first[lower + 1]
    high[children.part[lower]] = target[lower + 1]
    behind = children.part[children.rest]
    low[behind] = high[behind] = target[children.rest]
    several = branched[children.part] & ~children.rest
    branches = {
        PART: children.part[several],
        "ppdm_first": children.first[several],
        "ppdm_last": children.stop[several] - 1,
        "ppdm_child": target[several],
    }
    pulls = Pulls.joined(split.pulls)
    return PartRoutes(np.arange(parts), attribute, cut, low, high, branches, pulls, high[pulls.part])


def _tree(generations: Sequence[Generation]) -> PartitionTree:
    return PartitionTree(
        parent=np.concatenate([one.parent for one in generations]),
        first=np.concatenate([one.first for one in generations]),
        stop=np.concatenate([one.stop for one in generations]),
        rows=np.concatenate([one.rows for one in generations]),
        gain=np.concatenate([one.gain for one in generations]),
        lost=np.concatenate([one.lost for one in generations]),
        behind=np.concatenate([one.behind for one in generations]),
        depth=len([one for one in generations if len(one.parent)]) - 1,
    )
