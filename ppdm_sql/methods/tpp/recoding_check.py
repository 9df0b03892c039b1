"""Whether a recoding is private: the cells counted by the groups that their codes are recoded to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ppdm_sql.cells.cells import Cells, Codes
from ppdm_sql.checks.histograms import parts_meet
from ppdm_sql.methods.shared.limits import Secret
from ppdm_sql.requirements import KAnonymity
from ppdm_sql.source.lines import Ints

_BLOCK = 1 << 22  # counts looked at together
_MOST_PACKED = 1 << 62
_DENSE = 8  # numbers per cell up to which classes are found in an array rather than by sorting

Groups = Sequence[int]  # per code


@dataclass(frozen=True)
class Classes:
    """The classes a recoding makes.  groups: a row per class, a column per recoded attribute."""

    groups: Ints
    of_cell: Ints
    sizes: Ints
    counted: Ints  # what k counts: rows, or persons
    least_l: Mapping[str, Fraction]  # per sensitive column the least size / f1


@dataclass(frozen=True)
class Checker:
    """Measures recodings."""

    cells: Cells
    codes: Mapping[str, Codes]
    k: int
    secrets: Sequence[Secret]
    fixed: Sequence[str] = ()  # quasi-identifiers that stay as they are

    def measured(self, recoding: Mapping[str, Groups]) -> Classes | None:
        """The classes of a recoding (column -> group of each code), or None where a requirement breaks."""
        keys = self._keys(recoding)
        number = same_keys(keys, len(self.cells))
        sizes = self._summed(number, self.cells.rows)
        people = self.cells.people
        counted = sizes if people is None else people.count(number, len(sizes))
        if not parts_meet(KAnonymity(self.k), counted).all():
            return None
        least = {}
        for secret in self.secrets:
            worst = self._least(secret, number, sizes)
            if worst is None:
                return None
            least[secret.name] = worst
        first = np.unique(number, return_index=True)[1]
        groups = np.column_stack([key[first] for key in keys]) if keys else np.zeros((1, 0), dtype=np.int64)
        return Classes(groups, number, sizes, counted, least)

    def smallest_with(self, recoding: Mapping[str, Groups], responses: Sequence[str]) -> int:
        """The size of the smallest class when these columns are known too."""
        keys = [*self._keys(recoding), *(self.codes[name] for name in responses)]
        return int(self._summed(same_keys(keys, len(self.cells)), self.cells.rows).min())

    def _keys(self, recoding: Mapping[str, Groups]) -> list[Codes]:
        """What makes a class: the groups of the recoded columns, the codes of those that stay."""
        recoded = [np.asarray(groups, dtype=np.int64)[self.codes[name]] for name, groups in recoding.items()]
        return [*recoded, *(self.codes[name] for name in self.fixed)]

    @staticmethod
    def _summed(number: Ints, amounts: Ints) -> Ints:
        return np.bincount(number, weights=amounts).astype(np.int64)

    def _least(self, secret: Secret, number: Ints, sizes: Ints) -> Fraction | None:
        """The least size / f1 of a class; None where a class breaks what is required of the column."""
        values = len(secret.reference)
        cell, place = np.unique(number * values + self.codes[secret.name], return_inverse=True)
        rows = self._summed(place, self.cells.rows)
        step = max(1, _BLOCK // values)
        least: Fraction | None = None
        for start in range(0, len(sizes), step):
            stop = min(start + step, len(sizes))
            low, high = np.searchsorted(cell, [start * values, stop * values])
            counts = np.zeros((stop - start) * values, dtype=np.int64)
            counts[cell[low:high] - start * values] = rows[low:high]
            histograms = counts.reshape(-1, values)
            if not secret.holds(histograms).all():
                return None
            heads = histograms.max(axis=1)
            worst = int(np.argmin(sizes[start:stop] / heads))
            here = Fraction(int(sizes[start + worst]), int(heads[worst]))
            least = here if least is None else min(least, here)
        return least


def same_keys(keys: Sequence[Codes], number: int) -> Ints:
    """Per cell a number 0, 1, ...; cells with equal keys have equal numbers, in the order of the keys.

    >>> same_keys([np.array([1, 0, 1]), np.array([7, 9, 7])], 3).tolist()
    [1, 0, 1]
    """
    packed, size = np.zeros(number, dtype=np.int64), 1
    for key in keys:
        width = int(key.max(initial=0)) + 1
        if size * width > _MOST_PACKED:
            packed = np.unique(packed, return_inverse=True)[1]
            size = int(packed.max(initial=0)) + 1
        packed, size = packed * width + key, size * width
    if size > _DENSE * max(number, 1):
        return np.asarray(np.unique(packed, return_inverse=True)[1])
    there = np.zeros(size, dtype=np.int64)
    there[packed] = 1
    return np.asarray((np.cumsum(there) - 1)[packed])
