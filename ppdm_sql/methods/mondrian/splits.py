"""The best allowable split of every part of a level, found on arrays of counts.

    cut        codes below / from one code on; equal values are never separated
    branches   one child per label of the hierarchy's next level that occurs in the part
    NULL       in a column with a hierarchy NULL is cut off before the labels are used

A split is allowable when every part it makes meets every requirement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.methods.mondrian.level_counts import LevelCounts
from ppdm_sql.methods.mondrian.split_quality import Evenness, Response
from ppdm_sql.methods.shared.columns import Axis
from ppdm_sql.methods.shared.limits import Demands
from ppdm_sql.source.lines import Flags, Ints

_NONE = np.iinfo(np.int64).max
Costs = Callable[[LevelCounts, Ints], Ints]


@dataclass(frozen=True)
class Children:
    """Parts that splits make, sorted by part and code: the codes first .. stop - 1 of the attribute."""

    part: Ints
    attribute: Ints
    first: Ints
    stop: Ints
    rows: Ints
    persons: Ints

    def only(self, wanted: Flags) -> Children:
        return Children(*(getattr(self, name)[wanted] for name in Children.__dataclass_fields__))

    @staticmethod
    def joined(several: Sequence[Children]) -> Children:
        parts, attributes, firsts, stops, rows, persons = (
            np.concatenate([getattr(one, name) for one in several]) if several else np.zeros(0, np.int64)
            for name in Children.__dataclass_fields__
        )
        order = np.lexsort([firsts, parts])
        return Children(*(values[order] for values in (parts, attributes, firsts, stops, rows, persons)))


@dataclass(frozen=True)
class SplitChoice:
    """Per segment of a tally its best split: by a cut after a cell, or along a hierarchy level."""

    tally: LevelCounts
    attribute: Ints
    cut: Ints  # -1: no cut
    level: Ints  # -1: no level
    cost: Ints
    gain: NDArray[np.float64]
    hopeless: Flags  # no cut leaves k on both sides, here and in every part of this part

    @property
    def ok(self) -> Flags:
        return np.asarray((self.cut >= 0) | (self.level >= 0))

    def children(self, axes: Sequence[Axis], wanted: Flags) -> Children:
        """The parts of the segments that are wanted; each must have a split."""
        several = []
        for number, axis in enumerate(axes):
            here = wanted & (self.attribute == number)
            if (here & (self.cut >= 0)).any():
                several.append(self._halves(axis, number, np.flatnonzero(here & (self.cut >= 0))))
            if (here & (self.level >= 0)).any():
                several.append(self._branches(axis, number, here & (self.level >= 0)))
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
        return Children(np.repeat(tally.parts[segments], 2), np.full(2 * len(cut), number), **both)

    def _branches(self, axis: Axis, number: int, wanted: Flags) -> Children:
        tally, level = self.tally.only(wanted), self.level[wanted]
        _, opening = _branch_groups(tally, axis, level)
        at, code = level[tally.segment[opening]], tally.code[opening]
        first, stop = axis.branch_ranges(at, code)
        return Children(
            part=tally.part[opening],
            attribute=np.full(len(opening), number),
            first=first,
            stop=stop,
            rows=np.add.reduceat(tally.rows, opening),
            persons=np.add.reduceat(tally.persons, opening),
        )


def best_splits(
    tally: LevelCounts, attribute: Ints, axes: Sequence[Axis], demands: Demands, response: Response
) -> SplitChoice:
    """Per segment the best allowable split of its attribute, if it has one."""
    number = len(tally.starts)
    found = SplitChoice(
        tally,
        attribute,
        cut=np.full(number, -1, dtype=np.int64),
        level=np.full(number, -1, dtype=np.int64),
        cost=np.full(number, _NONE, dtype=np.int64),
        gain=np.zeros(number),
        hopeless=np.zeros(number, dtype=bool),
    )
    whole, halves = _kinds(tally, attribute, axes)
    for axis_number in np.unique(attribute[whole]):
        _split_by_branches(found, whole & (attribute == axis_number), axes[axis_number], demands, response)
    by_cuts_only = np.array([axis.hierarchy is None for axis in axes])[attribute]
    _split_by_cuts(found, halves, by_cuts_only, demands, response)
    return found


def _kinds(tally: LevelCounts, attribute: Ints, axes: Sequence[Axis]) -> tuple[Flags, Flags]:
    """Per segment whether it is split along its hierarchy; per cell whether a cut after it is a candidate."""
    has_tree = np.array([axis.hierarchy is not None for axis in axes])[attribute]
    null = np.array([axis.size if axis.null_code is None else axis.null_code for axis in axes])[attribute]
    last = tally.code[tally.stops - 1]
    several = tally.stops - tally.starts > 1
    halves = np.repeat(~has_tree, tally.stops - tally.starts)
    cuts_null = has_tree & several & (last == null)
    halves[tally.stops[cuts_null] - 2] = True
    return has_tree & several & (last < null), halves


# -- along a hierarchy -----------------------------------------------------------------------------------


def _split_by_branches(found: SplitChoice, wanted: Flags, axis: Axis, demands: Demands, response: Response) -> None:
    tally = found.tally.only(wanted)
    level = axis.splitting_level(tally.code[tally.starts], tally.code[tally.stops - 1])
    group, opening = _branch_groups(tally, axis, level)
    fine = np.logical_and.reduceat(demands.groups(tally, group, len(opening)), group[tally.starts])
    if not fine.any():
        return
    cost, gain = response.of_groups(tally, group, len(opening))
    place = np.flatnonzero(wanted)[fine]
    found.level[place], found.cost[place], found.gain[place] = level[fine], cost[fine], gain[fine]


def _branch_groups(tally: LevelCounts, axis: Axis, level: Ints) -> tuple[Ints, Ints]:
    """Cells grouped by the label they have on their segment's level; and the first cell of each group."""
    label = axis.branches[level[tally.segment], tally.code]
    new = np.ones(len(label), dtype=bool)
    new[1:] = (label[1:] != label[:-1]) | (tally.segment[1:] != tally.segment[:-1])
    return np.cumsum(new) - 1, np.flatnonzero(new)


# -- by cuts ---------------------------------------------------------------------------------------------


def _split_by_cuts(
    found: SplitChoice, candidates: Flags, by_cuts_only: Flags, demands: Demands, response: Response
) -> None:
    """The response's best among the allowable cuts it prefers; where there is none, the most even one."""
    candidates = candidates & demands.cuts(found.tally)
    segments = np.zeros(len(found.tally.starts), dtype=bool)
    segments[found.tally.segment[candidates]] = True
    found.hopeless[:] = ~segments & by_cuts_only
    if not segments.any():
        return
    kept = segments[found.tally.segment]
    tally, candidates = found.tally.only(segments), candidates[kept]
    cell = np.flatnonzero(kept)  # numbers before the narrowing
    preferred = response.preferred(tally)
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
