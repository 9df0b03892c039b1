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

    >>> float(ratio_limit(Fraction(1)))
    2.718281828459045
    """
    with localcontext(Context(prec=_DIGITS)):
        target = Fraction((Decimal(delta.numerator) / Decimal(delta.denominator)).exp())
    return _greatest_below(target)


@cache
def logarithm_limit(rows: int, everywhere: int) -> Fraction:
    """The same for 1 - ln(p), where the share p of a value is everywhere / rows.

    >>> float(logarithm_limit(2, 1)), logarithm_limit(5, 5)
    (1.6931471805599454, Fraction(1, 1))
    """
    if everywhere == rows:
        return Fraction(1)
    with localcontext(Context(prec=_DIGITS)):
        target = Fraction(1 + Decimal(rows).ln() - Decimal(everywhere).ln())
    return _greatest_below(target)


def _greatest_below(target: Fraction) -> Fraction:
    """By the continued fraction of an irrational number, given with many digits.

    Its last two approximations lie on both sides, and no fraction with a smaller denominator lies between them.
    """
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


def ratios_below_logarithm(counts: Integers, size: Integers, reference: Integers) -> Flags:
    """Per part, whether the ratio of every value is at most 1 - ln(its share in the table)."""
    rows = int(reference.sum())
    fine = np.ones(len(counts), dtype=np.bool_)
    for everywhere in np.unique(reference[reference > 0]).tolist():
        alike = reference == everywhere
        here, expected = counts[:, alike].max(axis=1) * rows, size * everywhere
        fine &= at_most(here, expected, logarithm_limit(rows, int(everywhere)))
    return fine


def ratios_at_least(counts: Integers, size: Integers, reference: Integers, limit: Fraction) -> Flags:
    """Per part, whether no value of the table is rarer than one over the limit; one that is missing is."""
    rows = int(reference.sum())
    here, expected = counts * rows, size[:, np.newaxis] * reference
    return np.asarray(at_most(expected.ravel(), here.ravel(), limit).reshape(counts.shape).all(axis=1))
