"""The parts that splits make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ppdm_sql.methods.mondrian.branches import label_groups, label_ranges
from ppdm_sql.methods.mondrian.level_counts import LevelCounts
from ppdm_sql.methods.shared.columns import Axis
from ppdm_sql.source.lines import Flags, Ints


@dataclass(frozen=True)
class Children:
    """Parts that splits make, sorted by part and code: the codes first .. stop - 1 of the attribute.

    A rest has all codes of its parent that no other child has; it comes after them.  It may be left out.
    """

    part: Ints
    attribute: Ints
    first: Ints
    stop: Ints
    rows: Ints
    persons: Ints
    rest: Flags
    lost: Flags

    def only(self, wanted: Flags) -> Children:
        return Children(*(getattr(self, name)[wanted] for name in Children.__dataclass_fields__))

    @staticmethod
    def joined(several: Sequence[Children]) -> Children:
        def column(name: str) -> Ints:
            return np.concatenate([np.zeros(0, np.int64), *(getattr(one, name) for one in several)])

        numbers = [column(name) for name in ("part", "attribute", "first", "stop", "rows", "persons")]
        rest, lost = (column(name).astype(bool) for name in ("rest", "lost"))
        order = np.lexsort([numbers[2], rest, numbers[0]])
        part, attribute, first, stop, rows, persons = (values[order] for values in numbers)
        return Children(part, attribute, first, stop, rows, persons, rest[order], lost[order])


def branch_children(tally: LevelCounts, axis: Axis, number: int, level: Ints, left: Flags) -> Children:
    """One child per label of each segment's level, and one of the cells that are left behind, if there are any."""
    _, opening = label_groups(tally, axis, level)
    apart = ~left[opening]
    going = opening[apart]
    first, stop = label_ranges(axis, level[tally.segment[going]], tally.code[going])
    rows, persons = (np.add.reduceat(amount, opening)[apart] for amount in (tally.rows, tally.persons))
    no = np.zeros(len(going), dtype=bool)
    labels = Children(tally.part[going], np.full(len(going), number), first, stop, rows, persons, rest=no, lost=no)
    if not left.any():
        return labels
    rows, persons = (tally.totals(np.where(left, amount, 0)) for amount in (tally.rows, tally.persons))
    behind = np.flatnonzero(rows > 0)
    zero = np.zeros(len(behind), dtype=np.int64)
    ends, amounts = (zero, zero + axis.size), (rows[behind], persons[behind])
    rests = Children(tally.parts[behind], zero + number, *ends, *amounts, rest=zero == 0, lost=zero > 0)
    return Children.joined([labels, rests])
