"""What a tree is: frozen data that says nothing of how it was grown.

A node's rows go to its children by a split.  A row whose value no branch names (a category that was not
there in training, a NULL where training had none) stops at the node, and the node itself answers for it.
So every node can be the end of a row's way, and routing never loses a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import TypeAlias

from ppdm_sql.engines.base import ColumnInfo, Kind

# What a category or a class can be.  None is NULL.  UUIDs, and moments as categories, are kept as text.
Value: TypeAlias = str | int | bool | float | Decimal | None


@dataclass(frozen=True)
class Attribute:
    """A column a tree looks at: a cut of an ordered one means something, of any other its values stand alone."""

    name: str
    kind: Kind
    ordered: bool
    scale: int | None = None  # of a DECIMAL: digits after the point
    zoned: bool = False  # of a TIMESTAMP: it has a time zone
    unbound: bool = False  # the column's own type is not known: numbers of every type must find their side


@dataclass(frozen=True)
class Cut:
    """Two children: the first has the rows below `at`, the second those from it on (NaN is the greatest number).

    `at` is a Decimal for numbers, a text as the engine writes it (2024-05-01) for dates and timestamps.
    """

    attribute: int
    at: Decimal | str
    nulls: int | None = None  # which child NULL goes to; None: training had no NULL here, it stops

    @property
    def width(self) -> int:
        return 2


@dataclass(frozen=True)
class Bands:
    """The axis of an ordered attribute cut into bands: band i has the values from at[i - 1] on and below at[i].

    A branch may have several bands that do not touch: two branches that were put together stay where they are.
    NaN is the greatest number, and `at` is written as in a Cut.
    """

    attribute: int
    at: tuple[Decimal | str, ...]  # rising
    branches: tuple[int, ...]  # which child a band goes to, one more than there are cut points; neighbours differ
    nulls: int | None = None  # as in a Cut

    @property
    def width(self) -> int:
        return max(self.branches, default=-1) + 1

    def ranges(self, branch: int) -> tuple[tuple[Decimal | str | None, Decimal | str | None], ...]:
        """The bands of a branch, from where on and below what; None: without end.

        >>> Bands(0, (Decimal(30), Decimal(50)), (0, 1, 0)).ranges(0)
        ((None, Decimal('30')), (Decimal('50'), None))
        """
        ends = (None, *self.at, None)
        return tuple((ends[band], ends[band + 1]) for band, to in enumerate(self.branches) if to == branch)


@dataclass(frozen=True)
class Groups:
    """One child per group of values; NULL is a value.  Multiway: every group is one value."""

    attribute: int
    groups: tuple[tuple[Value, ...], ...]  # each in the order of the values, NULL last
    others: int | None = None  # which child a value goes to that no group names; None: it stops at the node
    labels: tuple[str, ...] | None = None  # a hierarchy's names for the groups

    @property
    def width(self) -> int:
        return len(self.groups)


Split: TypeAlias = Cut | Bands | Groups


@dataclass(frozen=True)
class Moments:
    """A numeric response over the rows of a node: how many, their mean, their mean squared deviation."""

    rows: int
    mean: Decimal
    variance: float


@dataclass(frozen=True)
class Node:
    """A node by its number.  Numbers are those of reading the tree from the top, a child after its parent."""

    number: int
    parent: int | None
    depth: int
    counts: tuple[int, ...]  # training rows per class; of a regression tree one number, the rows
    split: Split | None = None
    children: tuple[int, ...] = ()
    moments: Moments | None = None  # of a regression tree
    gain: float = 0.0  # of its split, in the unit of the criterion

    @property
    def is_leaf(self) -> bool:
        return self.split is None

    @property
    def rows(self) -> int:
        return sum(self.counts)

    @property
    def majority(self) -> int:
        """The class with most rows; of several the first in the order of the classes."""
        return max(range(len(self.counts)), key=lambda c: (self.counts[c], -c))


@dataclass(frozen=True)
class Tree:
    """A decision tree (classes) or a regression tree (no classes)."""

    attributes: tuple[Attribute, ...]
    target: Attribute
    classes: tuple[Value, ...]  # in the order of the values; empty for a regression tree
    nodes: tuple[Node, ...]
    inducer: str = "unknown"
    options: dict[str, str | int | float | bool] = field(default_factory=dict, hash=False)

    @property
    def root(self) -> Node:
        return self.nodes[0]

    @property
    def is_regression(self) -> bool:
        return not self.classes

    @property
    def leaves(self) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes if node.is_leaf)

    @property
    def depth(self) -> int:
        return max(node.depth for node in self.nodes)

    def children(self, node: Node) -> tuple[Node, ...]:
        return tuple(self.nodes[number] for number in node.children)

    def path(self, node: Node) -> tuple[tuple[Node, int], ...]:
        """The way from the root: each node passed and which of its branches was taken."""
        steps: list[tuple[Node, int]] = []
        while node.parent is not None:
            parent = self.nodes[node.parent]
            steps.append((parent, parent.children.index(node.number)))
            node = parent
        return tuple(reversed(steps))

    def used_attributes(self) -> tuple[int, ...]:
        """The attributes that some node asks for, in their order."""
        return tuple(sorted({node.split.attribute for node in self.nodes if node.split is not None}))

    def prediction(self, node: Node) -> Value:
        """What a row that ends at the node is taken to be."""
        if node.moments is not None:
            return node.moments.mean
        return self.classes[node.majority]

    def walk(self, start: int = 0) -> Iterator[Node]:
        """The nodes from one on, parents first, branches in order."""
        waiting = [start]
        while waiting:
            node = self.nodes[waiting.pop()]
            yield node
            waiting.extend(reversed(node.children))

    def _repr_html_(self) -> str:
        """The picture, for notebooks."""
        from ppdm_sql.trees.picture import as_svg  # it imports this module

        return as_svg(self)


def attribute_of(info: ColumnInfo, *, ordered: bool | None = None) -> Attribute:
    """A column as an attribute; numbers and moments are ordered unless the caller says otherwise."""
    inside = info.declared.partition("(")[2].rstrip(")")
    scale = None
    if info.kind is Kind.DECIMAL and inside:
        scale = int(inside.partition(",")[2].strip() or 0)
    zoned = info.kind is Kind.TIMESTAMP and ("ZONE" in info.declared.upper() or "TZ" in info.declared.upper())
    zoned = zoned and "WITHOUT" not in info.declared.upper()
    return Attribute(info.name, info.kind, info.kind.is_ordered if ordered is None else ordered, scale, zoned)


def plain(value: object) -> Value:
    """A value as it came from an engine, as a tree keeps it."""
    if value is None or isinstance(value, str | bool | int | float | Decimal):
        return value
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, date):
        return value.isoformat()
    return str(value)
