"""Full-domain recoding by looking at every combination of levels, over rows in Python."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

Row = Mapping[str, object]


@dataclass(frozen=True)
class Ladder:
    """A column: per value its labels, from the value itself to the one for everything; leaves need not occur."""

    name: str
    labels: Mapping[object, Sequence[object]]
    weight: Fraction = Fraction(1)
    most: int | None = None  # the highest level that may be used

    @property
    def height(self) -> int:
        return len(next(iter(self.labels.values()))) - 1

    @property
    def levels(self) -> list[int]:
        """The levels that may be used; one that prints what the level below prints is skipped."""
        most = self.height if self.most is None else self.most
        kept = [0]
        for level in range(1, most + 1):
            if any(labels[level] != labels[kept[-1]] for labels in self.labels.values()):
                kept.append(level)
        return kept

    def leaves(self, label: object, level: int) -> int:
        return sum(labels[level] == label for labels in self.labels.values())


@dataclass(frozen=True)
class Node:
    levels: tuple[int, ...]
    kept: list[list[Row]]
    out: list[Row]

    @property
    def rows(self) -> int:
        return len(self.out) + sum(map(len, self.kept))


def passing_nodes(
    rows: Sequence[Row], ladders: Sequence[Ladder], limit: Fraction, holds: Callable[[list[Row], list[Row]], bool],
    holds_in: Callable[[list[Row], list[Row]], bool],
) -> list[Node]:  # fmt: skip
    """The nodes that leave out no more than the limit.  holds: a class in the table; holds_in: in what is kept of it."""
    found = []
    for levels in product(*(ladder.levels for ladder in ladders)):
        groups = defaultdict(list)
        for row in rows:
            groups[tuple(one.labels[row[one.name]][level] for one, level in zip(ladders, levels, strict=True))].append(
                row
            )
        kept = [group for group in groups.values() if holds(group, list(rows))]
        out = [row for group in groups.values() if not holds(group, list(rows)) for row in group]
        stored = [row for group in kept for row in group]
        if kept and len(out) <= limit * len(rows) and all(holds_in(group, stored) for group in kept):
            found.append(Node(levels, kept, out))
    return found


def minimal(nodes: Sequence[Node]) -> set[tuple[int, ...]]:
    every = {node.levels for node in nodes}
    return {
        one for one in every
        if not any(other != one and all(low <= high for low, high in zip(other, one, strict=True)) for other in every)
    }  # fmt: skip


def cost(
    quality: str, node: Node, ladders: Sequence[Ladder], target: str | None, left_out: Fraction = Fraction(1),
    ties: str = "right",
) -> Fraction | int | float:  # fmt: skip
    """What a node costs, by the definition of each quality; left_out, ties: those of the classification metric."""
    total, gone = node.rows, len(node.out)
    match quality:
        case "discernibility":
            return sum(len(group) ** 2 for group in node.kept) + total * gone
        case "average_class":
            return Fraction(total, len(node.kept) + (gone > 0))
        case "height":
            return sum(node.levels)
        case "classification":
            counts = [Counter(row[target] for row in group).most_common(2) for group in node.kept]
            clear = [first for (_, first), *others in counts if ties == "right" or not others or others[0][1] < first]
            right = sum(clear)
            return (total - gone - right + left_out * gone) / Fraction(total)
    by_column = {"loss": _loss, "precision": _precision, "entropy": _entropy}[quality]
    costs = [one.weight * by_column(node, one, level) for one, level in zip(ladders, node.levels, strict=True)]
    return sum(costs) if quality == "entropy" else sum(costs) / sum(one.weight for one in ladders)


def _loss(node: Node, ladder: Ladder, level: int) -> Fraction:
    leaves, total = len(ladder.labels), node.rows
    if leaves == 1:
        return Fraction(0)
    shares = sum(
        Fraction(ladder.leaves(ladder.labels[row[ladder.name]][level], level), leaves)
        for group in node.kept
        for row in group
    )
    return max(Fraction(0), (shares + len(node.out) - Fraction(total, leaves)) / (total - Fraction(total, leaves)))


def _precision(node: Node, ladder: Ladder, level: int) -> Fraction:
    return (Fraction(level, ladder.height) * (node.rows - len(node.out)) + len(node.out)) / node.rows


def _entropy(node: Node, ladder: Ladder, level: int) -> float:
    every = [*node.out, *(row for group in node.kept for row in group)]
    values = Counter(row[ladder.name] for row in every)
    labels = Counter(ladder.labels[row[ladder.name]][level] for row in every)
    kept = sum(
        -math.log2(values[row[ladder.name]] / labels[ladder.labels[row[ladder.name]][level]])
        for group in node.kept for row in group
    )  # fmt: skip
    return kept + sum(-math.log2(values[row[ladder.name]] / len(every)) for row in node.out)
