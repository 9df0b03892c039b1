"""Generalization hierarchies: what a value may become, level by level, up to the root `*`.

Leaves stand in depth-first order, so every label is one contiguous range of leaf positions.  That makes
a hierarchy look like a number line to an algorithm: a range of codes, and the smallest label that covers it.

NULL has no leaf.  It is a value of its own in quasi-identifiers and the caller treats it apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engines.base import Engine, Kind
from ppdm_sql.errors import Mistake, PolicyError
from ppdm_sql.policy.policy import (
    CalendarLadder,
    HierarchyFile,
    HierarchySource,
    HierarchyTable,
    IntervalLadder,
    PrefixLadder,
)
from ppdm_sql.source.calendar import calendar_rows
from ppdm_sql.source.hierarchy_check import ROOT, Finding, Lines, UnreadableError, column_findings, line_findings
from ppdm_sql.source.hierarchy_read import file_lines, table_lines
from ppdm_sql.source.ladders import interval_rows, prefix_rows
from ppdm_sql.source.leaves import leaf_text, natural_order

if TYPE_CHECKING:
    import pyarrow as pa

Range = tuple[int, int]  # positions start .. stop - 1


class Node(NamedTuple):
    """A label and the leaves it covers: positions start .. stop - 1."""

    label: str
    start: int
    stop: int


@dataclass(frozen=True, repr=False)
class Hierarchy:
    """A column's leaves and their labels on every level; level 0 are the leaves, the last one is the root.

    >>> tree = build("ward", [["B2", "B", "*"], ["A1", "A", "*"], ["B1", "B", "*"], ["C", "C", "*"]])
    >>> tree.order
    ('A1', 'B1', 'B2', 'C')
    >>> tree.nodes(1)
    [Node(label='A', start=0, stop=1), Node(label='B', start=1, stop=3), Node(label='C', start=3, stop=4)]
    >>> tree.covering(1, 3).label, tree.covering(2, 4).label, tree.children(0, 4)
    ('B', '*', [(0, 1), (1, 3), (3, 4)])
    """

    column: str
    order: tuple[str, ...]
    levels: tuple[tuple[Node, ...], ...]

    def __repr__(self) -> str:
        # Leaves are raw values: they must not reach a log or a traceback.
        return f"Hierarchy(column={self.column!r}, leaves={len(self.order)}, height={self.height})"

    @property
    def height(self) -> int:
        """The level of the root."""
        return len(self.levels) - 1

    def nodes(self, level: int) -> list[Node]:
        """The labels of a level in the order of their leaves."""
        return list(self.levels[level])

    def codes(self, level: int) -> NDArray[np.int32]:
        """Per leaf position, which of nodes(level) it belongs to."""
        codes: NDArray[np.int32] = self._codes[level]
        return codes

    def node_at(self, level: int, position: int) -> Node:
        return self.levels[level][int(self._codes[level, position])]

    def label(self, start: int, stop: int) -> str:
        """The label of a node's exact range; where several levels have it, the most specific one."""
        return self._node(start, stop).label

    def children(self, start: int, stop: int) -> list[Range]:
        """The ranges a node splits into: the first level below it that has more than one; none for a leaf."""
        self._node(start, stop)
        level = self._lowest.get((start, stop), 0) - 1  # one below the lowest level that has this range
        if level < 0:
            return []
        first, last = self._codes[level, start], self._codes[level, stop - 1]
        return [(node.start, node.stop) for node in self.levels[level][first : last + 1]]

    def covering(self, start: int, stop: int) -> Node:
        """The smallest node that covers a range; of equal ones the most specific."""
        if not 0 <= start < stop <= len(self.order):
            raise ValueError(f"{start}..{stop} is no range of {len(self.order)} leaves")
        joined = self._codes[:, start] == self._codes[:, stop - 1]
        return self.node_at(int(joined.argmax()), start)  # the root joins all: there is always one

    def levels_of(self, value: object) -> tuple[str, ...]:
        """A value's leaf and its labels, from level 0 to the root."""
        position = int(self.positions([value])[0])
        return tuple(self.node_at(level, position).label for level in range(len(self.levels)))

    def positions(self, values: Iterable[object]) -> NDArray[np.int64]:
        """The leaf position of each value (not NULL)."""
        found = [self._position.get(leaf_text(value), -1) for value in values]
        missing = found.count(-1)
        if missing:
            raise PolicyError(f'column "{self.column}": {missing} values have no leaf in its hierarchy')
        return np.array(found, dtype=np.int64)

    def only(self, values: Iterable[object]) -> Hierarchy:
        """The same hierarchy with the leaves of these values alone, so that positions have no gaps."""
        return build(self.column, [self.levels_of(value) for value in values], height=self.height)

    def level_table(self) -> pa.Table:
        """Per leaf, in order, its labels: columns ppdm_level_0 (the leaf's text) to ppdm_level_<height>."""
        import pyarrow as pa

        columns = {}
        for level, nodes in enumerate(self.levels):
            labels = pa.array([node.label for node in nodes], pa.string())
            columns[level_column(level)] = labels.take(pa.array(self._codes[level]))
        return pa.table(columns)

    def _node(self, start: int, stop: int) -> Node:
        if stop - start == 1 and 0 <= start < len(self.order):
            return self.levels[0][start]
        level = self._lowest.get((start, stop))
        if level is None:
            raise ValueError(f"{start}..{stop} is no node of the hierarchy of column {self.column!r}")
        return self.node_at(level, start)

    @cached_property
    def _codes(self) -> NDArray[np.int32]:
        """(level, position) -> which node of the level."""
        rows = [
            np.repeat(
                np.arange(len(nodes), dtype=np.int32), np.array([n.stop - n.start for n in nodes], dtype=np.int64)
            )
            for nodes in self.levels
        ]
        codes = np.stack(rows)
        codes.setflags(write=False)  # handed out by codes()
        return codes

    @cached_property
    def _position(self) -> dict[str, int]:
        return {leaf: position for position, leaf in enumerate(self.order)}

    @cached_property
    def _lowest(self) -> dict[Range, int]:
        """The lowest level of every range that is a node and more than one leaf."""
        lowest: dict[Range, int] = {}
        for level, nodes in enumerate(self.levels):
            for _, start, stop in nodes:
                if stop - start > 1:
                    lowest.setdefault((start, stop), level)
        return lowest


