"""How frequent values are in a part against the whole table, exactly: for beta-likeness and delta-disclosure."""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cache

import numpy as np

from ppdm_sql.checks.exact_compare import Flags, Integers, at_most

MOST_PRODUCT = 10**16  # known values of the table, squared: 100 million
_DIGITS = 80


@cache
def ratio_limit(delta: Fraction) -> Fraction:
    """The largest fraction below e^delta whose denominator a table can have: a ratio below e^delta is at most this.

    By the continued fraction of e^delta: its last two approximations lie on both sides, and no fraction with a smaller
    denominator lies between them.

    >>> float(ratio_limit(Fraction(1)))
    2.718281828459045
    """
    with localcontext(Context(prec=_DIGITS)):
        target = Fraction((Decimal(delta.numerator) / Decimal(delta.denominator)).exp())
    over, under, last_over, last_under = 1, 0, 0, 1
    rest = target
    while True:
        whole = math.floor(rest)
        next_under = whole * under + last_under
        if next_under > MOST_PRODUCT:
            break
        over, under, last_over, last_under = whole * over + last_over, next_under, over, under
        rest = 1 / (rest - whole)
    steps = (MOST_PRODUCT - last_under) // under
    return min(Fraction(over, under), Fraction(last_over + steps * over, last_under + steps * under))


def ratios_at_most(counts: Integers, size: Integers, reference: Integers, limit: Fraction) -> Flags:
    """Per part, whether no value is more frequent than the limit allows; counts are (parts, values)."""
    rows = int(reference.sum())
    here, expected = counts * rows, size[:, np.newaxis] * reference
    return np.asarray(at_most(here.ravel(), expected.ravel(), limit).reshape(counts.shape).all(axis=1))


def ratios_at_least(counts: Integers, size: Integers, reference: Integers, limit: Fraction) -> Flags:
    """Per part, whether no value of the table is rarer than one over the limit; one that is missing is."""
    rows = int(reference.sum())
    here, expected = counts * rows, size[:, np.newaxis] * reference
    return np.asarray(at_most(expected.ravel(), here.ravel(), limit).reshape(counts.shape).all(axis=1))
