"""Whether an entropy reaches its bound, decided in whole numbers.

    H >= ln(p / q)   <=>   n^n * q^n >= p^n * (n_1^n_1 * ... * n_m^n_m)

The powers are too long to be written out for a class of a million rows, so their logarithms are added with a
bounded error, in ever more digits, until the sum is clearly not zero; whether it is zero is settled without
logarithms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Context, Decimal
from fractions import Fraction
from itertools import combinations
from math import gcd

from ppdm_sql.errors import PpdmError

Powers = Mapping[int, int]  # base -> exponent; stands for the product of all base^exponent


def entropy_at_least(counts: Iterable[int], l: Fraction) -> bool:
    """Whether values that occur so often have an entropy of at least ln(l).

    >>> entropy_at_least([5, 5, 5], Fraction(3)), entropy_at_least([5, 5, 6], Fraction(3))
    (True, False)
    >>> entropy_at_least([1, 2], Fraction(3, 2)), entropy_at_least([1, 2], Fraction(2))
    (True, False)
    """
    powers = _bound_ratio(list(counts), l)
    for digits in _DIGITS:
        sign = _sign_of_log(powers, digits)
        if sign != 0:
            return sign > 0
        if digits == _DIGITS[0] and _is_one(powers):
            return True
    raise PpdmError(f"an entropy that agrees with ln({l}) in {_DIGITS[-1]} digits cannot be decided")


# A product that is not one has a logarithm that is not zero, so some number of digits decides; forty nearly always do.
_DIGITS = (40, 80, 160, 320, 640, 1280, 2560)


def _bound_ratio(counts: list[int], l: Fraction) -> Powers:
    """n^n * q^n / (p^n * prod n_i^n_i): at least one exactly when the bound is reached."""
    rows = sum(counts)
    powers: dict[int, int] = {}
    for base, exponent in ((rows, rows), (l.denominator, rows), (l.numerator, -rows), *((n, -n) for n in counts)):
        powers[base] = powers.get(base, 0) + exponent
    return {base: exponent for base, exponent in powers.items() if base != 1 and exponent != 0}


def _sign_of_log(powers: Powers, digits: int) -> int:
    """1 or -1 where the logarithm of the product is clearly above or below zero, else 0."""
    context = Context(prec=digits)
    total, size = Decimal(0), Decimal(0)
    for base, exponent in powers.items():
        term = context.multiply(context.ln(Decimal(base)), Decimal(exponent))
        total, size = context.add(total, term), context.add(size, abs(term))
    # Each term and each addition is off by at most one unit in its last digit.
    error = context.multiply(size, Decimal(10 * (len(powers) + 2)).scaleb(1 - digits))
    return (total > error) - (total < -error)


def _is_one(powers: Powers) -> bool:
    """Whether the product is exactly one.

    Bases that share a factor are split at it until none do; then a product is one only if every exponent is zero.

    >>> _is_one({6: 2, 4: -1, 9: -1}), _is_one({6: 2, 4: -1, 3: -1})
    (True, False)
    """
    left = dict(powers)
    while (shared := _shared_factor(left)) is not None:
        factor, bases = shared
        for base in bases:
            exponent = left.pop(base)
            for part in (factor, base // factor):
                left[part] = left.get(part, 0) + exponent
        left = {base: exponent for base, exponent in left.items() if base != 1 and exponent != 0}
    return not left


def _shared_factor(powers: Powers) -> tuple[int, tuple[int, int]] | None:
    for one, other in combinations(powers, 2):
        factor = gcd(one, other)
        if factor > 1:
            return factor, (one, other)
    return None
