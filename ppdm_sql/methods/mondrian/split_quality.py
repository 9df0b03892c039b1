"""How good a split is: by the target's classes, by a numeric target, or without a target by evenness.

A cost is a whole number, so that equal ones are equal on every machine: bits per row, or the share of the
squared error that is left, in units of 2^-30.  Ties then go to the earlier attribute and the smaller code.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.methods.mondrian.level_counts import LevelCounts
from ppdm_sql.source.lines import Flags, Ints

Floats = NDArray[np.float64]
_UNITS = 1 << 30
_FRACTIONS = 1 << 20  # of a bit: finer differences are those of the machine


class Response(Protocol):
    """Costs of candidates, least is best; gains are for growing best-first and add up over a tree."""

    chooses_attribute: bool  # whether costs of different attributes can be compared

    def preferred(self, tally: LevelCounts) -> Flags:
        """Per cell, whether a cut after it is worth looking at first."""

    def of_cuts(self, tally: LevelCounts, after: Ints) -> tuple[Ints, Floats]:
        """Cost and gain of cutting after these cells (rising)."""

    def of_groups(self, tally: LevelCounts, group: Ints, number: int) -> tuple[Ints, Floats]:
        """Cost and gain per segment of splitting it into its groups of cells (group: per cell, rising)."""

    def per_row(self, gain: Floats, tally: LevelCounts) -> Ints:
        """Gains of segments in the unit of costs."""

    def worth_telling(self, gain: Floats, children: Ints, rows: Ints) -> Flags:
        """Per part, whether its split gains more than it costs to tell: log2(rows) bits for each further part."""


class Evenness:
    """Without a target: the most even cut, and the largest part first."""

    chooses_attribute = False

    def preferred(self, tally: LevelCounts) -> Flags:
        return np.ones(len(tally.part), dtype=bool)

    def of_cuts(self, tally: LevelCounts, after: Ints) -> tuple[Ints, Floats]:
        total = tally.totals(tally.rows)[tally.segment[after]]
        return np.abs(2 * tally.up_to(tally.rows)[after] - total), total.astype(np.float64)

    def of_groups(self, tally: LevelCounts, group: Ints, number: int) -> tuple[Ints, Floats]:
        total = tally.totals(tally.rows)
        return np.zeros_like(total), total.astype(np.float64)

    def per_row(self, gain: Floats, tally: LevelCounts) -> Ints:
        return np.zeros(len(gain), dtype=np.int64)

    def worth_telling(self, gain: Floats, children: Ints, rows: Ints) -> Flags:
        return np.ones(len(gain), dtype=bool)


class ClassEntropy:
    """The entropy of the classes that is left, in bits per row (LeFevre et al. 2006, InfoGain Mondrian)."""

    chooses_attribute = True

    def preferred(self, tally: LevelCounts) -> Flags:
        """Cuts where the class changes: between cells that are not both of one and the same class."""
        classes = tally.classes
        assert classes is not None
        kinds = np.bincount(classes.cell, minlength=len(tally.part))
        only = np.zeros(len(tally.part), dtype=np.int64)
        only[classes.cell] = classes.value  # of several the last, which does not matter
        pure = kinds == 1
        same = pure[1:] & pure[:-1] & (only[1:] == only[:-1])
        return np.append(~same, True)

    def of_cuts(self, tally: LevelCounts, after: Ints) -> tuple[Ints, Floats]:
        assert tally.classes is not None
        left, whole = np.zeros(len(after)), np.zeros(len(after))
        for here, lower, upper in tally.sides(tally.classes, after):
            left[here] = _bits(lower) + _bits(upper)
            whole[here] = _bits(lower + upper)
        return _per_row(left, tally.totals(tally.rows)[tally.segment[after]]), whole - left

    def of_groups(self, tally: LevelCounts, group: Ints, number: int) -> tuple[Ints, Floats]:
        assert tally.classes is not None
        bits = np.zeros(number)
        for here, counts in tally.classes.grouped(group, number):
            bits[here] = _bits(counts)
        left = np.add.reduceat(bits, group[tally.starts])  # groups do not cross segments
        whole = np.zeros(len(tally.starts))
        for here, counts in tally.classes.grouped(tally.segment, len(tally.starts)):
            whole[here] = _bits(counts)
        return _per_row(left, tally.totals(tally.rows)), whole - left

    def per_row(self, gain: Floats, tally: LevelCounts) -> Ints:
        return _per_row(gain, tally.totals(tally.rows))

    def worth_telling(self, gain: Floats, children: Ints, rows: Ints) -> Flags:
        price = (children - 1) * np.log2(rows)
        return np.asarray(np.rint(gain * _FRACTIONS) > np.rint(price * _FRACTIONS))


def _bits(counts: Ints) -> Floats:
    """Entropy times size, per histogram."""
    return np.asarray(_times_log(counts.sum(axis=1)) - _times_log(counts).sum(axis=1))


def _times_log(counts: Ints) -> Floats:
    number = counts.astype(np.float64)
    result: Floats = number * np.log2(np.maximum(number, 1))
    return result


def _per_row(bits: Floats, rows: Ints) -> Ints:
    return np.rint(bits / rows * _UNITS).astype(np.int64)


class SquaredError:
    """The squared error of a numeric target that is left, as a share of the part's (LSD Mondrian)."""

    chooses_attribute = True

    def preferred(self, tally: LevelCounts) -> Flags:
        return np.ones(len(tally.part), dtype=bool)

    def of_cuts(self, tally: LevelCounts, after: Ints) -> tuple[Ints, Floats]:
        segment = tally.segment[after]
        known, total, squares = (amount[segment] for amount in _centred(tally, None))
        lower = [tally.up_to(amount)[after] for amount in _centred(tally, tally.segment)]
        left = _error(*lower) + _error(known - lower[0], total - lower[1], squares - lower[2])
        return _share(left, _error(known, total, squares))

    def of_groups(self, tally: LevelCounts, group: Ints, number: int) -> tuple[Ints, Floats]:
        opening = np.searchsorted(group, np.arange(number))
        errors = _error(*(np.add.reduceat(amount, opening) for amount in _centred(tally, tally.segment)))
        left = np.add.reduceat(errors, group[tally.starts])
        return _share(left, _error(*_centred(tally, None)))

    def per_row(self, gain: Floats, tally: LevelCounts) -> Ints:
        whole = _error(*_centred(tally, None))
        return _share(gain, whole)[0]

    def worth_telling(self, gain: Floats, children: Ints, rows: Ints) -> Flags:
        return np.ones(len(gain), dtype=bool)


