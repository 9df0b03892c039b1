"""The nodes of a recoding as arrays: a release of a million rows has more than a hundred thousand of them.

What nodes take and print is kept once each, and nodes are numbers, so that a night reads them in milliseconds.  A node
is made into an object when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self, overload

import numpy as np

from ppdm_sql.catalog.json_record import DamagedRecordError, JsonRecord
from ppdm_sql.source.lines import Ints


@dataclass(frozen=True)
class Take(JsonRecord):
    """What a node takes of its column: a range from (included) .. to (excluded), values, a label, missing or the rest.

    Bounds and values are exact texts.  The rest is every value that no other child of the same parent takes.
    """

    ranged: bool = False
    low: str | None = field(default=None, metadata={"key": "from"})
    high: str | None = field(default=None, metadata={"key": "to"})
    values: tuple[str, ...] = ()
    level: int | None = None  # of the column's hierarchy: what has this word there
    word: str | None = None
    missing: bool = False
    rest: bool = False

    @classmethod
    def from_json(cls, value: object, place: str = "") -> Self:
        if isinstance(value, dict) and value.get("ranged") is True and value.keys() <= _RANGE:  # nearly all of them
            low, high = value.get("from"), value.get("to")
            if isinstance(low, str | None) and isinstance(high, str | None):
                return cls(True, low, high)
        return super().from_json(value, place)


@dataclass(frozen=True)
class RecodingNode(JsonRecord):
    """A node below the root; its other columns print what its parent prints."""

    parent: int
    column: int
    takes: Take
    label: str | None
    open: int  # how many values of the column the label may stand for


_RANGE = {"ranged", "from", "to"}
_ARRAYS = ("parent", "column", "take", "label", "open")


@dataclass(frozen=True, repr=False)
class NodeArrays(Sequence[RecodingNode]):
    """Node n of the recoding has place n - 1 in the arrays; take and label are places in takes and labels."""

    takes: tuple[Take, ...]
    labels: tuple[str | None, ...]
    parent: Ints
    column: Ints
    take: Ints
    label: Ints
    open: Ints

    @classmethod
    def of(cls, nodes: Sequence[RecodingNode]) -> NodeArrays:
        if isinstance(nodes, NodeArrays):
            return nodes
        takes: dict[tuple[object, ...], int] = {}
        found: list[Take] = []
        labels: dict[str | None, int] = {}
        numbers: list[tuple[int, ...]] = []
        for node in nodes:
            one = node.takes
            key = (one.ranged, one.low, one.high, one.values, one.level, one.word, one.missing, one.rest)
            if key not in takes:
                takes[key] = len(found)
                found.append(one)
            numbers.append(
                (node.parent, node.column, takes[key], labels.setdefault(node.label, len(labels)), node.open)
            )
        table: Ints = np.array(numbers, dtype=np.int64).reshape(-1, len(_ARRAYS))
        return cls(tuple(found), tuple(labels), *(np.ascontiguousarray(one) for one in table.T))

    def __len__(self) -> int:
        return len(self.parent)

    @overload
    def __getitem__(self, place: int) -> RecodingNode: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[RecodingNode]: ...
    def __getitem__(self, place: int | slice) -> RecodingNode | Sequence[RecodingNode]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        return RecodingNode(
            int(self.parent[place]), int(self.column[place]), self.takes[int(self.take[place])],
            self.labels[int(self.label[place])], int(self.open[place]),
        )  # fmt: skip

    # -- children ----------------------------------------------------------------------------------

    @cached_property
    def _by_parent(self) -> tuple[Ints, Ints]:
        """The nodes in the order of their parents, and where the children of each node begin."""
        order = np.argsort(self.parent, kind="stable")
        return order + 1, np.searchsorted(self.parent[order], np.arange(len(self) + 2))

    def count_children(self, nodes: Ints) -> Ints:
        _, begin = self._by_parent
        return np.asarray(begin[nodes + 1] - begin[nodes])

    def children(self, nodes: Ints) -> Ints:
        """The children of each node, one after the other."""
        order, begin = self._by_parent
        counts = self.count_children(nodes)
        first = np.repeat(begin[nodes] - np.cumsum(counts) + counts, counts)
        return np.asarray(order[first + np.arange(int(counts.sum()))])

    def levels(self) -> Iterator[Ints]:
        """The nodes below the root, level by level."""
        here = self.children(np.zeros(1, dtype=np.int64))
        while len(here):
            yield here
            here = self.children(here)

    # -- as text -----------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Numbers as texts: JSON has no arrays that are read fast."""
        numbers = {name: " ".join(map(str, getattr(self, name).tolist())) for name in _ARRAYS}
        return {"takes": [one.to_json() for one in self.takes], "labels": list(self.labels), **numbers}

    @classmethod
    def from_json(cls, value: object) -> NodeArrays:
        if not isinstance(value, dict) or any(not isinstance(value.get(name), str) for name in _ARRAYS):
            raise DamagedRecordError("nodes are not those of a recoding")
        takes, labels = value.get("takes"), value.get("labels")
        if not isinstance(takes, list) or not isinstance(labels, list):
            raise DamagedRecordError("nodes have no takes or labels")
        if any(one is not None and not isinstance(one, str) for one in labels):
            raise DamagedRecordError("nodes.labels has something that is no text")
        read = tuple(Take.from_json(one, f"nodes.takes[{place}]") for place, one in enumerate(takes))
        try:
            arrays = [np.array(value[name].split(), dtype=np.int64) for name in _ARRAYS]
        except (ValueError, OverflowError):
            raise DamagedRecordError("nodes have something that is no whole number") from None
        found = cls(read, tuple(labels), *arrays)
        found._check()
        return found

    def _check(self) -> None:
        if any(len(getattr(self, name)) != len(self) for name in _ARRAYS):
            raise DamagedRecordError("nodes have arrays of several lengths")
        for name, most in (("take", len(self.takes)), ("label", len(self.labels))):
            numbers = getattr(self, name)
            if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < most:
                raise DamagedRecordError(f"nodes.{name} has a number that is too large or negative")
