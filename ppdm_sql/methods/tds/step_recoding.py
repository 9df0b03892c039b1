"""A specialization as a recoding: the divisions in the order in which they were made, for rows that were not there.

Every class of the table goes down the divisions of its pieces.  Rows that are too few for a class go back up the same
way: the last division is undone first, and only for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ppdm_sql.cells.cells import Cells, Ints
from ppdm_sql.methods.mondrian.partition_recoding import lowest, paths_of
from ppdm_sql.methods.recoding import ROOT, TREE, RecodedColumn, RecodingNode, RecodingTree, Take
from ppdm_sql.methods.tds.cuts import CutColumn, CutPiece, IntervalColumn
from ppdm_sql.methods.tds.specialize import Step


def recode_steps(
    cells: Cells, columns: Sequence[CutColumn], steps: Sequence[Step], least: int, everything: str
) -> RecodingTree:
    """least: how many a node must have to be divided further; everything: what stands for all values."""
    return _StepRecoder(cells, columns, least, everything).run(steps)


@dataclass
class _StepRecoder:
    cells: Cells
    columns: Sequence[CutColumn]
    least: int
    everything: str
    nodes: list[RecodingNode] = field(default_factory=list)
    inside: dict[int, Ints] = field(default_factory=dict)  # open node -> its cells
    pieces: dict[int, tuple[int, ...]] = field(default_factory=dict)  # open node -> per column the id of its piece
    having: dict[int, list[int]] = field(default_factory=dict)  # id of a piece -> nodes that have it or had it

    def run(self, steps: Sequence[Step]) -> RecodingTree:
        place = {column.name: number for number, column in enumerate(self.columns)}
        top: dict[str, int] = {}
        for step in steps:
            top.setdefault(step.column, id(step.piece))
        tops = tuple(top.get(column.name, -1) for column in self.columns)
        self._open(ROOT, np.arange(len(self.cells)), tops)
        for step in steps:
            for node in self.having.pop(id(step.piece), ()):
                if node in self.pieces:
                    self._divide(node, place[step.column], step)
        return RecodingTree(TREE, tuple(self._column(one) for one in self.columns), tuple(self.nodes))

    def _open(self, node: int, inside: Ints, pieces: tuple[int, ...]) -> None:
        self.inside[node], self.pieces[node] = inside, pieces
        for piece in pieces:
            self.having.setdefault(piece, []).append(node)

    def _divide(self, node: int, number: int, step: Step) -> None:
        column, inside, pieces = self.columns[number], self.inside.pop(node), self.pieces.pop(node)
        assert column.axis.codes is not None
        codes = column.axis.codes[inside]
        for child in step.children:
            label = column.label(child, self.everything)
            self.nodes.append(RecodingNode(node, number, _take(column, child), label, len(child.codes)))
            there = inside[np.isin(codes, child.codes)]
            if int(self.cells.counted[there].sum()) >= self.least:
                self._open(len(self.nodes), there, (*pieces[:number], id(child), *pieces[number + 1 :]))

    def _column(self, column: CutColumn) -> RecodedColumn:
        label = column.label(column.top(), self.everything)
        assert label is not None
        return RecodedColumn(column.name, column.axis.values, label, paths_of(column.axis))


def _take(column: CutColumn, piece: CutPiece) -> Take:
    """What a piece takes of its column."""
    axis = column.axis
    missing = axis.null_code is not None and bool(np.isin(axis.null_code, piece.codes))
    if piece.rest:
        return Take(rest=True, missing=missing)
    if missing:
        return Take(missing=True)
    if piece.apart:
        return Take(values=(axis.texts[int(piece.codes[0])],))
    if isinstance(column, IntervalColumn):
        return Take(ranged=True, low=column.border(piece.first), high=column.border(piece.stop))
    if axis.hierarchy is not None and not axis.stands_alone:
        level, node = lowest(axis.hierarchy, piece.first, piece.stop)
        return Take(level=level, word=node.label)
    if axis.hierarchy is not None and piece.stop - piece.first == axis.ordinary > 1:
        return Take(rest=True)  # all values, where only NULL was taken away
    return Take(values=tuple(axis.texts[int(code)] for code in piece.codes))
