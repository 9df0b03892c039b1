"""Decisions without rounding: whole numbers where they fit, floating point only to skip what is clear.

float(entropy) >= log(l) is wrong for three, six or seven equally frequent values; here such a class is
decided by whole numbers.  The same holds for every comparison of two products.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Numbers = NDArray[Any]  # integers of 64 bits, or Python's own where those are not enough
Flags = NDArray[np.bool_]

_WORD = 2**62  # products below it, and their difference, fit 64 bits
_NEAR = 1e-12  # relative; a product of rounded numbers is off by a few 1e-16
ENTROPY_NEAR = 1e-7  # absolute, on the entropy: wider than a sum of a million rounded terms can be off


def signs(left: Numbers, left_factor: int, right: Numbers, right_factor: int) -> NDArray[np.int8]:
    """The sign of left * left_factor - right * right_factor, element by element; nothing is negative.

    >>> signs(np.array([1, 2, 3]), 2, np.array([3, 4, 5]), 1).tolist()
    [-1, 0, 1]
    >>> signs(np.array([3]), 10**30 + 1, np.array([2]), 15 * 10**29 + 1).tolist()  # one more, of 30 digits
    [1]
    """
    if left.size == 0:
        return np.zeros(left.shape, dtype=np.int8)
    if max(1, int(left.max())) * left_factor < _WORD and max(1, int(right.max())) * right_factor < _WORD:
        return np.asarray(np.sign(left * left_factor - right * right_factor), dtype=np.int8)
    found = np.zeros(left.shape, dtype=np.int8)
    doubtful = np.ones(left.shape, dtype=np.bool_)
    if max(left_factor, right_factor) < 10**250:  # beyond, floating point has no number for the product
        one, other = left * float(left_factor), right * float(right_factor)
        found = np.sign(one - other).astype(np.int8)
        doubtful = np.abs(one - other) <= _NEAR * (one + other)
    for place in np.flatnonzero(doubtful):
        difference = int(left[place]) * left_factor - int(right[place]) * right_factor
        found[place] = (difference > 0) - (difference < 0)
    return found


def at_most(over: Numbers, under: Numbers, limit: Fraction) -> Flags:
    """Whether over / under <= limit, exactly; also where under is 0 (then only 0 / 0 is).

    >>> at_most(np.array([1, 2]), np.array([3, 3]), Fraction(1, 3)).tolist()
    [True, False]
    """
    return np.asarray(signs(over, limit.denominator, under, limit.numerator) <= 0)


def below(over: Numbers, under: Numbers, limit: Fraction) -> Flags:
    """Whether over / under < limit, exactly; never where under is 0.

    >>> below(np.array([1, 1]), np.array([3, 4]), Fraction(1, 3)).tolist()
    [False, True]
    """
    return np.asarray(signs(over, limit.denominator, under, limit.numerator) < 0)


def largest(over: Numbers, under: Numbers) -> Fraction:
    """The largest over / under, exactly; under is nowhere 0 and there is at least one.

    >>> largest(np.array([1, 2, 4]), np.array([3, 5, 10]))
    Fraction(2, 5)
    """
    rough = over / under
    near = np.flatnonzero(rough >= rough.max() * (1 - _NEAR))
    pairs = {(int(over[place]), int(under[place])) for place in near}
    return max(Fraction(*pair) for pair in pairs)


def smallest(over: Numbers, under: Numbers) -> Fraction:
    """The smallest over / under, exactly; neither is anywhere 0 and there is at least one."""
    return 1 / largest(under, over)


# -- entropy -----------------------------------------------------------------------------------------


def entropy_reaches(counts: Sequence[int], l: Fraction) -> bool:
    """Whether the entropy of these counts is at least log(l), exactly.

    With n the sum of the counts the question is whether n**n >= l**n * product of c**c.

    >>> entropy_reaches([2, 2, 2], Fraction(3)), entropy_reaches([3, 2, 2], Fraction(3))
    (True, False)
    >>> entropy_reaches([4, 1, 1, 1, 1], Fraction(4))  # half, and four eighths: 2 bits
    True
    """
    shared = math.gcd(*counts)  # only the shares matter
    shares = [count // shared for count in counts if count]
    if len(set(shares)) == 1:
        return len(shares) >= l
    total = sum(shares)
    powers = {total: total}
    for base, power in [(l.denominator, total), (l.numerator, -total), *((share, -share) for share in shares)]:
        powers[base] = powers.get(base, 0) + power
    return _is_at_least_one(powers)


def _is_at_least_one(powers: dict[int, int]) -> bool:
    """Whether the product of base ** power is 1 or more: logarithms in more and more digits, unless it is exactly 1."""
    digits = 40
    while True:
        with localcontext(Context(prec=digits)):
            terms = [power * Decimal(base).ln() for base, power in powers.items()]
            total = sum(terms, Decimal(0))
            size = sum((abs(term) for term in terms), Decimal(1))
            if abs(total) > size * len(terms) * Decimal(10) ** (5 - digits):
                return not total.is_signed()
        if digits == 40 and _is_one(powers):
            return True
        digits *= 2  # it is not 1, so some number of digits decides


def _is_one(powers: dict[int, int]) -> bool:
    """Whether the product of base ** power is 1: the bases are split until no two share a factor.

    >>> _is_one({4: 3, 8: -2}), _is_one({6: 2, 2: -2, 9: -1}), _is_one({6: 2, 2: -2, 9: 1})
    (True, True, False)
    """
    waiting = [(base, power) for base, power in powers.items() if base > 1 and power]
    apart: list[tuple[int, int]] = []
    while waiting:
        base, power = waiting.pop()
        for place, (other, other_power) in enumerate(apart):
            shared = math.gcd(base, other)
            if shared > 1:
                del apart[place]
                parts = [(base // shared, power), (other // shared, other_power), (shared, power + other_power)]
                waiting += [part for part in parts if part[0] > 1]
                break
        else:
            apart.append((base, power))
    return all(power == 0 for _, power in apart)
