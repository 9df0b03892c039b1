"""Values at the end of a number line that are too few to be a part: left out where that loses less than keeping them.

One person of 100 among people of 50 to 69 would cost those of 69 their exact age: their part prints ">= 69".  Within
SUPPRESS AT MOST such rows are left out, like the labels of a hierarchy that stay behind (left_behind.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ppdm_sql.methods.mondrian.children import Children
from ppdm_sql.methods.mondrian.left_behind import Budget
from ppdm_sql.methods.mondrian.level_counts import LevelCounts
from ppdm_sql.methods.shared.columns import Axis
from ppdm_sql.methods.shared.limits import Demands
from ppdm_sql.source.lines import Flags, Ints

_MOST = 1 << 62  # larger products are made of Python's whole numbers


@dataclass(frozen=True)
class Trimmer:
    """Which ends of parts are left out."""

    axes: Sequence[Axis]
    demands: Demands
    budget: Budget

    def trim(self, tally: LevelCounts, number: int, first: Ints, stop: Ints) -> Children:
        """The two sides of every segment that loses an end; first, stop: per segment, the codes of its region."""
        ends = _Ends(tally, self.axes[number], first, stop)
        after = np.flatnonzero(ends.inside)
        below, above = self.demands.sides(tally, after)
        cut, up = np.concatenate([after, after]), np.repeat([True, False], len(after))  # up: the upper end is lost
        lost = ends.rows_lost(cut, up)
        able = np.concatenate([below, above]) & (lost <= self.budget.rows)
        cut, up, lost = cut[able], up[able], lost[able]
        gain = self._gain(ends, number, cut, up, lost)
        segment = tally.segment[cut]
        order = np.lexsort([~up, cut, -gain, segment])
        best = order[np.unique(segment[order], return_index=True)[1]]
        taken = [one for one in best.tolist() if gain[one] > 0 and self._spend(int(lost[one]))]
        return ends.children(number, cut[taken], up[taken])

    def _spend(self, rows: int) -> bool:
        fits = rows <= self.budget.rows
        self.budget.rows -= rows if fits else 0
        return fits

    def _gain(self, ends: _Ends, number: int, cut: Ints, up: Ints, lost: Ints) -> Ints:
        """What the narrower label saves, less what the lost rows cost; in whole numbers."""
        weights = [axis.weight for axis in self.axes]
        unit = math.lcm(*(weight.denominator for weight in weights))
        own, every = int(weights[number] * unit), int(sum(weights) * unit)
        values = self.axes[number].values
        rows = int(ends.tally.rows.sum())
        kind = object if rows * max(values, 2) * every >= _MOST else np.int64
        saved = (ends.total(cut) - lost).astype(kind) * ends.narrowing(cut, up) * own
        return np.asarray(saved - lost.astype(kind) * every * max(values - 1, 1))


@dataclass(frozen=True)
class _Ends:
    """The segments of a tally, and what their labels cover before and after an end is left out."""

    tally: LevelCounts
    axis: Axis
    first: Ints
    stop: Ints

    @property
    def inside(self) -> Flags:
        """Per cell, whether there is one after it in its segment."""
        inside = np.ones(len(self.tally.part), dtype=bool)
        inside[self.tally.stops - 1] = False
        return inside

    def total(self, cut: Ints) -> Ints:
        return np.asarray(self.tally.totals(self.tally.rows)[self.tally.segment[cut]])

    def rows_lost(self, cut: Ints, up: Ints) -> Ints:
        below = self.tally.up_to(self.tally.rows)[cut]
        return np.asarray(np.where(up, self.total(cut) - below, below))

    def narrowing(self, cut: Ints, up: Ints) -> Ints:
        """How many values fewer the label covers without the end."""
        segment, code = self.tally.segment[cut], self.tally.code
        low, high = code[self.tally.starts[segment]], code[self.tally.stops[segment] - 1]
        border = self.axis.cuts(code[cut], code[cut + 1])
        first, stop = self.first[segment], self.stop[segment]
        kept = np.where(
            up,
            self._covered(low, code[cut], first, np.minimum(stop, border)),
            self._covered(code[cut + 1], high, np.maximum(first, border), stop),
        )
        return np.asarray(self._covered(low, high, first, stop) - kept)

    def _covered(self, low: Ints, high: Ints, first: Ints, stop: Ints) -> Ints:
        """Values that the label of a part covers whose codes are low .. high, in the region first .. stop - 1."""
        region = np.minimum(stop, self.axis.ordinary) - first
        region = np.where(high >= self.axis.ordinary, self.axis.values, region)  # mixed with NULL or NaN: *
        return np.where(low == high, 1, region)

    def children(self, number: int, cut: Ints, up: Ints) -> Children:
        """Both sides of the cuts, one of them lost."""
        tally, code = self.tally, self.tally.code
        border = self.axis.cuts(code[cut], code[cut + 1])
        rows, persons = tally.up_to(tally.rows)[cut], tally.up_to(tally.persons)[cut]
        whole = [tally.totals(amount)[tally.segment[cut]] for amount in (tally.rows, tally.persons)]
        pairs = {
            "first": (np.zeros_like(border), border),
            "stop": (border, np.full_like(border, self.axis.size)),
            "rows": (rows, whole[0] - rows),
            "persons": (persons, whole[1] - persons),
            "lost": (~up, up),
        }
        both = {name: np.column_stack(pair).ravel() for name, pair in pairs.items()}
        part = np.repeat(tally.part[cut], 2)
        return Children(part, np.full(len(part), number), rest=np.zeros(len(part), dtype=bool), **both)
