"""What ATP knows of a node, and when that is enough: by exact class counts, or by the paper's labels and estimates.

Tian, Zhang, Xu, Sharkey: a label is (class, hit, miss); definitions 9, 11 and 13 judge a leaf by its label alone, and
equations 2 and 3 estimate the label of several nodes put together.  Neither bounds what the rows really are: a label
can pass where the rows fail.  So exact counts are the default, and what the paper's way gives is counted again in the
data before it may leave (docs/methods/atp.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ppdm_sql.errors import PolicyError
from ppdm_sql.induction.criteria import Ints
from ppdm_sql.methods.shared.class_limits import ClassDemands
from ppdm_sql.requirements import RecursiveDiversity, Requirement, SimpleDiversity


@dataclass(frozen=True)
class Label:
    """The class of a node, the rows of that class and the others (definition 5)."""

    majority: int
    hit: int
    miss: int

    def __post_init__(self) -> None:
        if self.hit < 1 or self.miss < 0:
            raise ValueError(f"a node has rows of its class: hit {self.hit}, miss {self.miss}")

    @property
    def rows(self) -> int:
        return self.hit + self.miss


def label_of(counts: Ints) -> Label:
    """The true label; of equal classes the first.

    >>> label_of(np.array([2, 5, 5]))
    Label(majority=1, hit=5, miss=7)
    """
    majority = int(np.argmax(counts))
    return Label(majority, int(counts[majority]), int(counts.sum() - counts[majority]))


def estimated(labels: Sequence[Label], classes: int) -> Label:
    """The label of several nodes together by equations 2 and 3: misses are taken to be spread over the other classes.

    Numerators over the common denominator m - 1, in whole numbers.

    >>> S1, S2, S3, S4 = range(4)
    >>> estimated([Label(S1, 3, 0), Label(S2, 5, 4)], 5)  # example 16: d and e
    Label(majority=1, hit=5, miss=7)
    """
    total = sum(label.rows for label in labels)
    if classes < 2:
        return Label(0, total, 0)
    missed = sum(label.miss for label in labels)
    share = [missed] * classes
    for label in labels:
        share[label.majority] += (classes - 1) * label.hit - label.miss
    best = max(range(classes), key=lambda number: (share[number], -number))
    hit = -(-share[best] // (classes - 1))
    return Label(best, hit, total - hit)


def smallest_tail(hit: int, miss: int, l: int) -> int:
    """Rows from the l-th most frequent class on, in the worst distribution that a label allows (equation 1).

    The closed form of the paper's three cases.  miss >= l - 1: each of the other classes has a row.

    >>> smallest_tail(2, 5, 3), smallest_tail(5, 4, 3), smallest_tail(6, 8, 3)  # example 12: <2, 2, 2, 1>, <5, 3, 1>
    (3, 1, 2)
    """
    if miss < l - 1:
        raise ValueError(f"{miss} misses cannot fill {l - 1} other classes")
    return max(1, miss - (l - 2) * hit)


def label_passes(requirement: Requirement, label: Label) -> bool:
    """Definitions 11 and 13.

    >>> from fractions import Fraction
    >>> asked = RecursiveDiversity(Fraction(3), 3)
    >>> [label_passes(asked, Label(0, *pair)) for pair in ((3, 0), (5, 4), (2, 2), (2, 5))]  # example 12
    [False, False, True, True]
    """
    if isinstance(requirement, RecursiveDiversity):
        enough = label.miss >= requirement.l - 1
        return enough and label.hit < requirement.c * smallest_tail(label.hit, label.miss, requirement.l)
    if isinstance(requirement, SimpleDiversity):
        return label.miss >= requirement.l - 1 and label.hit * requirement.l <= label.rows
    raise PolicyError(
        f"counts = paper can decide k, simple_l and recursive_l, but not {requirement.word}: leave it out"
    )


# -- judging ---------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Piece:
    """A node of the tree that is pruned.  codes: which categories of its parent's attribute lead to it."""

    codes: tuple[int, ...]
    counts: Ints
    attribute: int | None = None
    children: list[Piece] | None = None
    label: Label | None = None  # of a leaf from the start, of other nodes when they are judged
    passed: bool = False

    @property
    def is_leaf(self) -> bool:
        return self.attribute is None

    @property
    def known(self) -> Label:
        assert self.label is not None
        return self.label


class Judge(Protocol):
    """How nodes are put together, and whether what comes out may be a leaf."""

    def label(self, pieces: Sequence[Piece], counts: Ints) -> Label:
        """The label of some nodes together; counts is their exact sum."""

    def passes(self, pieces: Sequence[Piece]) -> list[bool]:
        """Per node, whether it meets the requirements."""

    def passes_with(self, group: Sequence[Piece], others: Sequence[Piece]) -> list[bool]:
        """Per other node, whether the group and it together meet the requirements."""


@dataclass(frozen=True)
class ByCounts:
    """The table's own measures (definitions 2 and 3) on exact class counts: the default."""

    demands: ClassDemands

    def label(self, pieces: Sequence[Piece], counts: Ints) -> Label:
        return label_of(counts)

    def passes(self, pieces: Sequence[Piece]) -> list[bool]:
        return self._hold(np.stack([piece.counts for piece in pieces]))

    def passes_with(self, group: Sequence[Piece], others: Sequence[Piece]) -> list[bool]:
        together = np.sum([piece.counts for piece in group], axis=0)
        return self._hold(np.stack([piece.counts for piece in others]) + together)

    def _hold(self, counts: Ints) -> list[bool]:
        found: list[bool] = self.demands.hold(counts).tolist()
        return found


@dataclass(frozen=True)
class ByLabels:
    """The paper's measures on labels, estimated where nodes are put together."""

    demands: ClassDemands
    classes: int

    def label(self, pieces: Sequence[Piece], counts: Ints) -> Label:
        return estimated([piece.known for piece in pieces], self.classes)

    def passes(self, pieces: Sequence[Piece]) -> list[bool]:
        return [self.holds(piece.known) for piece in pieces]

    def passes_with(self, group: Sequence[Piece], others: Sequence[Piece]) -> list[bool]:
        known = [piece.known for piece in group]
        return [self.holds(estimated([*known, other.known], self.classes)) for other in others]

    def holds(self, label: Label) -> bool:
        enough = label.rows >= self.demands.k
        return enough and all(label_passes(requirement, label) for requirement in self.demands.others)
