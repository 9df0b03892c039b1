"""Anonymity-guided tree pruning as section 4 of Tian, Zhang, Xu and Sharkey says it, over lists of classes.

A node is described by its edge, the class of each of its rows and its children.  Labels are (class, hit, miss).  The way a
group of nodes is put together, and whether a node is good enough, are handed in: by rows, or by labels and estimates.

>>> classes = ["S1", "S2", "S3", "S4", "S5"]
>>> estimated([("S1", 3, 0), ("S2", 5, 4)], classes), estimated([("S1", 3, 0), ("S1", 3, 7)], classes)
(('S2', 5, 7), ('S1', 6, 7))
>>> [tail(*label, 3) for label in ((2, 5), (5, 4), (6, 8), (2, 2), (6, 7), (1, 2))]
[3, 1, 2, 1, 1, 1]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil

Label = tuple[str, int, int]


@dataclass
class Node:
    edge: frozenset
    classes: list[str]  # of its rows
    rows: list[int] = field(default_factory=list)
    attribute: str | None = None
    children: list[Node] = field(default_factory=list)
    label: Label | None = None
    passed: bool = False

    def walk(self):
        yield self
        for child in self.children:
            yield from child.walk()

    def leaves(self) -> list[Node]:
        return [node for node in self.walk() if not node.children]


def true_label(node: Node, order: Sequence[str]) -> Label:
    counts = Counter(node.classes)
    best = max(order, key=lambda name: (counts[name], -order.index(name)))
    return best, counts[best], len(node.classes) - counts[best]


def estimated(labels: Sequence[Label], order: Sequence[str]) -> Label:
    """Equations 2 and 3: what is not of a node's class is spread evenly over the others."""
    total = sum(hit + miss for _, hit, miss in labels)
    if len(order) == 1:
        return order[0], total, 0
    share = {
        name: sum(Fraction(hit) if name == own else Fraction(miss, len(order) - 1) for own, hit, miss in labels)
        for name in order
    }
    best = max(order, key=lambda name: (share[name], -order.index(name)))
    return best, ceil(share[best]), total - ceil(share[best])


def tail(hit: int, miss: int, l: int) -> int:
    """Equation 1, its three cases as printed; the quotient is exact."""
    if hit == 1:
        return miss - (l - 2)
    if Fraction(miss - (l - 1), hit - 1) <= l - 2:
        return 1
    return miss - (l - 2) * hit


def label_is_recursive(label: Label, c: Fraction, l: int) -> bool:
    _, hit, miss = label
    return miss >= l - 1 and hit < c * tail(hit, miss, l)


def label_is_simple(label: Label, l: Fraction) -> bool:
    _, hit, miss = label
    return miss >= l - 1 and hit * l <= hit + miss


def atp(
    root: Node,
    order: Sequence[str],
    passes: Callable[[Node], bool],
    combine: Callable[[Sequence[Node]], Label],
) -> bool:
    """Prunes in place; whether more than the root is left.  passes looks at a node's rows or at its label."""
    depths = {id(root): 1}
    for node in root.walk():
        depths.update({id(child): depths[id(node)] + 1 for child in node.children})
    for node in reversed(list(root.walk())):
        if node.children:
            node.label = combine(node.children)
        else:
            node.label = true_label(node, order)
            node.passed = passes(node)
    inner = [node for node in root.walk() if node.children]
    for level in range(max(depths.values()) - 1, 0, -1):
        for node in [one for one in inner if depths[id(one)] == level]:
            settle(node, passes, combine)
    return bool(root.children)


def settle(node: Node, passes, combine) -> None:
    while len(node.children) > 1 and any(not child.passed for child in node.children):
        failed = [child for child in node.children if not child.passed]
        worst = max(failed, key=lambda c: (Fraction(c.label[1], sum(c.label[1:])), c.label[1]))  # the first of equals
        group = [worst]
        while True:
            left = [child for child in node.children if not any(child is member for member in group)]
            together = {id(s): joined([*group, s], passes, combine) for s in left}
            best = min(left, key=lambda s: (not together[id(s)].passed, s.passed, sum(s.label[1:])))
            group.append(best)
            new = together[id(best)]
            if new.passed or len(group) == len(node.children):
                break
        where = min(place for place, child in enumerate(node.children) if any(child is one for one in group))
        kept = [child for child in node.children if not any(child is one for one in group)]
        before = sum(1 for child in node.children[:where] if not any(child is one for one in group))
        node.children = [*kept[:before], new, *kept[before:]]
    if len(node.children) == 1:
        only = node.children[0]
        node.label, node.passed, node.children, node.attribute = only.label, only.passed, [], None
    else:
        node.passed = True


def joined(group: Sequence[Node], passes, combine) -> Node:
    new = Node(
        frozenset().union(*(member.edge for member in group)),
        [name for member in group for name in member.classes],
        [row for member in group for row in member.rows],
        label=combine(group),
    )
    new.passed = passes(new)
    return new
