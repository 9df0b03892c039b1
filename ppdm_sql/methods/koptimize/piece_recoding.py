"""Cuts as a recoding for rows that were not there: one column after the other, that with the fewest labels first.

A row whose labels together are a class that was published goes there.  Another one goes as far as a class begins like
it, and the columns that were not asked then print the label for everything.  All labels of a column stand below every
node that asks for it, so that a value never goes to the label of others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ppdm_sql.methods.koptimize.cut_columns import PieceColumn
from ppdm_sql.methods.mondrian.partition_recoding import beyond, highest, paths_of
from ppdm_sql.methods.recoding import ROOT, TREE, RecodedColumn, RecodingNode, RecodingTree, Take
from ppdm_sql.methods.shared.columns import Axis
from ppdm_sql.methods.shared.labels import RegionLabels, marker


@dataclass(frozen=True)
class _Run:
    """Pieces that print the same: what they take, what they print, how many values that covers."""

    take: Take
    label: str | None
    covered: int


def recode_pieces(
    columns: Sequence[PieceColumn],
    texts: Sequence[Sequence[str | None]],
    labels: Mapping[str, Sequence[str | None]],
) -> RecodingTree:
    """texts: per column and piece its label; labels: of the classes."""
    suppressed = marker([column.axis for column in columns])
    runs = [_runs(column, told, suppressed) for column, told in zip(columns, texts, strict=True)]
    root = [_root_label(column.axis, found, suppressed) for column, found in zip(columns, runs, strict=True)]
    asked = [place for place, found in enumerate(runs) if [one.label for one in found] != [root[place]]]
    asked.sort(key=lambda place: len(runs[place]))
    numbers: dict[tuple[str | None, ...], int] = {(): ROOT}
    nodes: list[RecodingNode] = []
    for of_class in zip(*(labels[columns[place].name] for place in asked), strict=True):
        for depth, place in enumerate(asked):
            path = of_class[:depth]
            if path + of_class[depth : depth + 1] in numbers:
                continue
            for one in runs[place]:
                numbers[(*path, one.label)] = len(numbers)
                nodes.append(RecodingNode(numbers[path], place, one.take, one.label, one.covered))
    known = [
        RecodedColumn(column.name, column.axis.values, label, paths_of(column.axis))
        for column, label in zip(columns, root, strict=True)
    ]
    return RecodingTree(TREE, tuple(known), tuple(nodes))


def _root_label(axis: Axis, runs: Sequence[_Run], suppressed: str) -> str:
    """What says nothing of a column: the root of its hierarchy, where that is what it prints everywhere."""
    if axis.hierarchy is not None and len(runs) == 1 and runs[0].label == axis.hierarchy.levels[-1][0].label:
        return axis.hierarchy.levels[-1][0].label
    return suppressed


def _runs(column: PieceColumn, texts: Sequence[str | None], suppressed: str) -> list[_Run]:
    axis = column.axis
    starts = [piece for piece in range(len(texts)) if piece == 0 or texts[piece] != texts[piece - 1]]
    first = [column.starts[piece] for piece in starts]
    stop = [*first[1:], axis.size]
    ends = np.unique(np.array([*first, *stop]))
    regions = None if axis.hierarchy is not None else RegionLabels.of(axis, ends, suppressed)
    return [
        _Run(_take(axis, regions, one, end, texts[piece], suppressed), texts[piece], _covered(axis, one, end))
        for piece, one, end in zip(starts, first, stop, strict=True)
    ]


def _covered(axis: Axis, first: int, stop: int) -> int:
    hides = axis.few is not None and first <= axis.few < stop
    return stop - first + (axis.few_values - 1 if hides else 0)


def _take(axis: Axis, regions: RegionLabels | None, first: int, stop: int, label: str | None, suppressed: str) -> Take:
    if first >= axis.ordinary:
        return beyond(axis, first, stop, suppressed)[0]
    found = _ordinary(axis, regions, first, min(stop, axis.ordinary), label)
    if stop <= axis.ordinary:
        return found
    other = beyond(axis, axis.ordinary, stop, suppressed)[0]
    return replace(found, values=(*found.values, *other.values), missing=other.missing)


def _ordinary(axis: Axis, regions: RegionLabels | None, first: int, stop: int, label: str | None) -> Take:
    """What takes the values of a run without NULL and NaN, and nothing that its label would be untrue of."""
    if regions is None:
        assert axis.hierarchy is not None
        level, node = highest(axis.hierarchy, first, stop)
        exact = (node.start, node.stop) == (first, stop)
        return Take(level=level, word=node.label) if exact else Take(values=tuple(axis.texts[first:stop]))
    if axis.line is not None:
        if label in axis.texts[first:stop]:  # everybody in it has this value
            return Take(values=(str(label),))
        return Take(ranged=True, low=regions.boundary.get(first), high=regions.boundary.get(stop))
    hides = axis.few is not None and first <= axis.few < stop
    every = label is not None and not label.strip("*")
    return Take(values=tuple(axis.texts[first : min(stop, len(axis.texts))]), rest=hides or every)
