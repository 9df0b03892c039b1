"""A partition as a recoding: what a row that was not in the table would have been published as.

A node of the partition becomes a node of the recoding that prints its region.  A class often prints less than
its region, because everybody in it has the same: such a label goes into nodes below that take this value alone, so that
a row with another value of the region is not given a label that is untrue of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ppdm_sql.methods.mondrian.partition import PartitionTree
from ppdm_sql.methods.recoding import ROOT, TREE, RecodedColumn, RecodingNode, RecodingTree, Take
from ppdm_sql.methods.shared.columns import Axis
from ppdm_sql.methods.shared.labels import RegionLabels
from ppdm_sql.source.hierarchy import Hierarchy, Node
from ppdm_sql.source.lines import Flags, Ints


@dataclass(frozen=True)
class ShownParts:
    """The nodes that are published, and per attribute the least and greatest code of who is in them."""

    node: Ints
    low: Ints  # (place in node, attribute)
    high: Ints


def recode_partition(
    axes: Sequence[Axis], tree: PartitionTree, emitted: Ints, parts: ShownParts, suppressed: str
) -> RecodingTree:
    """emitted: per node of the tree the one that its rows are published in; suppressed: what stands for everything."""
    regions = [
        RegionLabels.of(axis, np.unique(np.concatenate([tree.first[:, number], tree.stop[:, number]])), suppressed)
        for number, axis in enumerate(axes)
    ]
    return _Recoder(axes, regions, tree, parts, suppressed, np.flatnonzero(emitted == np.arange(len(emitted)))).run()


def fewest_nodes(tree: PartitionTree, emitted: Ints) -> int:
    """How many nodes the recoding of a partition has at least: one per part that covers less than the one above it."""
    node = np.flatnonzero(emitted == np.arange(len(emitted)))[1:]
    above = tree.parent[node]
    other = (tree.first[node] != tree.first[above]) | (tree.stop[node] != tree.stop[above])
    return 1 + int((other.any(axis=1) & ~tree.lost[node]).sum())


@dataclass
class _Recoder:
    axes: Sequence[Axis]
    regions: Sequence[RegionLabels]
    tree: PartitionTree
    parts: ShownParts
    suppressed: str
    kept: Ints  # the nodes that are published, and those above them
    nodes: list[RecodingNode] = field(default_factory=list)

    def run(self) -> RecodingTree:
        number = {0: ROOT}  # node of the partition -> node of the recoding
        lacking = self._lacking()
        inside = set(self.kept.tolist())
        for parent, children in self._families(inside):
            attribute = self._attribute(parent, children)
            if attribute is None:  # one child that is all of its parent
                number |= dict.fromkeys(children, number[parent])
                continue
            for child in children:
                if not self.tree.lost[child]:
                    mixed = bool(lacking[child, attribute])
                    number[child] = self._add(number[parent], child, children, attribute, mixed)
            for child in (one for one in children if self.tree.lost[one]):
                number[child] = number[parent]
        for place, node in enumerate(self.parts.node.tolist()):
            self._narrow(number[node], node, self.parts.low[place].tolist(), self.parts.high[place].tolist())
        columns = tuple(
            RecodedColumn(axis.info.name, axis.values, self._root_label(axis), paths_of(axis)) for axis in self.axes
        )
        forced = np.flatnonzero(np.isinf(self.tree.gain)).tolist()  # what AT MOST LEVEL does not let stand as it is
        return RecodingTree(TREE, columns, tuple(self.nodes), tuple(sorted({number[node] for node in forced})))

    def _families(self, inside: set[int]) -> Iterator[tuple[int, list[int]]]:
        """Every node that is split, with its children, parents first."""
        found: dict[int, list[int]] = {}
        for child, parent in enumerate(self.tree.parent.tolist()):
            if child and child in inside:
                found.setdefault(parent, []).append(child)
        yield from found.items()

    def _attribute(self, parent: int, children: Sequence[int]) -> int | None:
        """What a node was split by: the attribute in which a child covers less."""
        first, stop = self.tree.first[children], self.tree.stop[children]
        other = (first != self.tree.first[parent]) | (stop != self.tree.stop[parent])
        found = np.flatnonzero(other.any(axis=0))
        return int(found[0]) if len(found) else None

    def _lacking(self) -> Flags:
        """(node, attribute) -> whether a row in it has NULL or NaN there."""
        ordinary = np.array([axis.ordinary for axis in self.axes])
        found = np.zeros(self.tree.first.shape, dtype=bool)
        found[self.parts.node] = self.parts.high >= ordinary
        for node in range(len(found) - 1, 0, -1):
            found[self.tree.parent[node]] |= found[node]
        return found

    def _root_label(self, axis: Axis) -> str:
        """What the whole table prints: the marker, or the root of a hierarchy that covers all there is."""
        if axis.hierarchy is None or axis.stands_alone or axis.null_code is not None or not axis.texts:
            return self.suppressed
        return axis.hierarchy.levels[-1][0].label

    # -- nodes -------------------------------------------------------------------------------------

    def _add(self, parent: int, child: int, siblings: Sequence[int], attribute: int, mixed: bool) -> int:
        """The node of a part: the region that it has along the attribute that it was split by."""
        first, stop = int(self.tree.first[child, attribute]), int(self.tree.stop[child, attribute])
        others = [one for one in siblings if one != child]
        if self._is_rest(child, others, attribute):
            takes, label, covered = self._rest(parent, others, attribute, first, stop, mixed)
        else:
            takes, label, covered = self._region(attribute, first, stop, mixed)
        return self._append(parent, attribute, takes, label, covered)

    def _append(self, parent: int, attribute: int, takes: Take, label: str | None, covered: int) -> int:
        self.nodes.append(RecodingNode(parent, attribute, takes, label, covered))
        return len(self.nodes)

    def _is_rest(self, child: int, others: Sequence[int], attribute: int) -> bool:
        """Whether the part has what its siblings left: it covers them, too."""
        first, stop = self.tree.first[child, attribute], self.tree.stop[child, attribute]
        return any(
            first <= self.tree.first[one, attribute] and self.tree.stop[one, attribute] <= stop for one in others
        )

    def _rest(
        self, parent: int, others: Sequence[int], attribute: int, first: int, stop: int, mixed: bool
    ) -> tuple[Take, str | None, int]:
        axis = self.axes[attribute]
        label, covered = self._label_above(parent, attribute)
        if axis.stands_alone and axis.texts:
            label, covered = self.regions[attribute].other, axis.values
        if mixed:
            label, covered = self.suppressed, axis.values
        if axis.few is not None and any(self.tree.first[one, attribute] == axis.few for one in others):
            named = {code for one in others for code in range(*self._codes(one, attribute))}
            left = [code for code in range(first, min(stop, len(axis.texts))) if code not in named]
            return Take(values=tuple(axis.texts[code] for code in left), missing=mixed), label, covered
        return Take(rest=True, missing=mixed), label, covered

    def _codes(self, node: int, attribute: int) -> tuple[int, int]:
        return int(self.tree.first[node, attribute]), int(self.tree.stop[node, attribute])

    def _label_above(self, parent: int, attribute: int) -> tuple[str | None, int]:
        """What a node prints of an attribute, and how many values that covers."""
        while parent != ROOT:
            node = self.nodes[parent - 1]
            if node.column == attribute:
                return node.label, node.open
            parent = node.parent
        return self._root_label(self.axes[attribute]), self.axes[attribute].values

    def _region(self, attribute: int, first: int, stop: int, mixed: bool) -> tuple[Take, str | None, int]:
        axis = self.axes[attribute]
        if first >= axis.ordinary:
            return beyond(axis, first, stop, self.suppressed)
        takes, label, covered = self._plain(attribute, first, stop)
        if not mixed:
            return takes, label, covered
        other = beyond(axis, axis.ordinary, stop, self.suppressed)[0]
        both = replace(takes, values=(*takes.values, *other.values), missing=other.missing)
        return both, self.suppressed, axis.values

    def _plain(self, attribute: int, first: int, stop: int) -> tuple[Take, str | None, int]:
        """The values of a region, without NULL and NaN."""
        axis, regions = self.axes[attribute], self.regions[attribute]
        stop = min(stop, axis.ordinary)
        if axis.hierarchy is not None and not axis.stands_alone:
            level, node = highest(axis.hierarchy, first, stop)
            return Take(level=level, word=node.label), node.label, node.stop - node.start
        if axis.line is not None:
            ends = Take(ranged=True, low=regions.boundary.get(first), high=regions.boundary.get(stop))
            return ends, *regions.of_region(first, stop)
        hides = axis.few is not None and first <= axis.few < stop
        texts = axis.texts[first : min(stop, len(axis.texts))]
        takes = Take(values=tuple(texts), rest=hides)
        if len(texts) == 1 and not hides:
            return takes, texts[0], 1
        if axis.stands_alone:
            return takes, regions.other if axis.texts else self.suppressed, axis.values
        return takes, *regions.of_region(first, stop)

    # -- what everybody in a part has --------------------------------------------------------------

    def _narrow(self, parent: int, node: int, low: Sequence[int], high: Sequence[int]) -> None:
        """Nodes for what a class prints because everybody in it has it, one below the other."""
        for attribute, axis in enumerate(self.axes):
            found = self._common(axis, low[attribute], high[attribute])
            if found is not None and found[1:] != self._label_above(parent, attribute):
                parent = self._append(parent, attribute, *found)

    def _common(self, axis: Axis, low: int, high: int) -> tuple[Take, str | None, int] | None:
        if low == high and low >= axis.ordinary:
            return beyond(axis, low, low + 1, self.suppressed)
        if high >= axis.ordinary:
            return None
        if axis.hierarchy is not None and not axis.stands_alone:
            level, node = lowest(axis.hierarchy, low, high + 1)
            return Take(level=level, word=node.label), node.label, node.stop - node.start
        if low == high and low != axis.few:
            return Take(values=(axis.texts[low],)), axis.texts[low], 1
        return None


def highest(hierarchy: Hierarchy, first: int, stop: int) -> tuple[int, Node]:
    """The highest level that has a label for exactly these leaves, and the label.

    It is the level that a part was split by: one level higher its leaves share a label with others.
    """
    exact = [level for level in range(hierarchy.height + 1) if hierarchy.node_at(level, first)[1:] == (first, stop)]
    return (exact[-1], hierarchy.node_at(exact[-1], first)) if exact else lowest(hierarchy, first, stop)


def lowest(hierarchy: Hierarchy, first: int, stop: int) -> tuple[int, Node]:
    """The smallest label that covers these leaves, and its level."""
    node = hierarchy.covering(first, stop)
    level = next(at for at in range(hierarchy.height + 1) if hierarchy.node_at(at, first) == node)
    return level, node


def paths_of(axis: Axis) -> dict[str, tuple[str, ...]] | None:
    """Every leaf of the axis with its words, level by level; None without a hierarchy."""
    tree = axis.hierarchy
    if tree is None or axis.stands_alone:
        return None
    words = [[node.label for node in nodes for _ in range(node.start, node.stop)] for nodes in tree.levels]
    return dict(zip(tree.order, zip(*words, strict=True), strict=True))


def beyond(axis: Axis, first: int, stop: int, suppressed: str) -> tuple[Take, str | None, int]:
    """NULL and NaN; each alone prints itself."""
    missing = axis.null_code is not None and first <= axis.null_code < stop
    last = axis.size if axis.null_code is None else axis.null_code
    values = axis.texts[first : min(stop, last)] if first < last else ()
    if missing and values:
        return Take(values=tuple(values), missing=True), suppressed, axis.values
    return Take(values=tuple(values), missing=missing), (None if missing else values[0] if values else suppressed), 1
