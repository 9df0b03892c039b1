"""Splits along a hierarchy: one child per label that occurs in the part and NULL as a value of its own.

Labels whose rows do not meet the requirements stay behind: together they are one more child, the rest, which
keeps the part's label.  So a rare label costs its own rows their label and nobody else's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.methods.mondrian.level_counts import LevelCounts
from ppdm_sql.methods.mondrian.split_quality import Response
from ppdm_sql.methods.shared.columns import Axis
from ppdm_sql.methods.shared.limits import Demands
from ppdm_sql.source.lines import Flags, Ints

WHOLE_RANGE = -1  # the level of a part whose values have one label only: NULL is what it is split by


@dataclass(frozen=True)
class BranchGroups:
    """The cells of a tally by the label they have on the level at which their part branches."""

    level: Ints  # per segment
    group: Ints  # per cell, rising
    opening: Ints  # per group its first cell
    fine: Flags  # per group, whether it may be a part

    @property
    def left(self) -> Flags:
        """Per cell, whether it stays behind."""
        return np.asarray(~self.fine[self.group])


@dataclass(frozen=True)
class BranchSplits:
    """Per segment of a tally what its split along the hierarchy is worth."""

    groups: BranchGroups
    stays: Flags  # what stays behind, if anything, may be a part
    short: Flags  # something stays behind that may not be a part, while other labels may
    hopeless: Flags  # no label has k people, here and in every part of this part
    cost: Ints
    gain: NDArray[np.float64]


def branch_groups(tally: LevelCounts, axis: Axis, demands: Demands) -> BranchGroups:
    """Every segment by the labels of the highest level on which it has more than one."""
    level = splitting_levels(tally, axis)
    group, opening = label_groups(tally, axis, level)
    return BranchGroups(level, group, opening, demands.groups(tally, group, len(opening)))


def splitting_levels(tally: LevelCounts, axis: Axis) -> Ints:
    """Per segment the highest level on which its values have different labels."""
    last = tally.stops - 1
    at_null = tally.code[last] >= axis.ordinary
    last = np.where(at_null, np.maximum(last - 1, tally.starts), last)
    return axis.splitting_level(tally.code[tally.starts], tally.code[last])


def label_groups(tally: LevelCounts, axis: Axis, level: Ints) -> tuple[Ints, Ints]:
    """Cells grouped by the label they have on their segment's level; and the first cell of each group."""
    plain = tally.code < axis.ordinary
    label = np.full(len(tally.code), -1, dtype=np.int64)
    label[plain] = axis.branches[level[tally.segment[plain]], tally.code[plain]]
    new = np.ones(len(label), dtype=bool)
    new[1:] = (label[1:] != label[:-1]) | (tally.segment[1:] != tally.segment[:-1])
    return np.cumsum(new) - 1, np.flatnonzero(new)


def label_ranges(axis: Axis, level: Ints, code: Ints) -> tuple[Ints, Ints]:
    """The codes first .. stop - 1 that share a code's label on a level; NULL is alone."""
    plain = code < axis.ordinary
    first, stop = code.copy(), code + 1
    first[plain], stop[plain] = axis.branch_ranges(level[plain], code[plain])
    return first, stop


def weigh_branches(tally: LevelCounts, axis: Axis, demands: Demands, response: Response) -> BranchSplits:
    """What the split of every segment along the hierarchy is worth, the labels that stay behind taken as one."""
    groups = branch_groups(tally, axis, demands)
    left = groups.left
    number = len(tally.starts)
    some_left, some_go = np.zeros(number, dtype=bool), np.zeros(number, dtype=bool)
    some_left[tally.segment[left]] = True
    some_go[tally.segment[~left]] = True
    arranged, order = tally, np.arange(len(tally.code))
    if left.any():
        order = np.lexsort([order, left, tally.segment])
        arranged = tally.reordered(order)
    kept = groups.group.copy()
    kept[left] = len(groups.opening) + tally.segment[left]
    kept = kept[order]
    joined = np.cumsum(np.append(True, kept[1:] != kept[:-1])) - 1
    cost, gain = response.of_groups(arranged, joined, int(joined[-1]) + 1)
    rest = np.where(left[order], arranged.segment, -1)
    enough = demands.groups(arranged, rest, number)
    stays = some_go & (~some_left | enough)
    persons = np.add.reduceat(tally.persons, groups.opening)
    most = np.maximum.reduceat(persons, groups.group[tally.starts])
    return BranchSplits(groups, stays, some_go & ~stays, most < demands.k, cost, gain)
