"""The bounds of delta-disclosure and of enhanced beta-likeness for the judge, in as many digits as it takes.

Of delta-disclosure the greatest fraction below e^delta that a ratio of counts can be: by a walk through the
Stern-Brocot tree, each step as far as logarithms of many digits allow.
"""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from fractions import Fraction

MOST_DENOMINATOR = 10**16  # known values of the table, squared: 100 million
_DIGITS = 90


def greatest_below_exponential(delta: Fraction) -> Fraction:
    """The greatest fraction below e^delta with a denominator of at most MOST_DENOMINATOR.

    >>> greatest_below_exponential(Fraction(7, 10)) > Fraction(2)
    True
    """
    low, high = (0, 1), (1, 0)
    while True:
        steps = _most_steps(low, high, delta, below=True)
        low = low[0] + steps * high[0], low[1] + steps * high[1]
        more = _most_steps(high, low, delta, below=False)
        high = high[0] + more * low[0], high[1] + more * low[1]
        if low[1] + high[1] > MOST_DENOMINATOR:
            return Fraction(*low)


def _most_steps(start: tuple[int, int], step: tuple[int, int], delta: Fraction, *, below: bool) -> int:
    """How often a step can be added before the bound is crossed or the denominator is too large."""

    def fits(times: int) -> bool:
        over, under = start[0] + times * step[0], start[1] + times * step[1]
        return under <= MOST_DENOMINATOR and _is_below(over, under, delta) is below

    reach = 1
    while fits(reach):
        reach *= 2
    least, most = reach // 2, reach
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if fits(middle) else (least, middle)
    return least


def _is_below(over: int, under: int, delta: Fraction) -> bool:
    """Whether over / under < e^delta; logarithms of fractions are irrational, so that many digits tell."""
    if under == 0:
        return False
    if over == 0:
        return True
    with localcontext(Context(prec=_DIGITS)):
        apart = Decimal(over).ln() - Decimal(under).ln() - Decimal(delta.numerator) / Decimal(delta.denominator)
        if abs(apart) < Decimal(10) ** (20 - _DIGITS):
            raise ArithmeticError("a fraction is too close to e^delta to be compared with it")
        return apart < 0


def is_below_logarithm(here: int, known: int, everywhere: int, rows: int) -> bool:
    """Whether (q - p) / p <= -ln(p) for q = here / known and p = everywhere / rows.

    >>> is_below_logarithm(1, 2, 1, 2), is_below_logarithm(1, 1, 1, 2), is_below_logarithm(3, 3, 5, 5)
    (True, False, True)
    """
    if everywhere == rows:
        return here * rows <= known * everywhere
    digits = 40
    while True:
        with localcontext(Context(prec=digits)):
            excess = Decimal(here * rows - known * everywhere) / Decimal(known * everywhere)
            apart = Decimal(rows).ln() - Decimal(everywhere).ln() - excess
            if abs(apart) > (1 + abs(excess)) * Decimal(10) ** (5 - digits):
                return apart > 0
        digits *= 2  # the logarithm is irrational, so some number of digits decides
