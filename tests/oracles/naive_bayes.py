"""Naive Bayes by its definition, over rows in Python: every share is a Fraction, counted again for every question.

Rows are mappings.  An attribute is given as the boundaries of its bins (a list, rising) or as None: categories.
NULL says nothing; NaN is the greatest number; rare categories and those never seen are one category.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

OTHER = ("other",)


def learned(rows: Sequence[Mapping], target: str, rare: int) -> list[Mapping]:
    """The rows of classes that enough rows have."""
    held = Counter(row[target] for row in rows)
    return [row for row in rows if row[target] is not None and held[row[target]] >= rare]


def classes(rows: Sequence[Mapping], target: str, rare: int) -> list:
    return sorted({row[target] for row in learned(rows, target, rare)})


def gaps(values: Sequence, bins: int) -> list[tuple]:
    """Neighbouring values between which equal bins end; a bin ends where lesser rows reach a multiple of n / bins.

    >>> gaps([1, 1, 2, 3, 3, 4], 10), gaps([1, 2, 3, 4, 5, 6], 3), gaps([7, 7, 7, 7, 8], 2)
    ([(1, 2), (2, 3), (3, 4)], [(2, 3), (4, 5)], [(7, 8)])
    >>> gaps([1, 1, 1, 1, 2, 3, 4, 5], 2), gaps([1, 2, 2, 2, 2, 2, 2, 3], 2), gaps([1, 2, 3, 3, 3, 3], 2)
    ([(1, 2)], [(2, 3)], [])
    """
    known = sorted(value for value in values if value is not None and value == value)
    distinct = sorted(set(known))
    found = []
    for low, high in pairwise(distinct):
        lesser, lesser_yet = (sum(value < end for value in known) for end in (high, low))
        if len(distinct) <= bins or lesser * bins // len(known) > lesser_yet * bins // len(known):
            found.append((low, high))
    return found


def bin_of(value: object, boundaries: Sequence) -> int:
    return len(boundaries) if value != value else sum(boundary <= value for boundary in boundaries)


def named(rows: Sequence[Mapping], attribute: str, rare: int) -> set:
    held = Counter(row[attribute] for row in rows if row[attribute] is not None)
    return {value for value, count in held.items() if count >= rare}


def likelihoods(
    rows: Sequence[Mapping],
    attributes: Mapping[str, Sequence | None],
    target: str,
    asked: Mapping,
    *,
    laplace: int,
    rare: int,
    smooth_prior: bool = True,
) -> list[Fraction]:
    """Per class its share of the rows times the shares of the row's values in it."""
    kept = learned(rows, target, rare)
    labels = classes(rows, target, rare)
    found = []
    for label in labels:
        mine = [row for row in kept if row[target] == label]
        more = laplace if smooth_prior else 0
        share = Fraction(len(mine) + more, len(kept) + more * len(labels))
        for name, boundaries in attributes.items():
            if asked[name] is not None:
                share *= _share(kept, mine, name, boundaries, asked[name], laplace, rare)
        found.append(share)
    return found


def _share(kept, mine, name, boundaries, value, laplace, rare) -> Fraction:
    if boundaries is None:
        names = named(kept, name, rare)
        same = lambda x: x if x in names else OTHER  # noqa: E731
        domain = len({same(row[name]) for row in kept if row[name] is not None})
    else:
        same = lambda x: bin_of(x, boundaries)  # noqa: E731
        domain = len(boundaries) + 1
    known = [row[name] for row in mine if row[name] is not None]
    hits = sum(same(other) == same(value) for other in known)
    whole = len(known) + laplace * domain
    return Fraction(hits + laplace, whole) if whole else Fraction(1)


def best(labels: Sequence, shares: Sequence[Fraction]) -> object:
    """The likeliest class, of (nearly) equal ones the first."""
    top = max(shares)
    return next(
        label for label, share in zip(labels, shares, strict=True) if share >= top * Fraction(999_999, 1_000_000)
    )


def gaussian_logs(rows: Sequence[Mapping], attribute: str, target: str, labels: Sequence, value: float) -> list[float]:
    """Per class the logarithm of the normal density at a value, less a constant; 0 where the value says nothing."""
    numbers = [(row[target], Fraction(row[attribute])) for row in rows if _finite(row[attribute])]
    if not _finite(value) or len({number for _, number in numbers}) < 2:
        return [0.0] * len(labels)
    whole = _variance([number for _, number in numbers])
    found = []
    for label in labels:
        mine = [number for other, number in numbers if other == label] or [number for _, number in numbers]
        variance = max(_variance(mine), whole / 10_000)
        away = Fraction(value) - sum(mine) / len(mine)
        found.append(max(-512.0, -math.log(variance / whole) / 2 - float(away * away / (2 * variance))))
    return found


def _finite(value: object) -> bool:
    return value is not None and math.isfinite(value)


def _variance(numbers: Sequence[Fraction]) -> Fraction:
    mean = Fraction(sum(numbers)) / len(numbers)
    return sum((number - mean) ** 2 for number in numbers) / len(numbers)