def level_column(level: int) -> str:
    return f"ppdm_level_{level}"


def build(column: str, lines: Lines, *, height: int = 1) -> Hierarchy:
    """A hierarchy from checked lines (leaf, label of level 1, ..., root), in whatever order they come.

    A column that is NULL throughout has no leaf; only then the height has to be told.
    """
    if not lines:
        return Hierarchy(column, (), ((),) * (height + 1))
    labels = [list(level) for level in zip(*lines, strict=True)]
    natural = np.empty(len(lines), dtype=np.int64)
    natural[sorted(range(len(lines)), key=lambda line: natural_order(labels[0][line]))] = np.arange(len(lines))
    # Sorting by the first leaf of the node on the highest level, then the next ..., puts every node's
    # leaves side by side; numpy's last key counts most.
    depth_first = np.lexsort([natural, *(_first_leaves(level, natural) for level in labels[1:])])
    levels = tuple(_level_nodes([level[line] for line in depth_first]) for level in labels)
    if len(levels[0]) != len(lines) or not _nest(levels):
        raise ValueError("the lines are not a tree: a leaf occurs twice, or a label has two parents")
    return Hierarchy(column, tuple(node.label for node in levels[0]), levels)


def _first_leaves(level: Sequence[str], natural: NDArray[np.int64]) -> NDArray[np.int64]:
    """Per line, the natural position of the first leaf that has the same label."""
    numbers: dict[str, int] = {}
    codes = np.array([numbers.setdefault(label, len(numbers)) for label in level])
    first = np.full(len(numbers), len(level), dtype=np.int64)
    np.minimum.at(first, codes, natural)
    return first.take(codes)


def _level_nodes(ordered: Sequence[str]) -> tuple[Node, ...]:
    starts = [place for place, label in enumerate(ordered) if place == 0 or label != ordered[place - 1]]
    return tuple(map(Node, (ordered[start] for start in starts), starts, [*starts[1:], len(ordered)]))