def _centred(tally: LevelCounts, segment: Ints | None) -> tuple[Ints, Ints, Ints]:
    """Counts, sums and squares with the whole number nearest to the part's mean taken off every value.

    Exact, and it keeps the later division from losing a small spread around a large mean.
    Per segment, or with `segment` per cell.
    """
    assert tally.numbers is not None
    known, total, squares = tally.numbers if segment is not None else map(tally.totals, tally.numbers)
    all_known, all_total = (tally.totals(amount) for amount in tally.numbers[:2])
    centre = np.rint(all_total / np.maximum(all_known, 1)).astype(np.int64)
    if segment is not None:
        centre = centre[segment]
    return known, total - centre * known, squares - 2 * centre * total + centre * centre * known


def _error(known: Ints, total: Ints, squares: Ints) -> Floats:
    error: Floats = squares - total.astype(np.float64) ** 2 / np.maximum(known, 1)
    return error


def _share(left: Floats, whole: Floats) -> tuple[Ints, Floats]:
    share = np.divide(left, whole, out=np.zeros_like(left), where=whole > 0)
    return np.rint(share * _UNITS).astype(np.int64), whole - left


def grid(values: Sequence[Fraction], rows: int) -> Ints:
    """The values of a numeric target as whole numbers whose squares add up exactly over the whole table.

    Whole numbers of a small range stay as they are, up to a shift; others are put on an even grid
    between the least and the greatest, as fine as the number of rows allows.

    >>> grid([Fraction(17), Fraction(90)], 10**6), grid([Fraction(1, 3), Fraction(1, 2), Fraction(1)], 10**9)
    (array([ 0, 73]), array([    0,  8192, 32767]))
    """
    steps = 2 ** ((60 - max(rows, 1).bit_length()) // 2)
    low, high = min(values), max(values)
    if all(value.denominator == 1 for value in values) and high - low < steps:
        return np.array([int(value - low) for value in values], dtype=np.int64)
    scale = (steps - 1) / (high - low)
    return np.array([round((value - low) * scale) for value in values], dtype=np.int64)
