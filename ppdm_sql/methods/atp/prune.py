"""ATP: siblings near the leaves are put together until every leaf meets the policy (Tian et al., section 4).

    figure 6, by its lines (the figure itself is rebuilt from the text)    here
    1 to 3: labels of all nodes, from below                                prepare
    4 to 13: the levels from the one above the bottom up to the root       prune
    8: siblings are taken one at a time until the group passes             _merged, _next (rules 1 to 3)
    11: a node with one child left becomes a leaf                          _settle
    14: a tree of one node is empty                                        the caller decides

A leaf that fails takes siblings along until the group passes; it is not chosen again after each one.  Labels of nodes
above are not made again after merges below them, as in the paper; with exact counts that makes no difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ppdm_sql.methods.atp.node_labels import Judge, Piece, label_of


@dataclass
class Pruned:
    """The root after pruning, and how many times siblings were put together."""

    root: Piece
    merges: int = 0


def prune(root: Piece, judge: Judge) -> Pruned:
    """The tree with every leaf meeting the requirements, or with its root as the only leaf."""
    levels = prepare(root, judge)
    done = Pruned(root)
    for level in reversed(levels[:-1]):
        for node in level:
            if not node.is_leaf:
                done.merges += _settle(node, judge)
    return done


def prepare(root: Piece, judge: Judge) -> list[list[Piece]]:
    """Every node labelled, every leaf judged; gives the nodes by level."""
    levels = [[root]]
    while below := [child for node in levels[-1] for child in node.children or ()]:
        levels.append(below)
    leaves = [node for level in levels for node in level if node.is_leaf]
    for leaf in leaves:
        leaf.label = label_of(leaf.counts)
    for leaf, passed in zip(leaves, judge.passes(leaves), strict=True):
        leaf.passed = passed
    for level in reversed(levels):
        for node in level:
            if node.children is not None:
                node.label = judge.label(node.children, node.counts)
    return levels


def _settle(node: Piece, judge: Judge) -> int:
    """The children of one node put together until each passes; gives the number of merges."""
    assert node.children is not None
    merges = 0
    while len(node.children) > 1 and (worst := _worst(node.children)) is not None:
        node.children = _merged(node.children, worst, judge)
        merges += 1
    node.passed = True
    if len(node.children) == 1:
        only = node.children[0]
        node.attribute, node.children = None, None
        node.label, node.passed = only.label, only.passed
    return merges


def _worst(children: list[Piece]) -> int | None:
    """The failed child with the greatest share of one class; of equal ones the greater, then the first."""
    failed = [place for place, child in enumerate(children) if not child.passed]
    return max(failed, key=lambda place: _urgency(children[place], place), default=None)


def _urgency(piece: Piece, place: int) -> tuple[Fraction, int, int]:
    return Fraction(piece.known.hit, piece.known.rows), piece.known.hit, -place


def _merged(children: list[Piece], first: int, judge: Judge) -> list[Piece]:
    """The children with a group around one of them instead of its members."""
    group, left = [first], [place for place in range(len(children)) if place != first]
    passed = False
    while left and not passed:
        chosen, passed = _next(children, group, left, judge)
        group.append(chosen)
        left.remove(chosen)
    members = [children[place] for place in group]
    counts = np.sum([member.counts for member in members], axis=0)
    codes = tuple(sorted(code for member in members for code in member.codes))
    new = Piece(codes, counts, label=judge.label(members, counts), passed=passed)
    where = min(group)
    return [new if place == where else child for place, child in enumerate(children) if place == where or place in left]


def _next(children: list[Piece], group: list[int], left: list[int], judge: Judge) -> tuple[int, bool]:
    """The sibling that joins a group, and whether the group passes with it.

    Rule 1: one with which the group passes; rule 2: among those one that failed; rule 3: among those the smallest.
    """
    enough = judge.passes_with([children[place] for place in group], [children[place] for place in left])

    def rank(number: int) -> tuple[bool, bool, int, int]:
        child = children[left[number]]
        return not enough[number], child.passed, child.known.rows, left[number]

    best = min(range(len(left)), key=rank)
    return left[best], enough[best]


def leaves_of(root: Piece) -> Iterator[Piece]:
    """The leaves from left to right."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.children is None:
            yield node
        else:
            waiting.extend(reversed(node.children))
