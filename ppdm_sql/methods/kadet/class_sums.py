"""Class counts by place and code, as arrays: a place is a node or a span, and the entries of a place are in a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ppdm_sql.induction.counts import Tally
from ppdm_sql.induction.criteria import Ints

_DENSE = 1 << 10  # keys that are added up in an array, however few are there


@dataclass(frozen=True)
class Entries:
    """Entries (place, code, class counts), rising by place and code."""

    place: Ints
    code: Ints
    counts: Ints

    def ends(self, places: int) -> Ints:
        """Per place, where its last entry is; every place has one."""
        return np.searchsorted(self.place, np.arange(places), side="right") - 1


@dataclass(frozen=True)
class Sums:
    """Entries, and where those of each place start."""

    entries: Entries
    starts: Ints

    @classmethod
    def of(cls, entries: Entries, places: int) -> Sums:
        return cls(entries, np.searchsorted(entries.place, np.arange(places + 1)))

    @classmethod
    def of_tally(cls, tally: Tally, place_of_slot: Ints, places: int, size: int) -> Sums:
        """A tally added up by the place of each slot; a slot of place -1 is left out."""
        place = place_of_slot[tally.slot]
        kept = np.flatnonzero(place >= 0)
        key, counts = grouped(place[kept] * size + tally.code[kept], tally.counts[kept])
        return cls.of(Entries(key // size, key % size, counts), places)

    def one(self, place: int) -> Entries:
        here = slice(self.starts[place], self.starts[place + 1])
        code = self.entries.code[here]
        return Entries(np.zeros_like(code), code, self.entries.counts[here])

    def several(self, places: Ints) -> Entries:
        """In the order asked for, numbered from 0."""
        taken = self.at(places)
        numbers = np.repeat(np.arange(len(places)), self.starts[places + 1] - self.starts[places])
        return Entries(numbers, self.entries.code[taken], self.entries.counts[taken])

    def at(self, places: Ints) -> Ints:
        """Where the entries of some places are."""
        lengths = self.starts[places + 1] - self.starts[places]
        shift = self.starts[places] - (np.cumsum(lengths) - lengths)
        return np.repeat(shift, lengths) + np.arange(int(lengths.sum()))


def put_together(parts: Sequence[tuple[Entries, int]]) -> Sums:
    """Entries and how many places they have, one after the other."""
    before = np.cumsum([0, *(places for _, places in parts)])
    place = np.concatenate([one.place + start for (one, _), start in zip(parts, before[:-1], strict=True)])
    code = np.concatenate([one.code for one, _ in parts])
    counts = np.concatenate([one.counts for one, _ in parts])
    return Sums.of(Entries(place, code, counts), int(before[-1]))


def by_branch(place: Ints, branch: Ints, highest: int, counts: Ints) -> tuple[Ints, Ints, Ints]:
    """The populated parts of places by branch, which is -1 or more: place, branch, class counts."""
    width = highest + 2
    key, counts = grouped(place * width + branch + 1, counts)
    return key // width, key % width - 1, counts


def grouped(key: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Histograms added up by key, and the keys that there are, rising.

    >>> grouped(np.array([7, 1, 7]), np.array([[1, 0], [2, 2], [0, 3]]))[1].tolist()
    [[2, 2], [1, 3]]
    """
    number = int(key.max(initial=0)) + 1
    if number > _DENSE + 4 * len(key):
        found, key = np.unique(key, return_inverse=True)
        return found, _sum(key, counts, len(found))
    there = np.flatnonzero(np.bincount(key, minlength=number))
    return there, _sum(key, counts, number)[there]


def _sum(key: Ints, counts: Ints, number: int) -> Ints:
    classes = counts.shape[1]
    cell = key[:, np.newaxis] * classes + np.arange(classes)
    summed = np.bincount(cell.ravel(), weights=counts.ravel(), minlength=number * classes)  # exact below 2^53 rows
    return summed.astype(np.int64).reshape(number, classes)
