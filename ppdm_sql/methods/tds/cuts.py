"""A quasi-identifier that is specialized from the top down: the pieces of its values, and how each can be divided.

A piece is a set of values that print the same.  It is divided along a hierarchy, at a number, or by showing one of the
values that are suppressed.  Which division a piece would get follows from the class counts of its values alone, because
every row that has a value is in its piece, whatever the other columns have.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.cells.cells import Ints
from ppdm_sql.methods.shared.columns import Axis
from ppdm_sql.methods.shared.labels import interval_text

_NOTHING = 1e-12  # a gain below this is none


@dataclass(frozen=True, repr=False)
class CutPiece:
    """Some values of a column, by their codes; first .. stop - 1 is its range where it has one."""

    codes: Ints
    first: int = 0
    stop: int = 0
    whole: bool = False  # nothing was divided yet
    apart: bool = False  # NULL or NaN: it has no range
    rest: bool = False  # what is suppressed

    def __repr__(self) -> str:
        return f"CutPiece({len(self.codes)} codes)"


def entropy(counts: Ints) -> NDArray[np.float64]:
    """Per row of class counts its entropy in bits, times its rows."""
    total = counts.sum(axis=-1)
    logs = counts * np.log2(np.maximum(counts, 1))
    return np.asarray(total * np.log2(np.maximum(total, 1)) - logs.sum(axis=-1))


def gain(parts: Sequence[Ints]) -> float:
    """The bits per row that a division gives about the class; parts: the class counts of each.

    >>> round(gain([np.array([4, 0]), np.array([0, 4])]), 3)
    1.0
    """
    whole = np.sum(parts, axis=0)
    left = float(entropy(whole)) - sum(float(entropy(part)) for part in parts)
    return left / max(int(whole.sum()), 1)


class CutColumn(ABC):
    """A column with its axis, and the class counts of every value."""

    def __init__(self, axis: Axis, classes: Ints) -> None:
        self.axis, self.classes = axis, classes

    @property
    def name(self) -> str:
        return self.axis.info.name

    def top(self) -> CutPiece:
        """All values in one piece."""
        return CutPiece(np.arange(self.axis.size), 0, self.axis.ordinary, whole=True)

    @abstractmethod
    def divisions(self, piece: CutPiece) -> list[list[CutPiece]]:
        """How a piece can be divided, the best first."""

    @abstractmethod
    def label(self, piece: CutPiece, everything: str) -> str | None:
        """What a piece prints."""

    def counts(self, piece: CutPiece) -> Ints:
        return np.asarray(self.classes[piece.codes].sum(axis=0))

    def _strangers(self, piece: CutPiece) -> list[CutPiece]:
        """NULL and NaN, each by itself, when a column is divided for the first time."""
        if not piece.whole:
            return []
        return [
            CutPiece(np.array([code]), code, code + 1, apart=True) for code in range(self.axis.ordinary, self.axis.size)
        ]


class TaxonomyColumn(CutColumn):
    """Divided along a hierarchy: codes stand in the order of its leaves."""

    def divisions(self, piece: CutPiece) -> list[list[CutPiece]]:
        if piece.apart or piece.stop == piece.first:
            return []
        assert self.axis.hierarchy is not None
        ranges = self.axis.hierarchy.children(piece.first, piece.stop)
        strangers = self._strangers(piece)
        if not ranges and strangers:
            ranges = [(piece.first, piece.stop)]
        children = [CutPiece(np.arange(first, stop), first, stop) for first, stop in ranges]
        return [[*children, *strangers]] if len(children) + len(strangers) > 1 else []

    def label(self, piece: CutPiece, everything: str) -> str | None:
        assert self.axis.hierarchy is not None
        if piece.apart:
            return _stranger(self.axis, piece)
        if piece.whole:
            return self.axis.hierarchy.levels[-1][0].label if self.axis.hierarchy.levels[-1] else everything
        return self.axis.hierarchy.label(piece.first, piece.stop)


class IntervalColumn(CutColumn):
    """Divided at the number that says most about the class; of equally good ones the smallest."""

    def divisions(self, piece: CutPiece) -> list[list[CutPiece]]:
        strangers = self._strangers(piece)
        if piece.apart or piece.stop - piece.first + len(strangers) < 2:
            return []
        if piece.stop - piece.first < 2:
            return [[CutPiece(np.arange(piece.first, piece.stop), piece.first, piece.stop), *strangers]]
        counts = self.classes[piece.first : piece.stop]
        below = np.cumsum(counts, axis=0)[:-1]
        left = entropy(below) + entropy(counts.sum(axis=0) - below)
        at = piece.first + 1 + int(np.flatnonzero(left <= left.min() + _NOTHING * max(int(counts.sum()), 1))[0])
        lower, upper = (
            CutPiece(np.arange(piece.first, at), piece.first, at),
            CutPiece(np.arange(at, piece.stop), at, piece.stop),
        )
        return [[lower, upper, *strangers]]

    def label(self, piece: CutPiece, everything: str) -> str | None:
        if piece.apart:
            return _stranger(self.axis, piece)
        low, high = self.border(piece.first), self.border(piece.stop)
        return everything if low is None and high is None else interval_text(low, high)

    def border(self, code: int) -> str | None:
        """Where a range begins or ends; None where it is open."""
        if not 0 < code < self.axis.ordinary:
            return None
        line, rare = self.axis.line, self.axis.rare
        assert line is not None
        assert rare is not None
        return line.boundaries(np.array([code]), rare[[code]])[0]


class SuppressedColumn(CutColumn):
    """Divided by showing one value of those that are suppressed: the one that says most, of equal ones the first."""

    def top(self) -> CutPiece:
        return CutPiece(np.arange(self.axis.size), whole=True, rest=True)

    def divisions(self, piece: CutPiece) -> list[list[CutPiece]]:
        if not piece.rest or len(piece.codes) < 2:
            return []
        counts = self.classes[piece.codes]
        left = entropy(counts) + entropy(counts.sum(axis=0) - counts)
        order = sorted(range(len(piece.codes)), key=lambda place: (round(float(left[place]), 9), place))
        return [[CutPiece(piece.codes[[place]]), CutPiece(np.delete(piece.codes, place), rest=True)] for place in order]

    def label(self, piece: CutPiece, everything: str) -> str | None:
        return everything if piece.rest else _stranger(self.axis, piece)


def _stranger(axis: Axis, piece: CutPiece) -> str | None:
    """A single value; None for NULL."""
    (code,) = piece.codes.tolist()
    return None if code == axis.null_code else axis.texts[code]
