"""l-diversity of one class, by the counts of its sensitive values (Machanavajjhala et al. 2007)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import inf, prod

from .values import same


def frequencies(values: Iterable[object], *, nulls_as_value: bool = False) -> list[int]:
    """How often each known value occurs, most frequent first; nulls_as_value: NULL is a value like any other.

    >>> frequencies(["flu", None, "flu", None, "cold"]), frequencies([None])
    ([2, 1], [])
    >>> frequencies(["flu", None, "flu", None, "cold"], nulls_as_value=True)
    [2, 2, 1]
    """
    known = (value for value in values if nulls_as_value or value is not None)
    return sorted(Counter(map(same, known)).values(), reverse=True)


def distinct_values(counts: Sequence[int]) -> int:
    return len(counts)


def simple_ratio(counts: Sequence[int]) -> Fraction:
    """Size / most frequent: simple l-diversity holds for every l up to this; for none where no value is known.

    >>> simple_ratio([2, 2, 1])
    Fraction(5, 2)
    """
    return Fraction(sum(counts), max(counts)) if counts else Fraction(0)


def confidence(counts: Sequence[int]) -> Fraction | float:
    """The share of the most frequent value; infinite where no value is known, so that it keeps no limit."""
    return Fraction(max(counts), sum(counts)) if counts else inf


def recursive_holds(counts: Sequence[int], c: Fraction, l: int) -> bool:
    """f1 < c * (f_l + ... + f_m).

    >>> recursive_holds([3, 2, 1], Fraction(1), 2), recursive_holds([3, 2, 1], Fraction(2), 2)
    (False, True)
    >>> recursive_holds([3, 2], Fraction(100), 3)
    False
    """
    falling = sorted(counts, reverse=True)
    return bool(falling) and falling[0] < c * sum(falling[l - 1 :])


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
    >>> entropy_reaches([], Fraction(1))  # no value is known
    False
    """
    n = sum(counts)
    return n > 0 and bool((n * l.denominator) ** n >= l.numerator**n * prod(count**count for count in counts))
