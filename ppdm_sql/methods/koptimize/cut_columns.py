"""A quasi-identifier as a line of pieces: where it may be cut, and what a run of pieces prints.

Values stand in the order of mondrian: numbers and moments by size, a hierarchy by its leaves, other texts by the share
of the commonest class.  NULL and NaN are the last pieces.  A column gets at most so many cuts, each the one that says
most about the class: the search has 2^cuts leaves.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ppdm_sql.cells.cells import Ints
from ppdm_sql.engines.base import Kind
from ppdm_sql.methods.base import CellJob
from ppdm_sql.methods.lattice.level_recoding import INTERVAL
from ppdm_sql.methods.shared.columns import Axis, cell_axis, in_order, order_by_share, quasi_axis
from ppdm_sql.methods.shared.labels import Regions, braces_around, labels_of, list_text
from ppdm_sql.methods.tds.cuts import entropy
from ppdm_sql.policy.policy import CalendarLadder, IntervalLadder
from ppdm_sql.source.calendar import period_ends
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.lines import Flags

_NOTHING = 1e-9  # a gain per row below this is none


@dataclass(frozen=True, repr=False)
class PieceColumn:
    """A column, and the codes at which a piece starts; the first piece starts at 0."""

    axis: Axis
    starts: tuple[int, ...]
    gives_ranges: bool = False  # the labels of its hierarchy are ranges

    def __repr__(self) -> str:
        return f"PieceColumn({self.axis.info.name!r}, {len(self.starts)} pieces)"

    @property
    def name(self) -> str:
        return self.axis.info.name

    @property
    def pieces(self) -> Ints:
        """Per cell its piece."""
        return np.searchsorted(np.array(self.starts), self.axis.cell_codes, side="right") - 1

    def labels(self, chosen: Sequence[int], suppressed: str) -> list[str | None]:
        """What the runs of pieces print that start at 0 and at the chosen pieces."""
        first = np.array([self.starts[piece] for piece in (0, *chosen)])
        stop = np.append(first[1:], self.axis.size)
        if self.axis.hierarchy is not None:
            return [self._run_text(int(start), int(end), suppressed) for start, end in zip(first, stop, strict=True)]
        present = np.unique(self.axis.cell_codes)
        low = present[np.searchsorted(present, first)]
        high = present[np.searchsorted(present, stop) - 1]
        found = labels_of(self.axis, Regions(first, stop, low, high), suppressed)
        return [found.texts[number] for number in found.number.tolist()]

    def _run_text(self, first: int, stop: int, suppressed: str) -> str | None:
        """The labels of the hierarchy that cover a run exactly; NULL with other values is suppressed."""
        tree = self.axis.hierarchy
        assert tree is not None
        if first >= self.axis.ordinary:
            return None
        if stop > self.axis.ordinary or (first, stop) == (0, self.axis.ordinary) == (0, self.axis.size):
            return suppressed
        labels = covering_labels(tree, first, stop)
        if len(labels) == 1:
            return labels[0]
        moments = self.axis.info.kind in (Kind.DATE, Kind.TIMESTAMP)
        run = run_text(labels, moments=moments) if self.gives_ranges else None
        return run or list_text(labels, range(len(labels)), False, self._braces)

    @cached_property
    def _braces(self) -> int:
        assert self.axis.hierarchy is not None
        return braces_around(node.label for level in self.axis.hierarchy.levels for node in level)


def run_text(labels: Sequence[str], *, moments: bool) -> str | None:
    """What labels of INTERVALS or CALENDAR that follow each other print; None where one of them is no range.

    >>> run_text(["[50, 55)", "[55, 60)"], moments=False), run_text(["48", "49"], moments=False)
    ('[50, 60)', '[48, 49]')
    >>> run_text(["2024-Q4", "2025"], moments=True), run_text(["2024-01-05 10:30:00", "2025"], moments=True)
    ('[2024-10-01, 2026-01-01)', None)
    """
    ends = [_ends(label, moments) for label in (labels[0], labels[-1])]
    if ends[0] is None or ends[1] is None:
        return None
    return f"[{ends[0][0]}, {ends[1][1]}"


def _ends(label: str, moments: bool) -> tuple[str, str] | None:
    """Where a label starts, and its end as an interval prints it."""
    interval, period = INTERVAL.fullmatch(label), period_ends(label) if moments else None
    if interval is not None:
        return interval[1], f"{interval[2]})"
    if period is not None:
        return str(period[0]), f"{period[1]})"
    return None if moments else (label, f"{label}]")


def covering_labels(tree: Hierarchy, first: int, stop: int) -> list[str]:
    """The fewest labels of a hierarchy that stand for the leaves first .. stop - 1 and no others."""
    found = []
    while first < stop:
        node = next(
            node for level in reversed(tree.levels) for node in level if node.start == first and node.stop <= stop
        )
        found.append(node.label)
        first = node.stop
    return found


def piece_columns(job: CellJob, target: str, most: int) -> tuple[PieceColumn, ...]:
    """Every quasi-identifier with at most so many cuts, besides those around NULL and NaN."""
    cells, classes = job.cells, job.cells[target]
    common = int(np.bincount(classes.codes, weights=cells.rows).argmax())
    found = []
    for name in job.source.quasi:
        plain = cell_axis(cells, name)
        axis = quasi_axis(plain, cells[name].held, job.k, job.hierarchies.get(name))
        counts = _class_counts(axis, classes.codes, classes.size, cells.rows)
        if axis.hierarchy is None and axis.line is None and axis.texts:
            many = len(axis.texts)
            axis = in_order(axis, order_by_share(counts[:many, common], counts[:many].sum(axis=1)))
            counts = _class_counts(axis, classes.codes, classes.size, cells.rows)
        held = np.bincount(axis.cell_codes, weights=cells.counted, minlength=axis.size).astype(np.int64)
        allowed = _allowed_starts(axis, most)
        chosen = best_cuts(counts[: axis.ordinary], held[: axis.ordinary], allowed, max(job.k, 1), most)
        apart = [code for code in range(axis.ordinary, axis.size) if code]
        ladder = (job.source.hierarchies or {}).get(name)
        starts = tuple(sorted({0, *chosen, *apart}))
        found.append(PieceColumn(axis, starts, isinstance(ladder, CalendarLadder | IntervalLadder)))
    return tuple(found)


def _class_counts(axis: Axis, classes: Ints, size: int, rows: Ints) -> Ints:
    counts = np.zeros((axis.size, size), dtype=np.int64)
    np.add.at(counts, (axis.cell_codes, classes), rows)
    return counts


def _allowed_starts(axis: Axis, most: int) -> Flags:
    """Per ordinary code, whether a piece may start there: along a hierarchy where labels of its finest level that has
    few enough of them meet.
    """
    allowed = np.ones(axis.ordinary, dtype=bool)
    if axis.hierarchy is not None:
        for level in axis.hierarchy.levels:
            if 1 < len(level) <= most + 1:
                allowed[:] = False
                allowed[[node.start for node in level]] = True
                break
    allowed[:1] = False
    return allowed


def best_cuts(counts: Ints, held: Ints, allowed: Flags, least: int, most: int) -> list[int]:
    """At most so many codes at which a piece starts: always the next cut that says most about the class.

    counts: (code, class) rows.  A cut leaves `least` of what `held` counts on both sides of its piece.

    >>> counts = np.array([[9, 0], [8, 1], [0, 9], [1, 8]])
    >>> best_cuts(counts, counts.sum(axis=1), np.array([False, True, True, True]), 1, 1)
    [2]
    """
    found: list[int] = []
    open_cuts: list[tuple[float, int, int, int]] = []

    def look(first: int, stop: int) -> None:
        below, people = np.cumsum(counts[first:stop], axis=0)[:-1], np.cumsum(held[first:stop])
        places = np.flatnonzero(
            allowed[first + 1 : stop] & (people[:-1] >= least) & (people[-1:] - people[:-1] >= least)
        )
        if not len(places):
            return
        whole = counts[first:stop].sum(axis=0)
        gains = float(entropy(whole)) - entropy(below[places]) - entropy(whole - below[places])
        best = int(np.flatnonzero(gains >= gains.max() - _NOTHING)[0])
        if gains[best] > _NOTHING * int(whole.sum()):
            heapq.heappush(open_cuts, (-round(float(gains[best]), 6), first + 1 + int(places[best]), first, stop))

    look(0, len(counts))
    while open_cuts and len(found) < most:
        _, cut, first, stop = heapq.heappop(open_cuts)
        found.append(cut)
        look(first, cut)
        look(cut, stop)
    return sorted(found)
