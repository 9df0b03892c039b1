"""Whether a partition of the columns may leave: each projection by itself, and all of them joined on the class.

KLevel 1: every group of a projection's quasi-identifiers has k rows or persons.
KLevel 2: anyone who joins the projections on the class finds J = sum over the classes of the product of the groups'
counts in that class.  Products are capped at the least group of level 1 after every factor, which keeps
min(J, cap) exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ppdm_sql.cells.cells import Ints
from ppdm_sql.errors import RequirementBreached
from ppdm_sql.methods.dmpd.counting import DmpdCells
from ppdm_sql.methods.dmpd.options import ALL, CLASS, NONE
from ppdm_sql.policy.words import many

Parts = Sequence[Sequence[str]]
MOST_JOINED = 5_000_000  # combinations that the join of the projections may have for rejoin = all


@dataclass(frozen=True)
class KLevel:
    """The least of a level, and how many groups or combinations are below k, with their rows."""

    smallest: int
    groups: int
    breaching_groups: int
    breaching_rows: int

    @property
    def holds(self) -> bool:
        return not self.breaching_groups


@dataclass(frozen=True)
class Validity:
    """Both levels of a partition; part: per part that has quasi-identifiers, by its number from 1 on."""

    parts: dict[int, KLevel]
    joined: KLevel | None  # None: the mode asks for nothing more
    certain_rows: int  # rows whose combination leaves one class

    @property
    def holds(self) -> bool:
        return all(one.holds for one in self.parts.values()) and (self.joined is None or self.joined.holds)

    @property
    def level(self) -> int:
        """K(Z): the least group, or the least combination where that is smaller."""
        least = min((one.smallest for one in self.parts.values()), default=0)
        return least if self.joined is None else min(least, self.joined.smallest)


def group_level(table: DmpdCells, quasi: Sequence[str], k: int) -> KLevel:
    """KLevel 1 of one projection."""
    groups = table.groups(quasi)
    below = groups.below(k)
    rows = 0
    if len(below):
        rows = int(table.count_rows(groups.of_cell, groups.size)[below].sum())
    return KLevel(groups.smallest, groups.size, len(below), rows)


def partition_validity(table: DmpdCells, parts: Parts, quasi: frozenset[str], k: int, rejoin: str) -> Validity:
    """Both levels; parts: their published columns."""
    named = {number: [name for name in part if name in quasi] for number, part in enumerate(parts, start=1)}
    known = {number: names for number, names in named.items() if names}
    levels = {number: group_level(table, names, k) for number, names in known.items()}
    groups = [table.groups(names) for names in known.values()]
    counts = [table.by_class(names) for names in known.values()]
    cap = max(min((one.smallest for one in levels.values()), default=1), 1)
    keys, rows = _combinations(table, [one.of_cell for one in groups], [one.size for one in groups])
    joined, left = joined_counts(counts, keys, cap)
    certain = int(rows[left == 1].sum())
    found = _joined_level(table, rejoin, counts, joined, rows, cap, k)
    return Validity(levels, found, certain)


def _joined_level(
    table: DmpdCells, rejoin: str, counts: Sequence[Ints], joined: Ints, rows: Ints, cap: int, k: int
) -> KLevel | None:
    if rejoin == NONE:
        return None
    if rejoin == CLASS:
        smallest = min(int(one[one > 0].min(initial=cap)) for one in counts)
        few = sum(int(((one > 0) & (one < k)).sum()) for one in counts)
        touched = sum(int(one[(one > 0) & (one < k)].sum()) for one in counts)
        return KLevel(smallest, sum(int((one > 0).sum()) for one in counts), few, touched)
    if rejoin == ALL and table.classes > 2:  # of two classes level 1 decides it
        joined = _every_combination(counts, cap)
        rows = np.zeros(len(joined), dtype=np.int64)
    below = joined < k
    return KLevel(int(joined.min(initial=cap)), len(joined), int(below.sum()), int(rows[below].sum()))


def _combinations(table: DmpdCells, of_cells: Sequence[Ints], sizes: Sequence[int]) -> tuple[list[Ints], Ints]:
    """Per part the group of every combination that a person has, and the rows of each combination."""
    packed = np.zeros(len(table.cells), dtype=np.int64)
    for of_cell, size in zip(of_cells, sizes, strict=True):
        packed = np.unique(packed * size + of_cell, return_inverse=True)[1]
    number, first = np.unique(packed, return_index=True)
    rows = table.count_rows(packed, len(number))
    return [of_cell[first] for of_cell in of_cells], rows


def joined_counts(counts: Sequence[Ints], keys: Sequence[Ints], cap: int) -> tuple[Ints, Ints]:
    """Per combination min(J, cap) and how many classes are left.

    >>> one, two = np.array([[1, 2, 0], [1, 2, 4]]), np.array([[1, 0, 2], [1, 4, 2]])  # D1
    >>> joined_counts([one, two], [np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])], 100)
    (array([ 1,  9,  9, 17]), array([1, 2, 2, 3]))
    """
    size = len(keys[0]) if keys else 0
    total, left = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    for number in range(counts[0].shape[1] if counts else 0):
        product = np.ones(size, dtype=np.int64)
        for one, key in zip(counts, keys, strict=True):
            product = np.minimum(product * one[key, number], cap)
        total = np.minimum(total + product, cap)
        left += product > 0
    return total, left


def _every_combination(counts: Sequence[Ints], cap: int) -> Ints:
    """J > 0 of all combinations of the join, with or without people."""
    number = int(np.prod([float(len(one)) for one in counts]))
    if number > MOST_JOINED:
        raise RequirementBreached(
            f"rejoin = all looks at every combination of the groups, and these parts have {number:,} (at most "
            f"{MOST_JOINED:,}): use rejoin = class, which is stricter and needs no combinations, or rejoin = exact; "
            "nothing was published"
        )
    joined = np.minimum(counts[0], cap)
    for one in counts[1:]:
        joined = np.minimum(joined[:, None, :] * one[None, :, :], cap).reshape(-1, one.shape[1])
    total = np.zeros(len(joined), dtype=np.int64)
    for number in range(joined.shape[1]):
        total = np.minimum(total + joined[:, number], cap)
    return total[total > 0]


def refuse_invalid(found: Validity, parts: Parts, quasi: frozenset[str], k: int, unit: str) -> None:
    """Says which part breaks k and in how many rows, or that the join does."""
    broken = {number: one for number, one in found.parts.items() if not one.holds}
    if broken:
        told = "; ".join(
            f"part {number} ({', '.join(name for name in parts[number - 1] if name in quasi)}) has "
            f"{many(one.breaching_groups, 'group')} of fewer than {k} {unit} ({many(one.breaching_rows, 'row')}, the "
            f"smallest has {one.smallest})"
            for number, one in broken.items()
        )
        raise RequirementBreached(
            f"ALGORITHM dmpd: {told}; nothing was published.  Put a quasi-identifier of such a part into a part of its "
            "own, or into filter = (...), or leave parts out so that they are searched for"
        )
    joined = found.joined
    if joined is not None and not joined.holds:
        raise RequirementBreached(
            f"ALGORITHM dmpd: joined on the class, {many(joined.breaching_groups, 'combination')} of the parts' groups "
            f"have fewer than {k} {unit} ({many(joined.breaching_rows, 'row')}, the smallest has {joined.smallest}); "
            "nothing was published.  Use fewer quasi-identifiers in a part"
        )
