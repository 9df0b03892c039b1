"""Top-down specialization: from one class for everybody, the best valid division again and again.

    the papers                               here
    cut, specialization                      cuts
    A(QID), A_v(QID)                         KeySet.smallest, KeySet.divided
    InfoGain, AnonyLoss, Score               _Candidate
    valid and beneficial                     Specialization._candidate

A division that is not valid never becomes valid again: classes only get smaller.  So it is looked at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ppdm_sql.cells.cells import Cells, Ints
from ppdm_sql.methods.lattice.groupings import merge_histogram
from ppdm_sql.methods.mondrian.level_counts import Histogram
from ppdm_sql.methods.shared.limits import Demands
from ppdm_sql.methods.tds.cuts import CutColumn, CutPiece, gain
from ppdm_sql.watching import Progress, silent

_NEAR = 1e-12  # scores nearer than this are equal
MOST_STEPS = 100_000


@dataclass
class KeySet:
    """Columns that an attacker knows together, the size that every class over them must have, and these classes."""

    names: frozenset[str]
    k: int
    group: Ints  # per cell its class
    sizes: Ints  # per class what k counts

    @property
    def smallest(self) -> int:
        return int(self.sizes.min())

    def divided(self, inside: Ints, child: Ints, units: Ints) -> tuple[int, Ints, Ints]:
        """The smallest class after a division, and of the cells inside their new classes with their sizes."""
        key = self.group[inside] * (int(child.max(initial=0)) + 1) + child
        _, new = np.unique(key, return_inverse=True)
        sizes = np.bincount(new, weights=units[inside]).astype(np.int64)
        others = np.ones(len(self.sizes), dtype=bool)
        others[self.group[inside]] = False
        least = int(sizes.min(initial=np.iinfo(np.int64).max))
        return min(least, int(self.sizes[others].min(initial=np.iinfo(np.int64).max))), new, sizes

    def divide(self, inside: Ints, child: Ints, units: Ints) -> None:
        """Makes the division."""
        _, new, _ = self.divided(inside, child, units)
        moved = self.group.copy()
        moved[inside] = len(self.sizes) + new
        _, self.group = np.unique(moved, return_inverse=True)
        self.sizes = np.bincount(self.group, weights=units).astype(np.int64)


@dataclass(frozen=True)
class Step:
    """A division that was made, with the figures it was chosen by."""

    column: str
    piece: CutPiece
    children: tuple[CutPiece, ...]
    gain: float
    loss: float
    score: float


@dataclass
class Specialization:
    """The pieces of every column, divided as long as that is valid and says something about the class."""

    cells: Cells
    columns: Sequence[CutColumn]
    sets: Sequence[KeySet]
    demands: Demands
    secrets: Sequence[Histogram] = ()
    ratio: bool = False  # score by gain / loss, as the first paper does
    next_best: bool = False  # where the best value cannot be shown, try the next one
    progress: Progress = silent
    pieces: dict[str, list[CutPiece]] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    _told: dict[tuple[str, int], tuple[CutPiece, list[tuple[Sequence[CutPiece], float]]]] = field(default_factory=dict)
    _ended: dict[str, set[int]] = field(default_factory=dict)  # pieces that cannot be divided, by their first code

    def run(self) -> None:
        for column in self.columns:
            self.pieces[column.name] = [column.top()]
            self._ended[column.name] = set()
        while len(self.steps) < MOST_STEPS:
            self.progress("specializing", len(self.steps), None)
            best: Step | None = None
            for column in self.columns:
                for piece in self.pieces[column.name]:
                    found = self._candidate(column, piece)
                    if found is not None and (best is None or found.score > best.score + _NEAR):
                        best = found
            if best is None:
                return
            self._make(best)

    def _candidate(self, column: CutColumn, piece: CutPiece) -> Step | None:
        """The division of a piece, if it is valid and says something."""
        first = int(piece.codes[0]) if len(piece.codes) else -1
        if first < 0 or first in self._ended[column.name]:
            return None
        for children, told in self._divisions(column, piece, first):
            if told <= _NEAR:
                break
            loss = self._anonymity_lost(column, piece, children)
            if loss is not None:
                over = loss if self.ratio and loss else 1.0 if self.ratio else loss + 1
                return Step(column.name, piece, tuple(children), told, loss, told / over)
        self._ended[column.name].add(first)
        return None

    def _divisions(self, column: CutColumn, piece: CutPiece, first: int) -> list[tuple[Sequence[CutPiece], float]]:
        """The ways to divide a piece and what each says about the class: both stay the same until it is divided."""
        known = self._told.get((column.name, first))
        if known is None or known[0] is not piece:
            ways = column.divisions(piece)
            ways = ways if self.next_best else ways[:1]
            known = (piece, [(children, gain([column.counts(child) for child in children])) for children in ways])
            self._told[column.name, first] = known
        return known[1]

    def _anonymity_lost(self, column: CutColumn, piece: CutPiece, children: Sequence[CutPiece]) -> float | None:
        """How much smaller the smallest class gets, on average over the sets; None where that breaks a requirement."""
        inside, child = self._moved(column, piece, children)
        lost = 0
        for one in self.sets:
            if column.name not in one.names:
                continue
            least, new, sizes = one.divided(inside, child, self.cells.counted)
            if least < one.k or not self._is_diverse(one, inside, new, len(sizes)):
                return None
            lost += one.smallest - least
        return lost / len(self.sets)

    def _moved(self, column: CutColumn, piece: CutPiece, children: Sequence[CutPiece]) -> tuple[Ints, Ints]:
        """The cells of a piece, and which child each goes to."""
        goes = np.full(column.axis.size, -1, dtype=np.int64)
        for number, child in enumerate(children):
            goes[child.codes] = number
        assert column.axis.codes is not None
        going = goes[column.axis.codes]
        inside = np.flatnonzero(going >= 0)
        return inside, going[inside]

    def _is_diverse(self, one: KeySet, inside: Ints, new: Ints, classes: int) -> bool:
        """What is required of sensitive values is required of the classes over all quasi-identifiers."""
        if not self.secrets or len(one.names) < len(self.columns):
            return True
        kept = np.zeros(len(self.cells), dtype=bool)
        kept[inside] = True
        number = np.empty(len(self.cells), dtype=np.int64)
        number[inside] = new
        group, same = np.arange(classes), np.arange(classes)
        for secret, histogram in zip(self.demands.secrets, self.secrets, strict=True):
            for _, counts in merge_histogram(histogram.only(kept, number), same).grouped(group, classes):
                if not secret.holds(counts).all():
                    return False
        return True

    def _make(self, step: Step) -> None:
        column = next(one for one in self.columns if one.name == step.column)
        inside, child = self._moved(column, step.piece, step.children)
        for one in self.sets:
            if step.column in one.names:
                one.divide(inside, child, self.cells.counted)
        here = self.pieces[step.column]
        place = next(number for number, piece in enumerate(here) if piece is step.piece)
        here[place : place + 1] = step.children
        self.steps.append(step)


def labels_by_code(
    columns: Sequence[CutColumn], pieces: Mapping[str, Sequence[CutPiece]], everything: str
) -> dict[str, list[str | None]]:
    """Per column what every value is published as."""
    found = {}
    for column in columns:
        texts: list[str | None] = [everything] * column.axis.size
        for piece in pieces[column.name]:
            label = column.label(piece, everything)
            for code in piece.codes.tolist():
                texts[code] = label
        found[column.name] = texts
    return found
