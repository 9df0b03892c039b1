"""l-diversity of one class, by the counts of its sensitive values (Machanavajjhala et al. 2007)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import prod

from .values import same


def frequencies(values: Iterable[object]) -> list[int]:
    """How often each value occurs, most frequent first; NULL is a value like any other.

    >>> frequencies(["flu", None, "flu", None, "cold"])
    [2, 2, 1]
    """
    return sorted(Counter(map(same, values)).values(), reverse=True)


def distinct_values(counts: Sequence[int]) -> int:
    return len(counts)


def simple_ratio(counts: Sequence[int]) -> Fraction:
    """Size / most frequent: simple l-diversity holds for every l up to this.

    >>> simple_ratio([2, 2, 1])
    Fraction(5, 2)
    """
    return Fraction(sum(counts), max(counts))


def confidence(counts: Sequence[int]) -> Fraction:
    """The share of the most frequent value: what a class tells about each of its members."""
    return Fraction(max(counts), sum(counts))


def recursive_holds(counts: Sequence[int], c: Fraction, l: int) -> bool:
    """f1 < c * (f_l + ... + f_m).

    >>> recursive_holds([3, 2, 1], Fraction(1), 2), recursive_holds([3, 2, 1], Fraction(2), 2)
    (False, True)
    >>> recursive_holds([3, 2], Fraction(100), 3)
    False
    """
    falling = sorted(counts, reverse=True)
    return falling[0] < c * sum(falling[l - 1 :])


def recursive_ratio(counts: Sequence[int], l: int) -> Fraction | None:
    """f1 / (f_l + ... + f_m): every c above it holds; None when no c does."""
    falling = sorted(counts, reverse=True)
    tail = sum(falling[l - 1 :])
    return Fraction(falling[0], tail) if tail else None


def entropy_reaches(counts: Sequence[int], l: Fraction) -> bool:
    """Whether the entropy is at least ln(l), without a logarithm.

    -sum(n_i/n * ln(n_i/n)) >= ln(p/q).  Times n, and raised to a power of e, it is a comparison of whole numbers:
    n^n * q^n >= p^n * prod(n_i^n_i).

    >>> [entropy_reaches([4] * l, Fraction(l)) for l in (1, 2, 3, 6, 7, 10)]
    [True, True, True, True, True, True]
    >>> entropy_reaches([4, 4, 5], Fraction(3)), entropy_reaches([4, 4, 4], Fraction(3000001, 1000000))
    (False, False)
    """
    n = sum(counts)
    return bool((n * l.denominator) ** n >= l.numerator**n * prod(count**count for count in counts))
