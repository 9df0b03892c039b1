"""Alpha, both betas and delta by their definitions, value by value in exact fractions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction


def shares(values: Iterable[object]) -> dict[object, Fraction]:
    """Share of every known value.

    >>> shares(["a", "a", None, "b"])
    {'a': Fraction(2, 3), 'b': Fraction(1, 3)}
    """
    counts = Counter(value for value in values if value is not None)
    total = sum(counts.values())
    return {value: Fraction(count, total) for value, count in counts.items()}


def alpha(members: Sequence[object]) -> Fraction | float:
    """The largest share in a class (Wong et al. 2006)."""
    return max(shares(members).values(), default=math.inf)


def beta(members: Sequence[object], everybody: Sequence[object]) -> Fraction | float:
    """The largest (q - p) / p of a value (Cao and Karras 2012, Definition of basic beta-likeness)."""
    table = shares(everybody)
    return max(((share - table[value]) / table[value] for value, share in shares(members).items()), default=math.inf)


def enhanced_beta(members: Sequence[object], everybody: Sequence[object]) -> Fraction | float:
    """The least beta of enhanced beta-likeness; infinite where a value is above its own limit -ln(p)."""
    table = shares(everybody)
    for value, share in shares(members).items():
        with localcontext(prec=60):
            limit = Decimal(table[value].denominator).ln() - Decimal(table[value].numerator).ln()
            excess = (share - table[value]) / table[value]
            if Decimal(excess.numerator) / Decimal(excess.denominator) > limit:
                return math.inf
    return beta(members, everybody)


def delta_ratio(members: Sequence[object], everybody: Sequence[object]) -> Fraction | float:
    """The largest of q / p and p / q over all values of the table; infinite where one is missing."""
    found = shares(members)
    ratios = [found.get(value, Fraction(0)) / share for value, share in shares(everybody).items()]
    if not found or not all(ratios):
        return math.inf
    return max(max(ratio, 1 / ratio) for ratio in ratios)


def delta_holds(ratio: Fraction | float, delta: Fraction) -> bool:
    """Ln(ratio) < delta, in 60 digits."""
    if ratio == math.inf:
        return False
    with localcontext(prec=60):
        logarithm = Decimal(ratio.numerator).ln() - Decimal(ratio.denominator).ln()
        return logarithm < Decimal(delta.numerator) / Decimal(delta.denominator)
