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


_CLOSED = -1


@dataclass
class _StepRecoder:
    cells: Cells
    columns: Sequence[CutColumn]
    least: int
    everything: str
    nodes: list[RecodingNode] = field(default_factory=list)

    def run(self, steps: Sequence[Step]) -> RecodingTree:
        place = {column.name: number for number, column in enumerate(self.columns)}
        node_of_cell = np.full(len(self.cells), ROOT)  # _CLOSED where a node has too few to be divided
        for step in steps:
            self._divide(node_of_cell, place[step.column], step)
        return RecodingTree(TREE, tuple(self._column(one) for one in self.columns), tuple(self.nodes))

    def _divide(self, node_of_cell: Ints, number: int, step: Step) -> None:
        """Divides all open nodes that have the piece: it is what distinguishes none of their cells."""
        column, many = self.columns[number], len(step.children)
        assert column.axis.codes is not None
        child_of_code = np.full(column.axis.size, -1)
        for place, child in enumerate(step.children):
            child_of_code[child.codes] = place
        child_of_cell = child_of_code[column.axis.codes]
        inside = np.flatnonzero((child_of_cell >= 0) & (node_of_cell != _CLOSED))
        divided, node = np.unique(node_of_cell[inside], return_inverse=True)
        new = node * many + child_of_cell[inside]
        held = np.bincount(new, weights=self.cells.counted[inside], minlength=len(divided) * many)
        numbers = len(self.nodes) + 1 + np.arange(len(held))
        node_of_cell[inside] = np.where(held >= self.least, numbers, _CLOSED)[new]
        made = [(_take(column, one), column.label(one, self.everything), len(one.codes)) for one in step.children]
        self.nodes += [RecodingNode(before, number, *one) for before in divided.tolist() for one in made]

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
