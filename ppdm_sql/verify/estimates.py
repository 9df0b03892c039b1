"""The share of a population that is unique, by the class sizes of a sample of it: the judge's own estimate.

Pitman's formula (Hoshino 2001) for samples of up to a tenth of the population, Zayatz's (1991) for larger ones, as
Dankar et al. (2012) advise.  The parameters are found where the derivatives of the likelihood are zero, each by
halving, and chances are products of ratios; checks/population.py searches the likelihood itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

_TENTH = Fraction(1, 10)
_MILLION = 10**6
_HALVINGS = 80


def unique_share(counts: Mapping[int, int], fraction: Fraction) -> Fraction:
    """The estimate in millionths, rounded up.

    counts: class size -> classes.

    >>> unique_share({1: 4, 2: 3}, Fraction(1))
    Fraction(2, 5)
    >>> unique_share({2: 5}, Fraction(1, 10))
    Fraction(0, 1)
    """
    rows = sum(size * classes for size, classes in counts.items())
    alone = counts.get(1, 0)
    if not alone:
        return Fraction(0)
    population = math.ceil(rows / fraction)
    found = _pitman(counts, rows, population) if fraction <= _TENTH else _zayatz(counts, rows, population)
    return Fraction(math.ceil(found * _MILLION - 1e-3), _MILLION)


def _zayatz(counts: Mapping[int, int], rows: int, population: int) -> float:
    drawn = {size: classes * _drawn_once(size, rows, population) for size, classes in counts.items()}
    return drawn[1] / math.fsum(drawn.values()) * counts[1] / rows


def _drawn_once(size: int, rows: int, population: int) -> float:
    """The chance that exactly one of `size` members is among the `rows` that are drawn from the population."""
    out = population - rows
    if size - 1 > out:
        return 0.0
    chance = size * rows / population
    for step in range(size - 1):
        chance *= (out - step) / (population - 1 - step)
    return chance


def _pitman(counts: Mapping[int, int], rows: int, population: int) -> float:
    alone = counts[1]
    if alone == rows or population <= rows:
        return alone / rows
    alpha = _root(lambda value: _alpha_slope(counts, value, _theta(counts, rows, value)), 1e-9, 1 - 1e-9)
    theta = _theta(counts, rows, alpha)
    told = math.lgamma(theta + 1) - math.lgamma(theta + alpha) + alpha * math.log(population)
    return min(math.exp(told) / population, alone / rows)


def _theta(counts: Mapping[int, int], rows: int, alpha: float) -> float:
    """The theta of the largest likelihood for an alpha; above -alpha."""
    classes = sum(counts.values())

    def slope(logarithm: float) -> float:
        theta = math.exp(logarithm) - alpha
        ratio = theta / alpha
        of_classes = (_digamma(ratio + classes) - _digamma(ratio + 1)) / alpha
        return of_classes - (_digamma(theta + rows) - _digamma(theta + 1))

    return math.exp(_root(slope, -30.0, 40.0)) - alpha


def _alpha_slope(counts: Mapping[int, int], alpha: float, theta: float) -> float:
    """The derivative of the likelihood by alpha."""
    classes, ratio = sum(counts.values()), theta / alpha
    told = (classes - 1) / alpha - ratio / alpha * (_digamma(ratio + classes) - _digamma(ratio + 1))
    below = _digamma(1 - alpha)
    return told - math.fsum(many * (_digamma(size - alpha) - below) for size, many in counts.items())


def _root(slope: Callable[[float], float], low: float, high: float) -> float:
    """Where a derivative goes from above zero to below."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return (low + high) / 2


def _digamma(value: float) -> float:
    """The derivative of the logarithm of the gamma function, for values above zero.

    >>> round(_digamma(1.0), 10)
    -0.5772156649
    """
    below = 0.0
    while value < 8:
        below += 1 / value
        value += 1
    square = 1 / (value * value)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))))
    return math.log(value) - 0.5 / value - series - below
