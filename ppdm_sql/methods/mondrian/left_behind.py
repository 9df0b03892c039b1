"""Labels that stay behind and are too few to be a part: what becomes of their rows.

    pulled up   just as many rows of the largest label as are missing go with them (compensation, as kACTUS does it)
    merged      the smallest labels stay behind too, where that costs fewer rows their label
    left out    within SUPPRESS AT MOST, where losing the rows loses less than either

Which rows are pulled up is decided by a hash of their codes and the policy's SEED: one row of each combination of
codes in turn.  So it depends on no order of the table, and being pulled up says nothing about a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.methods.mondrian.branches import BranchGroups, branch_groups, label_ranges
from ppdm_sql.methods.mondrian.children import Children, branch_children
from ppdm_sql.methods.mondrian.level_counts import LevelCounts
from ppdm_sql.methods.mondrian.pieces import Pieces, Pulls
from ppdm_sql.methods.shared.columns import Axis
from ppdm_sql.methods.shared.limits import Demands
from ppdm_sql.source.lines import Ints

Hashes = NDArray[np.uint64]


@dataclass
class Budget:
    """How many rows may still be left out."""

    rows: int


@dataclass(frozen=True)
class Mending:
    """What is done about the split of a segment that leaves too little behind."""

    segment: int
    merged: Ints  # groups that stay behind too
    lost: bool = False  # what stays behind is left out
    pull: Pulls | None = None
    donor: int = -1  # the group that is pulled from


Fetch = Callable[[Ints, int, Ints, Ints], Pieces]  # parts, attribute, first codes, last codes -> what is there


@dataclass(frozen=True)
class Mender:
    """How splits are mended that leave too little behind."""

    axes: Sequence[Axis]
    demands: Demands
    fetch: Fetch
    seed: int
    budget: Budget

    def mend(self, tally: LevelCounts, number: int) -> tuple[Children, list[Pulls]]:
        """The parts of every segment of a tally of one attribute that can be split after all; and what is pulled up."""
        labels = _Labels(tally, branch_groups(tally, self.axes[number], self.demands), self.axes[number], self.demands)
        short = labels.short
        spare = self._spare_rows(labels, short, number)
        found = (self._mend_one(labels, segment, spare.get(segment)) for segment in short)
        mended = [one for one in found if one is not None]
        return labels.children(number, mended), [one.pull for one in mended if one.pull is not None]

    def _spare_rows(self, labels: _Labels, short: Sequence[int], number: int) -> dict[int, Pieces]:
        """Per segment whose largest label can spare as many as are missing: its rows, in the order of a keyed hash."""
        able = [segment for segment in short if labels.can_spare(segment)]
        if not able:
            return {}
        code = labels.tally.code[labels.groups.opening[[labels.largest(segment) for segment in able]]]
        first, stop = label_ranges(labels.axis, labels.groups.level[able], code)
        parts = labels.tally.parts[able]
        found = self.fetch(parts, number, first, stop - 1)
        order = np.lexsort([found.cell, keyed_hash(self.seed, found.codes), found.part])
        found = found.only(order)
        starts, stops = np.searchsorted(found.part, parts), np.searchsorted(found.part, parts, side="right")
        ends = zip(able, starts.tolist(), stops.tolist(), strict=True)
        return {segment: found.only(slice(start, stop)) for segment, start, stop in ends}

    def _mend_one(self, labels: _Labels, segment: int, spare: Pieces | None) -> Mending | None:
        pull = labels.pull_up(segment, spare) if spare is not None else None
        merged = labels.merge(segment)
        nothing = np.zeros(0, dtype=np.int64)
        found: Mending | None = None
        if pull is not None and (merged is None or int(pull.rows.sum()) <= int(labels.rows[merged].sum())):
            largest = labels.largest(segment)
            found = Mending(segment, nothing, pull=pull, donor=largest)
            saved = int(pull.rows.sum()) * labels.narrowing(segment, largest)
        else:
            found = Mending(segment, merged) if merged is not None else None
            widened = merged.tolist() if merged is not None else labels.fine_groups(segment)
            saved = sum(int(labels.rows[group]) * labels.narrowing(segment, group) for group in widened)
        lost = int(labels.rows[labels.left_groups(segment)].sum())
        price = lost * sum(axis.weight for axis in self.axes) * max(labels.axis.values - 1, 1)
        if lost <= self.budget.rows and price < saved * labels.axis.weight:
            self.budget.rows -= lost
            return Mending(segment, nothing, lost=True)
        return found


@dataclass(frozen=True)
class _Labels:
    """The labels of every segment of a tally, looked at one segment at a time."""

    tally: LevelCounts
    groups: BranchGroups
    axis: Axis
    demands: Demands

    @cached_property
    def rows(self) -> Ints:
        return np.add.reduceat(self.tally.rows, self.groups.opening)

    @cached_property
    def persons(self) -> Ints:
        return np.add.reduceat(self.tally.persons, self.groups.opening)

    @cached_property
    def _bounds(self) -> list[int]:
        return [*self.groups.group[self.tally.starts].tolist(), len(self.groups.opening)]

    def _groups(self, segment: int) -> Ints:
        return np.arange(self._bounds[segment], self._bounds[segment + 1])

    def left_groups(self, segment: int) -> Ints:
        groups = self._groups(segment)
        return groups[~self.groups.fine[groups]]

    def fine_groups(self, segment: int) -> list[int]:
        groups = self._groups(segment)
        found: list[int] = groups[self.groups.fine[groups]].tolist()
        return found

    def largest(self, segment: int) -> int:
        """The label with the most people that may be a part, of equal ones the first."""
        return max(self.fine_groups(segment), key=lambda group: (int(self.persons[group]), -group))

    @cached_property
    def short(self) -> list[int]:
        """Segments where something stays behind that may not be a part, while other labels may."""
        fine = self.groups.fine
        opening = self.groups.group[self.tally.starts]
        some, every = np.logical_or.reduceat(fine, opening), np.logical_and.reduceat(fine, opening)
        found: list[int] = np.flatnonzero(some & ~every).tolist()
        return found

    def missing(self, segment: int) -> int:
        """How many people what stays behind lacks."""
        return max(self.demands.k - int(self.persons[self.left_groups(segment)].sum()), 0)

    def can_spare(self, segment: int) -> bool:
        return bool(self.persons[self.largest(segment)] - max(self.missing(segment), 1) >= self.demands.k)

    def narrowing(self, segment: int, group: int) -> int:
        """How many values fewer a label covers than what the part prints."""
        tally, axis = self.tally, self.axis
        low, high = int(tally.code[tally.starts[segment]]), int(tally.code[tally.stops[segment] - 1])
        covered = axis.values
        if high < axis.ordinary and axis.hierarchy is not None:
            node = axis.hierarchy.covering(low, high + 1)
            covered = node.stop - node.start
        code = tally.code[self.groups.opening[[group]]]
        first, stop = label_ranges(axis, self.groups.level[[segment]], code)
        return covered - int(stop[0] - first[0])

    def children(self, number: int, mended: Sequence[Mending]) -> Children:
        """The parts of the segments that were mended."""
        fine, wanted = self.groups.fine.copy(), np.zeros(len(self.tally.starts), dtype=bool)
        for one in mended:
            fine[one.merged] = False
            wanted[one.segment] = True
        if not mended:
            return Children.joined([])
        left = ~fine[self.groups.group[wanted[self.tally.segment]]]
        found = branch_children(self.tally.only(wanted), self.axis, number, self.groups.level[wanted], left)
        for one in mended:
            part = self.tally.parts[one.segment]
            start, rest = np.searchsorted(found.part, part), np.searchsorted(found.part, part, side="right") - 1
            found.lost[rest] = one.lost
            if one.pull is not None:
                code = self.tally.code[self.groups.opening[one.donor]]
                donor = start + np.searchsorted(found.stop[start:rest], code, side="right")
                for amounts, taken in ((found.rows, one.pull.rows), (found.persons, one.pull.persons)):
                    amounts[donor] -= taken.sum()
                    amounts[rest] += taken.sum()
        return found

    # -- what can be done --------------------------------------------------------------------------

    def pull_up(self, segment: int, spare: Pieces) -> Pulls | None:
        """As many rows of the largest label as are missing; where that does not do, twice as many, and so on."""
        largest = self.largest(segment)
        behind = self._histograms(self.left_groups(segment))
        giving = self._histograms(np.array([largest]))
        lacking = self.missing(segment)
        wanted = max(lacking, 1)
        while wanted < int(spare.rows.sum()):
            rows = rows_in_turn(spare.rows, wanted)
            persons = np.minimum(rows, spare.persons)
            if int(self.persons[largest]) - int(persons.sum()) < self.demands.k:
                return None
            if int(persons.sum()) >= lacking:
                taken = [
                    np.bincount(code, weights=rows, minlength=histogram.width).astype(np.int64)
                    for code, histogram in zip(spare.secrets, self.tally.secrets, strict=True)
                ]
                if self._hold([one + other for one, other in zip(behind, taken, strict=True)]) and self._hold(
                    [one - other for one, other in zip(giving, taken, strict=True)]
                ):
                    used = np.flatnonzero(rows)
                    chosen = spare.only(used)
                    return Pulls(chosen.part, chosen.entry, rows[used], persons[used])
            wanted *= 2
        return None

    def merge(self, segment: int) -> Ints | None:
        """The smallest labels, as few as are needed so that together with what stays behind they may be a part."""
        fine = sorted(self.fine_groups(segment), key=lambda group: (int(self.persons[group]), group))
        left = self.left_groups(segment)
        for number in range(1, len(fine)):
            merged = np.array(sorted(fine[:number]))
            together = np.concatenate([left, merged])
            if int(self.persons[together].sum()) >= self.demands.k and self._hold(self._histograms(together)):
                return merged
        return None

    def _histograms(self, groups: Ints) -> list[Ints]:
        """Of some labels of a segment together, per sensitive column."""
        found = []
        for histogram in self.tally.secrets:
            counts = np.zeros(histogram.width, dtype=np.int64)
            for here in self._entries(histogram.cell, groups):
                np.add.at(counts, histogram.value[here], histogram.rows[here])
            found.append(counts)
        return found

    def _entries(self, cells: Ints, groups: Ints) -> Iterator[slice]:
        """Where the entries of labels stand in a histogram."""
        first = self.groups.opening[groups]
        bounds = np.append(self.groups.opening, len(self.tally.code))
        last = bounds[groups + 1]
        yield from map(slice, np.searchsorted(cells, first).tolist(), np.searchsorted(cells, last).tolist())

    def _hold(self, counts: Sequence[Ints]) -> bool:
        return all(
            bool(secret.holds(one.reshape(1, -1))[0]) for secret, one in zip(self.demands.secrets, counts, strict=True)
        )


def rows_in_turn(rows: Ints, wanted: int) -> Ints:
    """How many rows of each piece: one of each in turn, then the next, until there are as many as wanted.

    >>> rows_in_turn(np.array([1, 5, 3]), 6).tolist(), rows_in_turn(np.array([1, 5, 3]), 2).tolist()
    ([1, 3, 2], [1, 1, 0])
    """
    low, high = 0, int(rows.max())  # full rounds: as many as fit
    while low < high:
        middle = (low + high + 1) // 2
        if int(np.minimum(rows, middle).sum()) <= wanted:
            low = middle
        else:
            high = middle - 1
    taken = np.minimum(rows, low)
    further = np.flatnonzero(rows > low)[: wanted - int(taken.sum())]
    taken[further] += 1
    return taken


def keyed_hash(seed: int, codes: Sequence[Ints]) -> Hashes:
    """A number of 64 bits for every combination of codes, different for every seed (splitmix64, code by code)."""
    value = np.full(len(codes[0]), seed, dtype=np.uint64)
    for code in codes:
        value = _mixed(value ^ code.astype(np.uint64))
    return value


def _mixed(value: Hashes) -> Hashes:
    value = value + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
