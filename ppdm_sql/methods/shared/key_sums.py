"""Whole numbers added up by key: in an array where the keys lie close together, else by sorting them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ppdm_sql.source.lines import Flags, Ints

_DENSE = 1 << 16  # keys that are counted in an array however few entries there are
_HALF = 30  # bits: sums of either half of a number are exact in doubles


def sum_by_key(key: Ints, measures: Sequence[Ints]) -> tuple[Ints, list[Ints]]:
    """The keys that occur, rising, and the sum of each measure over the entries of each key.

    >>> keys, (rows,) = sum_by_key(np.array([7, 2, 7]), [np.array([1, 5, 3])])
    >>> keys.tolist(), rows.tolist()
    ([2, 7], [5, 4])
    """
    span = int(key.max(initial=-1)) + 1
    if span <= max(_DENSE, 4 * len(key)):
        return _dense_sums(key, measures, span)
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    starts = starts_of(ordered)
    return ordered[starts], [np.add.reduceat(one[order], starts) for one in measures]


def _dense_sums(key: Ints, measures: Sequence[Ints], span: int) -> tuple[Ints, list[Ints]]:
    keys = np.flatnonzero(np.bincount(key, minlength=span))
    return keys, [_exact(key, one, span)[keys] for one in measures]


def _exact(key: Ints, amounts: Ints, span: int) -> Ints:
    """Sums in whole numbers: bincount adds doubles, so large numbers are added in halves."""
    if int(amounts.max(initial=0)) * len(amounts) < 1 << 53:
        return np.bincount(key, weights=amounts, minlength=span).astype(np.int64)
    high = np.bincount(key, weights=amounts >> _HALF, minlength=span).astype(np.int64)
    low = np.bincount(key, weights=amounts & ((1 << _HALF) - 1), minlength=span).astype(np.int64)
    return np.asarray((high << _HALF) + low)


def starts_of(rising: Ints) -> Ints:
    """Where a rising array takes a new value."""
    new: Flags = np.ones(len(rising), dtype=bool)
    new[1:] = rising[1:] != rising[:-1]
    return np.flatnonzero(new)