def _nest(levels: Sequence[Sequence[Node]]) -> bool:
    """Whether every label is one node, and every node lies within one of the next level."""
    starts = [{node.start for node in nodes} for nodes in levels]
    single = all(len({node.label for node in nodes}) == len(nodes) for nodes in levels)
    return single and len(levels[-1]) == 1 and all(above <= below for below, above in pairwise(starts))


# -- from a policy -------------------------------------------------------------------------------------


def load_hierarchy(
    source: HierarchySource,
    *,
    column: str,
    kind: Kind,
    values: Sequence[object],
    engine: Engine,
    folder: Path | None,
    rows: Sequence[int] | None = None,
    show_values: bool = False,
) -> Hierarchy:
    """The hierarchy a policy names for a column, checked; PolicyError lists everything that is wrong with it.

    values: the distinct values of the column, without NULL; rows: how many rows hold each, for messages.
    folder: where the policy file stands.  A file or table may know more leaves than the column has values.
    """
    if any(value is None for value in values):
        raise ValueError("NULL has no leaf: hand over the other values")
    try:
        lines, found = _lines(source, kind, values, engine, folder)
        lines = _with_others(source, lines, [leaf_text(value) for value in values], found)
        found += column_findings((line[0] for line in lines), [leaf_text(value) for value in values], rows)
    except UnreadableError as unreadable:
        lines, found = [], unreadable.findings
    if found:
        where = f'column "{column}": {_title(source)}'
        raise PolicyError(*(Mistake(f"{where}: {finding.wording(show_values)}") for finding in found))
    return build(column, lines, height=_rule_height(source))


def _lines(
    source: HierarchySource, kind: Kind, values: Sequence[object], engine: Engine, folder: Path | None
) -> tuple[Lines, list[Finding]]:
    """The hierarchy written out, one line per leaf, and what is wrong with it by itself."""
    if kind is Kind.UNSUPPORTED:
        raise UnreadableError("a column of this type cannot have a hierarchy")
    lines: Lines
    match source:
        case HierarchyFile():
            lines = file_lines(source, folder)
        case HierarchyTable():
            lines = table_lines(source, engine)
        case IntervalLadder():
            lines = interval_rows(source, kind, values)
        case PrefixLadder():
            lines = prefix_rows(source, kind, values)
        case CalendarLadder():
            lines = calendar_rows(source, kind, values)
    by_rule = isinstance(source, IntervalLadder | PrefixLadder | CalendarLadder)
    if by_rule and not lines:
        return lines, []  # nothing but NULLs: the rule stands, and has nothing to do
    return lines, [*line_findings(lines, by_rule=by_rule)]


def _with_others(source: HierarchySource, lines: Lines, texts: Sequence[str], found: list[Finding]) -> Lines:
    """The lines, and one for each value that ELSE speaks of: its label on every level up to the root."""
    otherwise = source.otherwise if isinstance(source, HierarchyFile | HierarchyTable) else None
    if otherwise is None or found:
        return lines
    levels = len(lines[0]) - 2
    if any(otherwise in line[:-1] for line in lines):
        found.append(
            Finding("the label after ELSE is also one of its labels or values, so the two could not be distinguished")
        )
    listed = {line[0] for line in lines}
    return [*lines, *([text, *([otherwise] * levels), ROOT] for text in texts if text not in listed)]


def _rule_height(source: HierarchySource) -> int:
    match source:
        case IntervalLadder():
            return len(source.widths) + 1
        case PrefixLadder():
            return len(source.lengths) + 1
        case CalendarLadder():
            return len(source.periods) + 1
    return 1


def _title(source: HierarchySource) -> str:
    match source:
        case HierarchyFile():
            return f"hierarchy {source.path!r}"
        case HierarchyTable():
            return f"hierarchy {'.'.join(map(str, source.name))}"
        case IntervalLadder():
            return "HIERARCHY INTERVALS"
        case PrefixLadder():
            return "HIERARCHY PREFIX"
        case CalendarLadder():
            return "HIERARCHY CALENDAR"
