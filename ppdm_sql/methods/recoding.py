"""A recoding as plain data: what a row that was not in the table would have been published as.

A recoding is a number of nodes.  Each has a label for every quasi-identifier, and all but one have a coarser node,
whose labels say less and are true of the same rows.  `RecodingTree` is the form that trees and partitions have: a node
asks for one column and takes a range, some values, what lacks a value, or the rest.  A cell goes down as long as a
child takes it.  So a label is true of every row that it is given to, whatever the row has: a number outside of the
range that was there falls in the open-ended outer interval, and a value that nobody had goes to the rest, or stays
where its column was not asked for yet.

No rows and no engine are needed here, only the distinct values of each column.  What a node carries can be printed;
what few people have is in no node.  The paths of a hierarchy's leaves hold all values, so a recoding that leaves the
database goes `without_paths`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, Protocol, Self, cast

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.catalog.json_record import DamagedRecordError, JsonRecord
from ppdm_sql.cells.cells import CellColumn, Cells
from ppdm_sql.engines.base import Kind
from ppdm_sql.methods.recoding_nodes import NodeArrays, RecodingNode, Take
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.leaves import leaf_text
from ppdm_sql.source.lines import Flags, Ints, exact_number, moment_text, read_moment_text

ROOT = 0  # the coarsest node of a tree
TREE = "tree"
PACKED = "packed tree"  # the same with its nodes as arrays
__all__ = ["ROOT", "TREE", "RecodedColumn", "Recoding", "RecodingNode", "RecodingTree", "Take", "read_recoding"]
_MOST_KEPT = 1 << 26  # flags of values
_MOST_ASKED = 1 << 22  # children that are asked at once
_NO_RANGE = -1
_MOMENTS = (Kind.DATE, Kind.TIMESTAMP)
_NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT)


class Recoding(Protocol):
    """What can be asked of every form of a recoding.  Nodes are 0, 1, ... size - 1."""

    @property
    def names(self) -> tuple[str, ...]:
        """The quasi-identifiers."""

    @property
    def size(self) -> int:
        """How many nodes there are."""

    def place(self, cells: Cells, hierarchies: Mapping[str, Hierarchy]) -> Ints:
        """Per cell the most specific node whose labels are true of it."""

    def labels(self, nodes: Ints) -> dict[str, list[str | None]]:
        """Per quasi-identifier what each of these nodes prints; None is NULL."""

    @property
    def coarser(self) -> Ints:
        """Per node the next one that says less; -1 for the one that says least.  It comes before the node."""

    @property
    def nulled(self) -> tuple[str, ...]:
        """Columns that are no quasi-identifiers and are published as NULL."""

    @property
    def printable(self) -> Flags:
        """Per node, whether the policy lets rows be published under its labels."""

    @property
    def losses(self) -> NDArray[np.float64]:
        """Per node how much its labels leave open, 0 to 1, averaged over the columns: for choosing, not for judging."""

    def to_json(self) -> dict[str, Any]:
        """The recoding in words; read_recoding reads it."""

    def to_packed_json(self) -> dict[str, Any]:
        """The recoding as the catalog keeps it, to be read fast; read_recoding reads it, too."""


# -- trees -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class RecodedColumn(JsonRecord):
    """A quasi-identifier: its values when the recoding was made, what is printed where it was not asked for."""

    name: str
    values: int
    label: str
    paths: Mapping[str, tuple[str, ...]] | None = None  # leaf of its hierarchy -> its word on every level

    def __repr__(self) -> str:
        return f"RecodedColumn({self.name!r}, {self.values} values)"  # the paths are data


@dataclass(frozen=True, repr=False)
class RecodingTree(JsonRecord):
    """Nodes 1, 2, ... in an order in which parents come before their children; node 0 is the root."""

    form: str
    columns: tuple[RecodedColumn, ...]
    nodes: tuple[RecodingNode, ...]
    unprinted: tuple[int, ...] = ()  # nodes that say less than the policy allows
    nulled: tuple[str, ...] = ()  # columns that are no quasi-identifiers and are published as NULL

    def __repr__(self) -> str:
        return f"RecodingTree({list(self.names)}, {self.size} nodes)"

    @classmethod
    def from_json(cls, value: object, place: str = "") -> Self:
        found = super().from_json(value, place)
        if found.form != TREE:
            raise DamagedRecordError("form is not a known one")
        found._check()
        return found

    def _check(self) -> None:
        arrays, numbers = self.arrays, np.arange(1, self.size)
        _refuse((arrays.parent < 0) | (arrays.parent >= numbers), "parent is no earlier node")
        _refuse((arrays.column < 0) | (arrays.column >= len(self.columns)), "column is no column")
        asked = np.zeros(self.size, dtype=np.int64)
        asked[arrays.parent[::-1]] = arrays.column[::-1]  # of several children that of the first stays
        _refuse(asked[arrays.parent] != arrays.column, "column is another one than that of its siblings")
        lacking = np.array([(one.level is None) != (one.word is None) for one in arrays.takes], dtype=bool)
        _refuse(lacking[arrays.take], "takes has a level without a word")
        if not all(0 <= number < self.size for number in self.unprinted):
            raise DamagedRecordError("unprinted has a number that is no node")

    @cached_property
    def arrays(self) -> NodeArrays:
        return NodeArrays.of(self.nodes)

    def to_json(self) -> dict[str, Any]:
        bare = self if isinstance(self.nodes, tuple) else replace(self, nodes=tuple(self.nodes))
        return super(RecodingTree, bare).to_json()

    def to_packed_json(self) -> dict[str, Any]:
        return replace(self, form=PACKED, nodes=()).to_json() | {"nodes": self.arrays.to_json()}

    @classmethod
    def unpack(cls, value: Mapping[str, Any]) -> Self:
        """The tree that to_packed_json() wrote."""
        found = super().from_json({**value, "form": TREE, "nodes": []})
        found = replace(found, nodes=cast("tuple[RecodingNode, ...]", NodeArrays.from_json(value.get("nodes"))))
        found._check()
        return found

    # -- as every recoding -------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.columns)

    @property
    def size(self) -> int:
        return len(self.nodes) + 1

    @cached_property
    def coarser(self) -> Ints:
        return np.append(-1, self.arrays.parent)

    @cached_property
    def printable(self) -> Flags:
        found = np.ones(self.size, dtype=bool)
        found[list(self.unprinted)] = False
        return found

    @cached_property
    def losses(self) -> NDArray[np.float64]:
        arrays = self.arrays
        values = np.array([one.values for one in self.columns], dtype=np.int64)
        share = np.clip((arrays.open - 1) / np.maximum(values[arrays.column] - 1, 1), 0.0, 1.0)
        found = np.ones((self.size, max(len(self.columns), 1)))
        for here in arrays.levels():
            found[here] = found[arrays.parent[here - 1]]
            found[here, arrays.column[here - 1]] = share[here - 1]
        return np.asarray(found.mean(axis=1))

    def labels(self, nodes: Ints) -> dict[str, list[str | None]]:
        asked, arrays = self._askers(np.asarray(nodes, dtype=np.int64)), self.arrays
        return {
            one.name: [
                one.label if here == ROOT else arrays.labels[int(arrays.label[here - 1])]
                for here in asked[:, number].tolist()
            ]
            for number, one in enumerate(self.columns)
        }

    def _askers(self, nodes: Ints) -> Ints:
        """(place, column) -> the last node on the way that asked for the column; the root where none did."""
        found = np.zeros((len(nodes), len(self.columns)), dtype=np.int64)
        here, places = nodes.copy(), np.flatnonzero(nodes != ROOT)
        while len(places):
            node = here[places]
            asked = self.arrays.column[node - 1]
            new = found[places, asked] == ROOT
            found[places[new], asked[new]] = node[new]
            here[places] = self.arrays.parent[node - 1]
            places = places[here[places] != ROOT]
        return found

    def place(self, cells: Cells, hierarchies: Mapping[str, Hierarchy]) -> Ints:
        """All cells go down together, a level at a time; those that agree in node and value are one question."""
        node, going = np.zeros(len(cells), dtype=np.int64), np.arange(len(cells))
        readers = [_ValueReader(cells[one.name], one.paths, hierarchies.get(one.name)) for one in self.columns]
        codes = [cells[one.name].codes for one in self.columns]
        width = max((reader.size for reader in readers), default=1)
        while True:
            going = going[self.arrays.count_children(node[going]) > 0]
            if not len(going):
                return node
            asked = self._asked_column[node[going]]
            code = np.zeros(len(going), dtype=np.int64)
            for number in np.unique(asked).tolist():
                code[asked == number] = codes[number][going[asked == number]]
            pairs, back = np.unique(node[going] * width + code, return_inverse=True)
            target = self._targets(pairs // width, pairs % width, readers)[back]
            going = going[target != ROOT]
            node[going] = target[target != ROOT]

    @cached_property
    def children(self) -> dict[int, list[int]]:
        """Node -> its children, for those that have some."""
        found: dict[int, list[int]] = {}
        for number, parent in enumerate(self.arrays.parent.tolist(), start=1):
            found.setdefault(parent, []).append(number)
        return found

    @cached_property
    def _asked_column(self) -> Ints:
        """Per node the column that its children take values of."""
        found = np.zeros(self.size, dtype=np.int64)
        found[self.arrays.parent] = self.arrays.column
        return found

    def _targets(self, nodes: Ints, codes: Ints, readers: Sequence[_ValueReader]) -> Ints:
        """Per node and code of the column it asks for, the child that takes it; the root where none does."""
        ends = np.cumsum(self.arrays.count_children(nodes))
        several = np.flatnonzero(np.diff(ends // _MOST_ASKED)) + 1
        parts = zip(np.split(nodes, several), np.split(codes, several), strict=True)
        return np.concatenate([self._few_targets(*part, readers) for part in parts])

    def _few_targets(self, nodes: Ints, codes: Ints, readers: Sequence[_ValueReader]) -> Ints:
        counts, children = self.arrays.count_children(nodes), self.arrays.children(nodes)
        take, code = self.arrays.take[children - 1], np.repeat(codes, counts)
        column, taken = np.repeat(self._asked_column[nodes], counts), np.zeros(len(children), dtype=bool)
        for number in np.unique(column).tolist():
            here = column == number
            taken[here] = readers[number].taken(take[here], code[here], self.arrays.takes)
        rest = np.array([one.rest for one in self.arrays.takes], dtype=bool)[take]
        rank = np.where(taken, np.where(rest, children, children + self.size), 0)  # what takes the rest comes last
        return np.asarray(np.maximum.reduceat(rank, np.cumsum(counts) - counts) % self.size)

    def without_paths(self) -> RecodingTree:
        """The same without the leaves of hierarchies, some of which few people have."""
        return replace(self, columns=tuple(replace(one, paths=None) for one in self.columns))


def read_recoding(value: object) -> Recoding:
    """The recoding that was written by to_json or to_packed_json; DamagedRecordError where it is none."""
    if isinstance(value, Mapping) and value.get("form") == PACKED:
        return RecodingTree.unpack(value)
    return RecodingTree.from_json(value, "")


def _refuse(wrong: Flags, told: str) -> None:
    """Refuses a recoding by its first wrong node."""
    if wrong.any():
        raise DamagedRecordError(f"nodes[{int(np.flatnonzero(wrong)[0])}].{told}")


# -- values ----------------------------------------------------------------------------------------------


class _ValueReader:
    """The distinct values of a column of cells, as the takes of a tree are compared with them."""

    def __init__(
        self, column: CellColumn, paths: Mapping[str, tuple[str, ...]] | None, hierarchy: Hierarchy | None
    ) -> None:
        self.size = max(column.size, 1)
        self._column, self._paths, self._hierarchy = column, paths, hierarchy
        self._taken: dict[int, Flags] = {}
        self._ranges: dict[int, tuple[int, int]] = {}

    def taken(self, numbers: Ints, codes: Ints, takes: Sequence[Take]) -> Flags:
        """Whether takes[number] takes the value of the code, for each pair of them."""
        used, place = np.unique(numbers, return_inverse=True)
        bounds = np.array([self._bounds_of(number, takes[number]) for number in used.tolist()], dtype=np.int64)
        found = (bounds[place, 0] <= codes) & (codes < bounds[place, 1])
        order = np.argsort(place, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(place[order])) + 1)
        for number, group, (first, _) in zip(used.tolist(), groups, bounds.tolist(), strict=True):
            if first == _NO_RANGE:
                found[group] = self._flags_of(number, takes[number])[codes[group]]
        return np.asarray(found)

    def _bounds_of(self, number: int, takes: Take) -> tuple[int, int]:
        """The codes of what takes nothing but a range, from the first to behind the last."""
        if number not in self._ranges:
            only_range = takes.ranged and not (takes.values or takes.missing or takes.rest or takes.level is not None)
            self._ranges[number] = self._range(takes) if only_range else (_NO_RANGE, _NO_RANGE)
        return self._ranges[number]

    def _range(self, takes: Take) -> tuple[int, int]:
        first = 0 if takes.low is None else self._first_at(takes.low)
        return first, len(self._keys) if takes.high is None else self._first_at(takes.high)

    def _flags_of(self, number: int, takes: Take) -> Flags:
        """The same as taken_by, found once for what has this number."""
        if number not in self._taken:
            if len(self._taken) * self.size > _MOST_KEPT:
                self._taken.clear()
            self._taken[number] = self.taken_by(takes)
        return self._taken[number]

    def taken_by(self, takes: Take) -> Flags:
        """Per code, whether it is taken; of the rest, whether it is a value at all."""
        found = np.zeros(self.size, dtype=bool)
        known = len(self._column.values)
        if takes.rest:
            found[:known] = True
        if takes.ranged:
            found[slice(*self._range(takes))] = True
        for text in takes.values:
            code = self._codes.get(text)
            if code is not None:
                found[code] = True
        if takes.level is not None and takes.word is not None:
            found[:known] |= self._words(takes.level) == takes.word
        if takes.missing and self._column.null_code is not None:
            found[self._column.null_code] = True
        return found

    def _first_at(self, bound: str) -> int:
        return bisect_left(self._keys, self._key(bound))

    @cached_property
    def _keys(self) -> list[Any]:
        """The values that have an order, as what can be compared exactly; NaN is last and has none."""
        return [self._key(value) for value in self._column.values if value == value]

    @cached_property
    def _key(self) -> Callable[[object], Any]:
        info = self._column.column
        if info.kind in _MOMENTS:
            return lambda value: _moment_key(str(value))
        if info.kind in _NUMBERS:
            return lambda value: Decimal(value) if isinstance(value, str) else exact_number(value, info)
        raise DamagedRecordError(f'column "{info.name}" has no order, and the recoding takes a range of it')

    @cached_property
    def _texts(self) -> list[str]:
        moments = self._column.column.kind in _MOMENTS
        return [moment_text(str(value)) if moments else leaf_text(value) for value in self._column.values]

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {text: code for code, text in enumerate(self._texts)}

    def _words(self, level: int) -> NDArray[Any]:
        """Per value its word on a level; None where no hierarchy knows the value."""
        return np.array([path[level] if level < len(path) else None for path in self._known_paths], dtype=object)

    @cached_property
    def _known_paths(self) -> list[tuple[str, ...]]:
        return list(self._path_of_each())

    def _path_of_each(self) -> Iterator[tuple[str, ...]]:
        paths = self._paths or {}
        tonight = set() if self._hierarchy is None else set(self._hierarchy.order)
        for value in self._column.values:
            text = leaf_text(value)
            if text in paths:
                yield paths[text]
            elif self._hierarchy is not None and text in tonight:
                yield self._hierarchy.levels_of(value)
            else:
                yield ()


def _moment_key(text: str) -> tuple[int, int, int]:
    """A moment as what can be compared; infinite ones are before and behind all others."""
    read = read_moment_text(text)
    if read is None:
        return (-1 if text.startswith("-") else 1, 0, 0)
    return (0, *read)
