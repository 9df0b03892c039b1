"""The tree that ATP starts from, as pieces to prune, and the pruned pieces as a tree over values.

Edges are complete: a category that no row of a node has is put to the child with most rows, and so is whatever the
table never had.  A missing branch would tell that nobody there has the value.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ppdm_sql.induction.borders import At
from ppdm_sql.induction.criteria import entropy
from ppdm_sql.induction.grow import Grown
from ppdm_sql.methods.atp.bins import AskedColumn
from ppdm_sql.methods.atp.node_labels import Piece
from ppdm_sql.trees.tree import Attribute, Bands, Cut, Groups, Node, Split, Tree, Value

Options = dict[str, str | int | float | bool]


def pieces_of(grown: Sequence[Grown]) -> Piece:
    """The grown tree, its root first; a child's number is greater than its parent's."""
    made = [Piece((), node.counts) for node in grown]
    for node in grown:
        if node.split is not None:
            piece = made[node.number]
            piece.attribute, piece.children = node.split.attribute, []
            for child, codes in zip(node.children, node.split.groups, strict=True):
                made[child].codes = tuple(int(code) for code in codes)
                piece.children.append(made[child])
    return made[0]


def tree_of(
    root: Piece, asked: Sequence[AskedColumn], target: Attribute, classes: tuple[Value, ...], told: Options
) -> Tree:
    """The tree over values, its nodes numbered from the top."""
    nodes: list[Node] = []
    waiting: list[tuple[Piece, int | None, int]] = [(root, None, 0)]
    children_of: dict[int, list[int]] = {}
    splits: dict[int, Split] = {}
    while waiting:
        piece, parent, depth = waiting.pop()
        number = len(nodes)
        if parent is not None:
            children_of[parent].append(number)
        gain = 0.0
        if piece.children is not None and piece.attribute is not None:
            splits[number], ordered = _split(piece.attribute, asked[piece.attribute], piece.children)
            children_of[number] = []
            below = np.stack([child.counts for child in ordered])
            gain = max(0.0, float(entropy(piece.counts) - entropy(below).sum()))
            waiting.extend((child, number, depth + 1) for child in reversed(ordered))
        nodes.append(Node(number, parent, depth, tuple(map(int, piece.counts)), gain=gain))
    finished = tuple(
        Node(node.number, node.parent, node.depth, node.counts, splits.get(node.number),
             tuple(children_of.get(node.number, ())), gain=node.gain)
        for node in nodes
    )  # fmt: skip
    return Tree(tuple(one.attribute for one in asked), target, classes, finished, "atp", told)


def _split(number: int, asked: AskedColumn, children: Sequence[Piece]) -> tuple[Split, list[Piece]]:
    """The split over values, and the children in the order of its branches."""
    largest = max(range(len(children)), key=lambda place: (int(children[place].counts.sum()), -place))
    to = {code: place for place, child in enumerate(children) for code in child.codes}
    if asked.attribute.ordered:
        return _bands(number, asked, [to.get(code, largest) for code in range(asked.size)], children)
    groups: list[list[Value]] = [[] for _ in children]
    for code in asked.nameable:
        groups[to.get(code, largest)].append(asked.values[code])
    others = largest if asked.rare is None else to.get(asked.rare, largest)
    return Groups(number, tuple(map(tuple, groups)), others), list(children)


def _bands(number: int, asked: AskedColumn, to: Sequence[int], children: Sequence[Piece]) -> tuple[Split, list[Piece]]:
    """Bins that lie side by side and have one child are one band; children in the order of their first bands."""
    order = list(dict.fromkeys(to))
    branches, at = [0], list[At]()
    for place in range(1, len(to)):
        if to[place] != to[place - 1]:
            branches.append(order.index(to[place]))
            at.append(asked.cuts[place - 1])
    sorted_children = [children[place] for place in order]
    if len(at) == 1:  # two bands are a cut, which every reader of a model file knows
        return Cut(number, at[0]), sorted_children
    return Bands(number, tuple(at), tuple(branches)), sorted_children
