"""The requirements over many candidate parts at once: for algorithms that choose where to cut.

A part is the histogram of its sensitive values, one row of counts.  Every answer is exact: 64-bit integers where
they provably fit, floating point only to find the few parts that are near the bound, and those in whole
numbers.  An empty part satisfies nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.checks.exact_compare import ENTROPY_NEAR, Flags, Integers, at_most, below, entropy_reaches
from ppdm_sql.checks.part_ratios import ratio_limit, ratios_at_least, ratios_at_most, ratios_below_logarithm
from ppdm_sql.errors import PolicyError
from ppdm_sql.requirements import (
    AlphaShare,
    BetaLikeness,
    Closeness,
    ConfidenceLimit,
    DeltaDisclosure,
    DistinctDiversity,
    EnhancedLikeness,
    EntropyDiversity,
    HookTable,
    KAnonymity,
    RecursiveDiversity,
    Requirement,
    SimpleDiversity,
)

_WORD = 2**62
_BLOCK = 1 << 21  # counts looked at together, so that intermediate results stay in the processor's cache


PartTest = Callable[
    [Any, Integers, Integers, Integers | None, NDArray[np.int64] | None], Flags
]  # (requirement, counts, sizes, reference, levels) -> per part whether it holds; counts are (parts, values)
PART_TESTS: HookTable[PartTest] = HookTable("decided from the counts of a part")


def parts_meet(
    requirement: Requirement,
    counts: Integers,
    reference: Integers | None = None,
    levels: NDArray[np.int64] | None = None,
) -> Flags:
    """Per part, whether it satisfies a requirement.

    counts: (parts, values), values in the order of their codes; for a requirement about sizes also (parts,).
    reference: for t, how often each value occurs in the whole table.  A distance that the requirement leaves open
    (Closeness.for_column settles it) is hierarchical where there are levels, else equal.
    levels: for t along a hierarchy, (levels below the root, values) -> node; see closeness.hierarchy_levels.

    >>> parts = np.array([[2, 2, 0], [3, 1, 0], [0, 0, 0]])
    >>> parts_meet(SimpleDiversity(Fraction(2)), parts).tolist()
    [True, False, False]
    >>> parts_meet(EntropyDiversity(Fraction(2)), parts).tolist()
    [True, False, False]
    >>> parts_meet(Closeness(Fraction(1, 4)), parts, reference=np.array([5, 3, 0])).tolist()
    [True, True, False]
    """
    counts = np.asarray(counts, dtype=np.int64)
    holds = PART_TESTS.of(requirement)
    if not counts.size:  # no part, or parts of no value
        return np.zeros(len(counts), dtype=np.bool_)
    if counts.ndim == 1:
        return holds(requirement, counts[:, np.newaxis], counts, reference, levels) & (counts > 0)
    found = np.zeros(len(counts), dtype=np.bool_)
    step = max(1, _BLOCK // counts.shape[1])
    for start in range(0, len(counts), step):
        block = counts[start : start + step]
        size = block.sum(axis=1)
        found[start : start + step] = holds(requirement, block, size, reference, levels) & (size > 0)
    return found


def _heads(counts: Integers) -> Integers:
    return np.asarray(counts.max(axis=1))


def _tails(counts: Integers, size: Integers, head: Integers, l: int) -> Integers:
    """Rows from the l-th most frequent value on."""
    if l <= 2:
        return size if l == 1 else size - head
    if l > counts.shape[1]:
        return np.zeros_like(size)
    return np.asarray(np.sort(counts, axis=1)[:, : counts.shape[1] - l + 1].sum(axis=1))


# -- entropy -----------------------------------------------------------------------------------------


def _entropy_reaches(counts: Integers, size: Integers, l: Fraction) -> Flags:
    """Floating point, and whole numbers for what is too near to the bound to tell."""
    rough = np.log(np.maximum(size, 1)) - _sum_of_n_log_n(counts) / np.maximum(size, 1)
    margin = rough - math.log(l)
    found = np.asarray(margin > 0)
    doubtful = np.flatnonzero((np.abs(margin) <= ENTROPY_NEAR) & (size > 0))
    if doubtful.size:
        kinds, which = np.unique(np.sort(counts[doubtful], axis=1), axis=0, return_inverse=True)
        exact = np.array([entropy_reaches([n for n in kind.tolist() if n], l) for kind in kinds])
        found[doubtful] = exact[which.reshape(-1)]
    return found


def _sum_of_n_log_n(counts: Integers) -> NDArray[np.float64]:
    """Sum of n ln(n); counts are mostly small, so their logarithms come from a table where that pays."""
    most = int(counts.max())
    if most < 4 * counts.size:
        known = np.arange(most + 1, dtype=np.float64)
        known[1:] *= np.log(known[1:])
        return np.asarray(known[counts].sum(axis=1))
    logs = np.log(np.maximum(counts, 1))
    return np.asarray((counts * logs).sum(axis=1))


# -- closeness ---------------------------------------------------------------------------------------


def _close(
    requirement: Closeness,
    counts: Integers,
    size: Integers,
    reference: Integers | None,
    levels: NDArray[np.int64] | None,
) -> Flags:
    """Whether far <= t * size * rows * steps, far being a sum of |count * rows - total * size|; see closeness.py."""
    if reference is None:
        raise PolicyError(f"{requirement} needs the distribution of the whole table")
    distance = requirement.distance or ("hierarchical" if levels is not None else "equal")
    here, everywhere, steps = _compared_columns(distance, counts, np.asarray(reference, dtype=np.int64), levels)
    rows = int(np.asarray(reference).sum())
    limit = requirement.t * steps * rows
    largest_size = int(size.max())
    if here.shape[1] * largest_size * max(1, rows) < _WORD:
        far = np.abs(here * rows - size[:, np.newaxis] * everywhere).sum(axis=1)
        return at_most(far, size, limit)
    return _close_wide(here, everywhere, size, rows, limit)


def _compared_columns(
    distance: str, counts: Integers, reference: Integers, levels: NDArray[np.int64] | None
) -> tuple[Integers, Integers, int]:
    """What is compared column by column in a part and in the table, and how many steps make the distance 1.

    Equal and hierarchical distances count what is too much and what is too little: twice the steps.
    """
    if distance == "equal":
        return counts, reference, 2
    if distance == "ordered":
        return np.cumsum(counts, axis=1)[:, :-1], np.cumsum(reference)[:-1], max(1, len(reference) - 1)
    if levels is None:
        raise PolicyError("the hierarchical distance needs the levels of a hierarchy")
    parts = [_by_node(nodes, counts) for nodes in levels]
    totals = [_by_node(nodes, reference[np.newaxis])[0] for nodes in levels]
    return np.concatenate(parts, axis=1), np.concatenate(totals), 2 * len(levels)


def _by_node(nodes: Integers, counts: Integers) -> Integers:
    """Counts of values added up to counts of nodes."""
    summed = np.zeros((len(counts), int(nodes.max(initial=-1)) + 1), dtype=np.int64)
    for value, node in enumerate(nodes):
        summed[:, node] += counts[:, value]
    return summed


def _close_wide(here: Integers, everywhere: Integers, size: Integers, rows: int, limit: Fraction) -> Flags:
    """The same where 64 bits might not do: floating point for most, Python's integers for those in doubt."""
    most = np.maximum(size, 1).astype(np.float64)
    rough = np.abs(here / most[:, np.newaxis] - everywhere / rows).sum(axis=1)
    bound = float(limit / rows)
    found = np.asarray(rough < bound)
    for part in np.flatnonzero(np.abs(rough - bound) <= 1e-9 * (1 + bound)):
        far = np.abs(here[part].astype(object) * rows - everywhere.astype(object) * int(size[part])).sum()
        found[part] = far * limit.denominator <= limit.numerator * int(size[part])
    return found


