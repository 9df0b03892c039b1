"""How good a node of the lattice is, and how good the nodes above and below it can be at best.

Every quality is a number that is better when smaller.  N rows, groups E with |E| rows; a group that fails a
requirement is left out, S are the rows left out.

    loss            per column, leaves under the label over leaves of the column, rescaled to 0 .. 1; left out counts 1
    precision       per column, level over highest level; left out counts 1
    entropy         per column and row, bits that the label hides of the value; left out: all bits
    discernibility  sum over kept groups of |E|^2, and N for every row left out
    average_class   N over kept groups, rows left out being one more
    classification  share of rows that do not have the commonest target of their group; left out counts left_out_cost
    height          sum of levels

The first three add up over columns: what a node costs without leaving rows out is known before it is looked at, and
what leaving rows out adds only grows towards finer nodes, because a group too small for k is a union of groups that are
too small there.  Of the others a bound is known for every node above or below one that was looked at.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.cells.cells import Ints
from ppdm_sql.methods.lattice.groupings import Field, Grouping
from ppdm_sql.methods.lattice.levels import LevelColumn
from ppdm_sql.source.lines import Flags

Value = int | Fraction | float
Bounds = NDArray[np.float64]


@dataclass(frozen=True)
class Lattice:
    """What the qualities of all nodes have in common."""

    columns: tuple[LevelColumn, ...]
    fields: tuple[Field, ...]
    rows: int
    k: int
    label_rows: tuple[tuple[Ints, ...], ...]  # per column and level, the rows of every label

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(column.levels) for column in self.columns)


class Quality(ABC):
    """One of the words behind quality =."""

    weighted = False  # WEIGHT counts

    def __init__(self, lattice: Lattice) -> None:
        self.lattice = lattice

    def known_bound(self, levels: Sequence[int]) -> float:
        """What a node costs at least, whatever rows are in which group."""
        return 0.0

    def known_bounds(self) -> Bounds:
        """The same of all nodes."""
        return np.zeros(self.lattice.shape)

    @abstractmethod
    def value(self, node: Grouping, kept: Flags) -> Value:
        """What a node costs."""

    def bound_above(self, node: Grouping, kept: Flags) -> float:
        """What this node and all coarser ones cost at least."""
        return 0.0

    @abstractmethod
    def bound_below(self, node: Grouping, large: Flags) -> float:
        """What this node and all finer ones cost at least, over what is known of each; large: groups that have k."""


# -- sums over columns -------------------------------------------------------------------------------------


class _ByColumn(Quality):
    """A sum over columns and rows of what a label costs; a row that is left out costs the most in every column."""

    weighted = True

    def __init__(self, lattice: Lattice) -> None:
        super().__init__(lattice)
        self._whole = [
            np.array([float((rows * costs).sum()) for rows, costs in zip(of_levels, self._costs(number), strict=True)])
            for number, of_levels in enumerate(lattice.label_rows)
        ]

    @abstractmethod
    def _costs(self, number: int) -> Sequence[NDArray[np.float64]]:
        """Per level the cost of every label of a column, for one row, weighted and scaled."""

    @abstractmethod
    def _most(self, number: int) -> float:
        """The cost of a row that is left out."""

    def known_bound(self, levels: Sequence[int]) -> float:
        return float(sum(self._whole[number][level] for number, level in enumerate(levels)))

    def known_bounds(self) -> Bounds:
        total = np.zeros((1,) * len(self._whole))
        for number, costs in enumerate(self._whole):
            total = total + costs.reshape([-1 if place == number else 1 for place in range(len(self._whole))])
        return np.asarray(total)

    def bound_below(self, node: Grouping, large: Flags) -> float:
        out = np.flatnonzero(~large)
        return self._added(node, out) if len(out) else 0.0

    def _added(self, node: Grouping, out: Ints) -> float:
        """What it adds that these groups are left out."""
        rows = node.rows[out]
        added = 0.0
        for number, (field, level) in enumerate(zip(self.lattice.fields, node.levels, strict=True)):
            costs = self._costs(number)[level][node.label_codes(field, out)]
            added += float((rows * (self._most(number) - costs)).sum())
        return added

    def _sums(self, node: Grouping, out: Ints, amounts: Callable[[LevelColumn, int], Ints]) -> list[int]:
        """Per column, the sum over kept rows of a whole number that the label has."""
        found = []
        for number, (column, level) in enumerate(zip(self.lattice.columns, node.levels, strict=True)):
            amount = amounts(column, level)
            whole = int((self.lattice.label_rows[number][level] * amount).sum())
            codes = node.label_codes(self.lattice.fields[number], out)
            found.append(whole - int((node.rows[out] * amount[codes]).sum()))
        return found

    @property
    def _weights(self) -> list[Fraction]:
        return [column.weight for column in self.lattice.columns]


class LeafLoss(_ByColumn):
    def __init__(self, lattice: Lattice) -> None:
        weights = [column.weight for column in lattice.columns]
        # The part of a column in the whole, per row and leaf beyond the first.
        self._parts = [
            weight / (sum(weights) * lattice.rows * (column.leaves - 1)) if column.leaves > 1 else Fraction(0)
            for column, weight in zip(lattice.columns, weights, strict=True)
        ]
        self._of_labels = [
            [np.asarray((level.leaves - 1) * float(part), dtype=np.float64) for level in column.levels]
            for column, part in zip(lattice.columns, self._parts, strict=True)
        ]
        super().__init__(lattice)

    def _costs(self, number: int) -> Sequence[NDArray[np.float64]]:
        return self._of_labels[number]

    def _most(self, number: int) -> float:
        return (self.lattice.columns[number].leaves - 1) * float(self._parts[number])

    def value(self, node: Grouping, kept: Flags) -> Value:
        out = np.flatnonzero(~kept)
        gone = int(node.rows[out].sum())
        leaves = self._sums(node, out, lambda column, level: column.levels[level].leaves - 1)
        columns = zip(self.lattice.columns, self._parts, leaves, strict=True)
        return sum((part * (count + gone * (column.leaves - 1)) for column, part, count in columns), Fraction(0))


class Precision(_ByColumn):
    def __init__(self, lattice: Lattice) -> None:
        weights = [column.weight for column in lattice.columns]
        self._parts = [weight / (sum(weights) * lattice.rows) for weight in weights]
        self._of_labels = [
            [
                np.full(len(level.labels), float(part * Fraction(level.number, max(column.height, 1))))
                for level in column.levels
            ]
            for column, part in zip(lattice.columns, self._parts, strict=True)
        ]
        super().__init__(lattice)

    def _costs(self, number: int) -> Sequence[NDArray[np.float64]]:
        return self._of_labels[number]

    def _most(self, number: int) -> float:
        return float(self._parts[number])

    def value(self, node: Grouping, kept: Flags) -> Value:
        gone = int(node.rows[~kept].sum())
        total = Fraction(0)
        for column, part, level in zip(self.lattice.columns, self._parts, node.levels, strict=True):
            share = Fraction(column.levels[level].number, max(column.height, 1))
            total += part * ((self.lattice.rows - gone) * share + gone)
        return total


class Entropy(_ByColumn):
    """Bits; a sum of logarithms is compared to nine digits."""

    def __init__(self, lattice: Lattice) -> None:
        self._hidden = [
            [np.log2(np.maximum(rows, 1)) * float(column.weight) for rows in of_levels]
            for column, of_levels in zip(lattice.columns, lattice.label_rows, strict=True)
        ]
        super().__init__(lattice)
        # The bits of the values themselves: a label hides log2(rows of the label) less log2(rows of the value).
        self._values = float(
            sum(
                float(column.weight) * float((rows[0] * np.log2(np.maximum(rows[0], 1))).sum())
                for column, rows in zip(lattice.columns, lattice.label_rows, strict=True)
            )
        )

    def _costs(self, number: int) -> Sequence[NDArray[np.float64]]:
        return self._hidden[number]

    def _most(self, number: int) -> float:
        return math.log2(max(self.lattice.rows, 1)) * float(self.lattice.columns[number].weight)

    def known_bound(self, levels: Sequence[int]) -> float:
        return super().known_bound(levels) - self._values

    def known_bounds(self) -> Bounds:
        return np.asarray(super().known_bounds() - self._values)

    def value(self, node: Grouping, kept: Flags) -> Value:
        bits = self.known_bound(node.levels) + self._added(node, np.flatnonzero(~kept))
        return float(f"{max(bits, 0.0):.9e}")


class Height(Quality):
    def known_bound(self, levels: Sequence[int]) -> float:
        return float(height(self.lattice.columns, levels))

    def known_bounds(self) -> Bounds:
        total = np.zeros((1,) * len(self.lattice.columns))
        for number, column in enumerate(self.lattice.columns):
            levels = np.array([level.number for level in column.levels], dtype=np.float64)
            total = total + levels.reshape([-1 if place == number else 1 for place in range(len(self.lattice.columns))])
        return np.asarray(total)

    def value(self, node: Grouping, kept: Flags) -> Value:
        return height(self.lattice.columns, node.levels)

    def bound_below(self, node: Grouping, large: Flags) -> float:
        return 0.0


# -- of groups ---------------------------------------------------------------------------------------------


class Discernibility(Quality):
    def value(self, node: Grouping, kept: Flags) -> Value:
        held = node.rows[kept]
        return int((held * held).sum()) + self.lattice.rows * int(node.rows[~kept].sum())

    def bound_above(self, node: Grouping, kept: Flags) -> float:
        """Groups only grow together, and a row that is left out costs N, which no group has more of."""
        return float((node.rows * node.rows).sum())

    def bound_below(self, node: Grouping, large: Flags) -> float:
        gone = int(node.rows[~large].sum())
        return float(self.lattice.rows * gone)


class AverageClass(Quality):
    def value(self, node: Grouping, kept: Flags) -> Value:
        groups = int(kept.sum())
        return Fraction(self.lattice.rows, groups + (groups < len(node)))

    def bound_above(self, node: Grouping, kept: Flags) -> float:
        """A kept group of a coarser node has a kept one of this node in it, or k rows of those left out here."""
        more = int(node.rows[~kept].sum()) // max(self.lattice.k, 1)
        return self.lattice.rows / min(len(node), int(kept.sum()) + more + 1)

    def bound_below(self, node: Grouping, large: Flags) -> float:
        held = int(node.rows[large].sum())
        return self.lattice.rows / (held // max(self.lattice.k, 1) + 1)


class Classification(Quality):
    """The classification metric of Iyengar (2002); the last histogram of a grouping is that of the target.

    A row that is left out costs left_out_cost: as much as one that is misclassified, or half of it as in ARX.  Where
    two targets are equally common in a group, ARX counts every row of it as wrong (ties_are_wrong).
    """

    def __init__(
        self, lattice: Lattice, left_out_cost: Fraction = Fraction(1), *, ties_are_wrong: bool = False
    ) -> None:
        super().__init__(lattice)
        self._left_out_cost, self._ties_are_wrong = left_out_cost, ties_are_wrong

    def value(self, node: Grouping, kept: Flags) -> Value:
        common = _commonest(node)
        if self._ties_are_wrong:
            histogram = node.histograms[-1]
            equal = histogram.rows == common[histogram.cell]
            common = np.where(np.bincount(histogram.cell[equal], minlength=len(node)) > 1, 0, common)
        minority = int((node.rows - common)[kept].sum())
        return (minority + self._left_out_cost * int(node.rows[~kept].sum())) / self.lattice.rows

    def bound_above(self, node: Grouping, kept: Flags) -> float:
        """A group of a coarser node is left out, or has the minorities of its groups here in its own."""
        least = np.minimum(node.rows - _commonest(node), float(self._left_out_cost) * node.rows)
        return float(least.sum()) / self.lattice.rows

    def bound_below(self, node: Grouping, large: Flags) -> float:
        return float(self._left_out_cost) * int(node.rows[~large].sum()) / self.lattice.rows


def _commonest(node: Grouping) -> Ints:
    """Per group the rows of its commonest target."""
    histogram = node.histograms[-1]
    starts = np.searchsorted(histogram.cell, np.arange(len(node)))
    return np.maximum.reduceat(histogram.rows, starts)


def height(columns: Sequence[LevelColumn], levels: Sequence[int]) -> int:
    """The sum of the levels of a node, as the hierarchies count them."""
    return sum(column.levels[level].number for column, level in zip(columns, levels, strict=True))


QUALITIES: Mapping[str, type[Quality]] = {
    "loss": LeafLoss,
    "discernibility": Discernibility,
    "average_class": AverageClass,
    "entropy": Entropy,
    "precision": Precision,
    "classification": Classification,
    "height": Height,
}
