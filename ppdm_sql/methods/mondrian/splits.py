"""The best allowable split of every part of a level, found on arrays of counts.

    cut        codes below / from one code on; equal values are never separated
    branches   one child per label of the hierarchy's next level that occurs in the part, and one of NULL; labels
               that do not meet the requirements stay behind together (branches.py)

A split is allowable when every part it makes meets every requirement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.methods.mondrian.branches import weigh_branches
from ppdm_sql.methods.mondrian.children import Children, branch_children
from ppdm_sql.methods.mondrian.level_counts import LevelCounts
from ppdm_sql.methods.mondrian.split_quality import Evenness, Response
from ppdm_sql.methods.shared.columns import Axis
from ppdm_sql.methods.shared.limits import Demands
from ppdm_sql.source.lines import Flags, Ints

_NONE = np.iinfo(np.int64).max
Costs = Callable[[LevelCounts, Ints], Ints]


@dataclass(frozen=True)
class SplitChoice:
    """Per segment of a tally its best split: by a cut after a cell, or along its hierarchy."""

    tally: LevelCounts
    attribute: Ints
    cut: Ints  # -1: no cut
    branched: Flags  # along the hierarchy
    level: Ints  # whose labels the children have
    left: Flags  # per cell: its label stays behind
    short: Flags  # a split along the hierarchy leaves too little behind
    cost: Ints
    gain: NDArray[np.float64]
    hopeless: Flags  # no split leaves k on both sides, here and in every part of this part

    @property
    def ok(self) -> Flags:
        return np.asarray((self.cut >= 0) | self.branched)

    def children(self, axes: Sequence[Axis], wanted: Flags) -> Children:
        """The parts of the segments that are wanted; each must have a split."""
        several = []
        for number, axis in enumerate(axes):
            here = wanted & (self.attribute == number)
            if (here & (self.cut >= 0)).any():
                several.append(self._halves(axis, number, np.flatnonzero(here & (self.cut >= 0))))
            if (here & self.branched).any():
                several.append(self._branches(axis, number, here & self.branched))
        return Children.joined(several)

    def _halves(self, axis: Axis, number: int, segments: Ints) -> Children:
        tally, cut = self.tally, self.cut[segments]
        boundary = axis.cuts(tally.code[cut], tally.code[cut + 1])
        rows, persons = tally.up_to(tally.rows)[cut], tally.up_to(tally.persons)[cut]
        pairs = {
            "first": (np.zeros_like(cut), boundary),
            "stop": (boundary, np.full_like(cut, axis.size)),
            "rows": (rows, tally.totals(tally.rows)[segments] - rows),
            "persons": (persons, tally.totals(tally.persons)[segments] - persons),
        }
        both = {name: np.column_stack(pair).ravel() for name, pair in pairs.items()}
        rest = np.zeros(2 * len(cut), dtype=bool)
        return Children(
            np.repeat(tally.parts[segments], 2), np.full(2 * len(cut), number), **both, rest=rest, lost=rest
        )

    def _branches(self, axis: Axis, number: int, wanted: Flags) -> Children:
        left = self.left[wanted[self.tally.segment]]
        return branch_children(self.tally.only(wanted), axis, number, self.level[wanted], left)


def best_splits(
    tally: LevelCounts, attribute: Ints, axes: Sequence[Axis], demands: Demands, response: Response
) -> SplitChoice:
    """Per segment the best allowable split of its attribute, if it has one."""
    number = len(tally.starts)
    found = SplitChoice(
        tally,
        attribute,
        cut=np.full(number, -1, dtype=np.int64),
        branched=np.zeros(number, dtype=bool),
        level=np.full(number, -1, dtype=np.int64),
        left=np.zeros(len(tally.code), dtype=bool),
        short=np.zeros(number, dtype=bool),
        cost=np.full(number, _NONE, dtype=np.int64),
        gain=np.zeros(number),
        hopeless=np.zeros(number, dtype=bool),
    )
    has_tree = np.array([axis.hierarchy is not None for axis in axes])[attribute]
    several = tally.stops - tally.starts > 1
    for axis_number in np.unique(attribute[has_tree & several]):
        wanted = has_tree & several & (attribute == axis_number)
        _split_by_branches(found, wanted, axes[axis_number], demands, response)
    apart = _cuts_missing_off(tally, attribute, axes)
    _split_by_cuts(found, np.repeat(~has_tree, tally.stops - tally.starts), ~has_tree, apart, demands, response)
    return found


def _cuts_missing_off(tally: LevelCounts, attribute: Ints, axes: Sequence[Axis]) -> Flags:
    """Per cell, whether a cut after it has all values on one side and NULL or NaN alone on the other."""
    ordinary = np.array([axis.ordinary for axis in axes], dtype=np.int64)[attribute]
    value = tally.code < ordinary[tally.segment]
    apart = np.zeros(len(value), dtype=bool)
    apart[:-1] = value[:-1] & ~value[1:] & (tally.segment[:-1] == tally.segment[1:])
    return apart


def _split_by_branches(found: SplitChoice, wanted: Flags, axis: Axis, demands: Demands, response: Response) -> None:
    weighed = weigh_branches(found.tally.only(wanted), axis, demands, response)
    place = np.flatnonzero(wanted)
    worth = weighed.stays | weighed.short
    found.cost[place[worth]], found.gain[place[worth]] = weighed.cost[worth], weighed.gain[worth]
    found.branched[place], found.level[place] = weighed.stays, weighed.groups.level
    found.left[wanted[found.tally.segment]] = weighed.groups.left
    found.short[place], found.hopeless[place] = weighed.short, weighed.hopeless


# -- by cuts ---------------------------------------------------------------------------------------------


def _split_by_cuts(
    found: SplitChoice, candidates: Flags, by_cuts_only: Flags, apart: Flags, demands: Demands, response: Response
) -> None:
    """The response's best among the allowable cuts it prefers; where there is none, the most even one.

    Where only evenness counts, the cut that parts values from NULL goes first: mixed, they have no label but *.
    """
    candidates = candidates & demands.cuts(found.tally)
    segments = np.zeros(len(found.tally.starts), dtype=bool)
    segments[found.tally.segment[candidates]] = True
    found.hopeless[:] |= ~segments & by_cuts_only
    if not segments.any():
        return
    kept = segments[found.tally.segment]
    tally, candidates = found.tally.only(segments), candidates[kept]
    cell = np.flatnonzero(kept)  # numbers before the narrowing
    preferred = response.preferred(tally) if response.chooses_attribute else apart[kept]
    cut = _first_allowed(tally, candidates & preferred, lambda t, after: response.of_cuts(t, after)[0], demands)
    missing = cut < 0
    if missing.any() and not preferred.all():
        rest = candidates & ~preferred & missing[tally.segment]
        even = _first_allowed(tally, rest, lambda t, after: Evenness().of_cuts(t, after)[0], demands)
        cut = np.where(missing, even, cut)
    fine = np.flatnonzero(cut >= 0)
    if not len(fine):
        return
    cost, gain = response.of_cuts(tally, cut[fine])
    place = np.flatnonzero(segments)[fine]
    found.cut[place], found.cost[place], found.gain[place] = cell[cut[fine]], cost, gain


def _first_allowed(tally: LevelCounts, candidates: Flags, costs: Costs, demands: Demands) -> Ints:
    """Per segment the cheapest candidate whose two sides meet what is required of the sensitive columns.

    The cheapest one passes nearly always, so it is tried alone; only where it fails are all others of its
    segment looked at.
    """
    after = np.flatnonzero(candidates)
    best = np.full(len(tally.starts), -1, dtype=np.int64)
    if not len(after):
        return best
    cost = costs(tally, after)
    best = _cheapest(tally, after, cost)
    if not demands.secrets:
        return best
    tried = np.flatnonzero(best >= 0)
    failed = np.zeros(len(best), dtype=bool)
    failed[tried] = ~demands.secret_cuts(tally, best[tried])
    if failed.any():
        best[failed] = -1
        others = failed[tally.segment[after]]
        after, cost = after[others], cost[others]
        fine = demands.secret_cuts(tally, after)
        best = np.maximum(best, _cheapest(tally, after[fine], cost[fine]))
    return best


def _cheapest(tally: LevelCounts, after: Ints, cost: Ints) -> Ints:
    """Per segment the candidate of least cost, of equal ones the first; -1 where there is none."""
    best = np.full(len(tally.starts), -1, dtype=np.int64)
    if not len(after):
        return best
    segment = tally.segment[after]
    opening = np.flatnonzero(np.append(True, segment[1:] != segment[:-1]))
    least = np.repeat(np.minimum.reduceat(cost, opening), np.diff(np.append(opening, len(after))))
    hits = np.flatnonzero(cost == least)
    _, first = np.unique(segment[hits], return_index=True)
    best[segment[hits[first]]] = after[hits[first]]
    return best