# -- one test per requirement ------------------------------------------------------------------------


def _large_enough(asked: KAnonymity, counts: Integers, size: Integers, *_: object) -> Flags:
    return np.asarray(size >= asked.k)


def _distinct_enough(asked: DistinctDiversity, counts: Integers, size: Integers, *_: object) -> Flags:
    return np.asarray(np.count_nonzero(counts, axis=1) >= asked.l)


def _head_small_enough(asked: SimpleDiversity, counts: Integers, size: Integers, *_: object) -> Flags:
    return at_most(_heads(counts), size, 1 / asked.l)


def _confidence_low_enough(asked: ConfidenceLimit | AlphaShare, counts: Integers, size: Integers, *_: object) -> Flags:
    return at_most(_heads(counts), size, asked.limit)


def _tail_large_enough(asked: RecursiveDiversity, counts: Integers, size: Integers, *_: object) -> Flags:
    head = _heads(counts)
    return below(head, _tails(counts, size, head, asked.l), asked.c)


def _uncertain_enough(asked: EntropyDiversity, counts: Integers, size: Integers, *_: object) -> Flags:
    return _entropy_reaches(counts, size, asked.l)


def _like_the_table(
    asked: BetaLikeness, counts: Integers, size: Integers, reference: Integers | None, *_: object
) -> Flags:
    return ratios_at_most(counts, size, _needed(asked, reference), 1 + asked.beta)


def _like_the_table_by_share(
    asked: EnhancedLikeness, counts: Integers, size: Integers, reference: Integers | None, *_: object
) -> Flags:
    table = _needed(asked, reference)
    return ratios_at_most(counts, size, table, 1 + asked.beta) & ratios_below_logarithm(counts, size, table)


def _discloses_little(
    asked: DeltaDisclosure, counts: Integers, size: Integers, reference: Integers | None, *_: object
) -> Flags:
    table, limit = _needed(asked, reference), ratio_limit(asked.delta)
    return ratios_at_most(counts, size, table, limit) & ratios_at_least(counts, size, table, limit)


def _needed(asked: Requirement, reference: Integers | None) -> Integers:
    if reference is None:
        raise PolicyError(f"{asked} needs the distribution of the whole table")
    return np.asarray(reference, dtype=np.int64)


PART_TESTS.add(KAnonymity, _large_enough)
PART_TESTS.add(DistinctDiversity, _distinct_enough)
PART_TESTS.add(SimpleDiversity, _head_small_enough)
PART_TESTS.add(ConfidenceLimit, _confidence_low_enough)
PART_TESTS.add(RecursiveDiversity, _tail_large_enough)
PART_TESTS.add(EntropyDiversity, _uncertain_enough)
PART_TESTS.add(Closeness, _close)
PART_TESTS.add(AlphaShare, _confidence_low_enough)
PART_TESTS.add(BetaLikeness, _like_the_table)
PART_TESTS.add(EnhancedLikeness, _like_the_table_by_share)
PART_TESTS.add(DeltaDisclosure, _discloses_little)
