"""Columns of different parts of which one says the other: a second key, which the join on the class does not know.

A zip code determines its city.  An attacker who knows the zip code of a row in one part looks for the city in the
other part, and the class is no longer all that the parts have in common.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from ppdm_sql.cells.cells import Ints
from ppdm_sql.methods.dmpd.counting import DmpdCells
from ppdm_sql.methods.plan import ResidualRisk

RISK = "dependency"
LIMIT = Fraction(99, 100)  # of the rows in which the one column says the other
_GAIN = Fraction(1, 2)  # ... of those that the most frequent value alone does not say
_SHOWN = 5
_MATRIX = 1 << 22


def said_rows(table: DmpdCells, one: str, other: str) -> tuple[int, int]:
    """Rows in which the most frequent value of `other` with the same `one` is right, and the other way round."""
    rows = _pair_rows(table, one, other)
    if isinstance(rows, tuple):
        left, right, number = rows
        return _best(left, number, table.sizes[one]), _best(right, number, table.sizes[other])
    return int(rows.max(axis=1, initial=0).sum()), int(rows.max(axis=0, initial=0).sum())


def _pair_rows(table: DmpdCells, one: str, other: str) -> Ints | tuple[Ints, Ints, Ints]:
    """Rows of every pair of values: a matrix, or where that were large the pairs that occur."""
    left, right, size = table.codes[one], table.codes[other], max(table.sizes[other], 1)
    room = max(table.sizes[one], 1) * size
    if room <= _MATRIX:
        return table.count_rows(left * size + right, room).reshape(-1, size)
    pairs, place = np.unique(left * size + right, return_inverse=True)
    return pairs // size, pairs % size, table.count_rows(place, len(pairs))


def _best(key: Ints, rows: Ints, size: int) -> int:
    best = np.zeros(max(size, 1), dtype=np.int64)
    np.maximum.at(best, key, rows)
    return int(best.sum())


def dependent_pairs(table: DmpdCells, pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Of pairs of columns those (u, v) where u says v, either way round."""
    alone = {name: _most_frequent(table, name) for name in table.codes}
    found = []
    for one, other in pairs:
        if min(table.sizes[one], table.sizes[other]) < 2:  # one value says nothing
            continue
        forth, back = said_rows(table, one, other)
        found += [(one, other)] if _is_said(table.rows, forth, alone[other]) else []
        found += [(other, one)] if _is_said(table.rows, back, alone[one]) else []
    return found


def _most_frequent(table: DmpdCells, name: str) -> int:
    return int(table.count_rows(table.codes[name], max(table.sizes[name], 1)).max(initial=0))


def _is_said(rows: int, said: int, alone: int) -> bool:
    """As good as always, and more than the most frequent value does by itself.

    >>> _is_said(1000, 995, 500), _is_said(1000, 980, 500), _is_said(1000, 996, 995)
    (True, False, False)
    """
    return said >= LIMIT * rows and said - alone >= _GAIN * (rows - alone)


def parted_pairs(parts: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    """Every pair of columns that are in different parts.

    >>> parted_pairs([["a", "b"], ["c"]])
    [('a', 'c'), ('b', 'c')]
    """
    return [(one, other) for left, right in combinations(parts, 2) for one in left for other in right]


def dependency_risk(pairs: Sequence[tuple[str, str]]) -> tuple[ResidualRisk, ...]:
    """What is refused where a column says one of another part."""
    if not pairs:
        return ()
    told = "; ".join(f'"{one}" determines "{other}"' for one, other in pairs[:_SHOWN])
    more = f"; and {len(pairs) - _SHOWN} more" if len(pairs) > _SHOWN else ""
    message = (
        f"columns determine columns of other parts ({told}{more}), so rows of different parts can be matched by more "
        "than the class: put these columns into one part, or one of them into filter = (...)"
    )
    return (ResidualRisk(RISK, message, refuses=True),)
