"""The public questions of a kADET tree as a recoding: what a row that was not in the table would have printed.

A private question sends a row to all branches at once, so a node of the recoding stands for all nodes of the tree that
its people may be in (span.Nodes in the paper), and asks the first public question that is open in one of them.  Nodes
with fewer than k people are not divided further.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

import numpy as np

from ppdm_sql.cells.cells import Cells
from ppdm_sql.engines.base import Kind
from ppdm_sql.methods.kadet.span_labels import Answer, Write
from ppdm_sql.methods.mondrian.partition_recoding import lowest
from ppdm_sql.methods.recoding import ROOT, TREE, RecodedColumn, RecodingNode, RecodingTree, Take
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.leaves import leaf_text
from ppdm_sql.source.lines import Flags, Ints
from ppdm_sql.trees.comparing import is_below
from ppdm_sql.trees.tree import Cut, Groups, Node, Split, Tree

_NAN = "nan"


@dataclass(frozen=True)
class _Place:
    """A node of the recoding: who is in it, and which nodes of the tree are still open for them."""

    number: int
    cells: Ints
    open: tuple[int, ...]
    answers: Mapping[int, tuple[Answer, ...]]  # attribute -> what its people answered
    left: Mapping[int, Flags]  # attribute -> the values that give these answers


def recode_kadet(
    tree: Tree,
    public: Sequence[str],
    cells: Cells,
    writers: Mapping[str, Write],
    hierarchies: Mapping[str, Hierarchy],
    suppressed: str,
    least: int,
) -> RecodingTree:
    """hierarchies: those whose labels are words."""
    return _TreeRecoder(tree, tuple(public), cells, writers, hierarchies, suppressed, least).run()


@dataclass
class _TreeRecoder:
    tree: Tree
    public: tuple[str, ...]
    cells: Cells
    writers: Mapping[str, Write]
    hierarchies: Mapping[str, Hierarchy]
    suppressed: str
    least: int
    nodes: list[RecodingNode] = field(default_factory=list)

    def run(self) -> RecodingTree:
        waiting = [_Place(ROOT, np.arange(len(self.cells)), (self.tree.root.number,), {}, {})]
        while waiting:
            waiting += self._divisions(waiting.pop())
        columns = tuple(self._column(name) for name in self.public)
        return RecodingTree(TREE, columns, tuple(self.nodes))

    def _column(self, name: str) -> RecodedColumn:
        tree = self.hierarchies.get(name)
        paths = None if tree is None else {leaf: tree.levels_of(leaf) for leaf in tree.order}
        return RecodedColumn(name, len(self.cells[name].values), self.suppressed, paths)

    def _divisions(self, place: _Place) -> Iterator[_Place]:
        """The children that are asked further questions."""
        asking, rest = self._next_question(place.open)
        if asking is None or int(self.cells.counted[place.cells].sum()) < self.least:
            return
        split = asking.split
        assert isinstance(split, Cut | Groups)
        name = self.tree.attributes[split.attribute].name
        codes = self.cells[name].codes[place.cells]
        before = place.left.get(split.attribute, np.ones(len(self.cells[name].values), dtype=bool))
        for branch in (*range(split.width), *([None] if isinstance(split, Groups) and split.others is None else [])):
            left = before & self._takers(split, branch)
            if not left.any():
                continue  # nobody can answer both this and what was asked before
            answers = (*place.answers.get(split.attribute, ()), (split, branch))
            takes = self._take(split, branch, left)
            if takes is None:
                continue
            label = self.writers[name](answers)
            told = self.suppressed if label is None else label
            self.nodes.append(RecodingNode(place.number, self.public.index(name), takes, told, int(left.sum())))
            there = place.cells[np.append(left, False)[codes]]
            inside = rest if branch is None else (asking.children[branch], *rest)
            yield replace(
                place, number=len(self.nodes), cells=there, open=inside,
                answers={**place.answers, split.attribute: answers}, left={**place.left, split.attribute: left},
            )  # fmt: skip

    def _next_question(self, open_nodes: Sequence[int]) -> tuple[Node | None, tuple[int, ...]]:
        """The first public question, and what is open besides it."""
        waiting, others = list(reversed(open_nodes)), []
        while waiting:
            node = self.tree.nodes[waiting.pop()]
            if node.split is None:
                continue
            if self.tree.attributes[node.split.attribute].name in self.public:
                others += list(reversed(waiting))
                return node, tuple(others)
            waiting += reversed(node.children)
        return None, ()

    def _takers(self, split: Split, branch: int | None) -> Flags:
        """Which values of the table take a branch; None: those that no branch is for."""
        attribute = self.tree.attributes[split.attribute]
        values = self.cells[attribute.name].values
        if isinstance(split, Cut):
            below = np.array([is_below(attribute, split.at, value) for value in values], dtype=bool)
            return np.asarray(below if branch == 0 else ~below)
        assert isinstance(split, Groups)
        texts = np.array([leaf_text(value) for value in values], dtype=object)
        named = [np.isin(texts, [leaf_text(value) for value in group]) for group in split.groups]
        if branch is not None and branch != split.others:
            return np.asarray(named[branch])
        return np.asarray(~np.any(named, axis=0))

    def _take(self, split: Split, branch: int | None, left: Flags) -> Take | None:
        """What a branch takes; None where nothing that is printed of it would be true of other values."""
        attribute = self.tree.attributes[split.attribute]
        tree = self.hierarchies.get(attribute.name)
        if isinstance(split, Cut):
            if tree is not None:
                return None  # a word is true of the leaves that it covers, not of all that lies between two borders
            at = _exact(split.at, attribute.kind)
            if branch == 0:
                return Take(ranged=True, high=at)
            return Take(ranged=True, low=at, values=(_NAN,) if attribute.kind is Kind.FLOAT else ())
        assert isinstance(split, Groups)
        if branch is not None and branch != split.others:
            group = [leaf_text(value) for value in split.groups[branch]]
            if tree is None:
                return Take(values=tuple(group))
            places = sorted(int(place) for place in tree.positions(group))
            level, node = lowest(tree, places[0], places[-1] + 1)
            return Take(level=level, word=node.label)
        if tree is not None:
            return None
        column = self.cells[attribute.name]
        if (column.held[left] < self.least).any():
            return Take(rest=True)  # the label has an ellipsis, for values that few have
        return Take(values=tuple(leaf_text(column.values[code]) for code in np.flatnonzero(left).tolist()))


def _exact(at: Decimal | str, kind: Kind) -> str:
    """A border as the values of a column are compared with it."""
    return at if isinstance(at, str) else str(Decimal(float(at)) if kind is Kind.FLOAT else at)
