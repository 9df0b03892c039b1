"""Where in an interval a number lies, and which of several intervals a row gets: what PGEN leaves open.

Tian, Zhang, Xu, Sharkey, section 5: one of a path's intervals is picked, all alike, and in it the middle, an end or any
value.  Both choices are made in the recipes, so that one query makes the rows whatever was chosen.  A column that the
path does not ask for has no interval: it is drawn over its whole domain (line 8 of the algorithm).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from typing import Final

from ppdm_sql.pseudodata.domains import Bounds, Domain
from ppdm_sql.pseudodata.draws import PRIME
from ppdm_sql.pseudodata.paths import Recipe, whole

NUMBERS: Final = ("uniform", "midpoint", "endpoint")
BANDS: Final = ("even", "width")


def narrow_recipe(recipe: Recipe, domains: Mapping[int, Domain], numbers: str) -> Recipe:
    """The recipe with every interval of its path narrowed to its middle or to its closed end."""
    narrow = _middle if numbers == "midpoint" else _closed_end
    bounds = {
        number: tuple(narrow(one, domains[number].steps) for one in ranges) if number in recipe.asked else ranges
        for number, ranges in recipe.bounds.items()
    }
    return replace(recipe, bounds=bounds)


def _middle(bounds: Bounds, steps: Fraction | None) -> Bounds:
    """The middle as an interval of one value; of a grid the last value that does not lie beyond it.

    >>> from fractions import Fraction as F
    >>> [int(end) for end in _middle((F(0), F(121)), F(1))], [int(end) for end in _middle((F("30.9"), F(31.1)), F(1))]
    ([60, 61], [31, 32])
    """
    middle = (bounds[0] + bounds[1]) / 2
    if steps is None:
        # where two thresholds are one double apart, the middle may be the upper one
        middle = bounds[0] if float(middle) >= float(bounds[1]) else middle
        return middle, middle
    first, size = whole(bounds, steps)
    return _one_step(max(first, int(middle * steps // 1)), steps) if size else bounds


def _closed_end(bounds: Bounds, steps: Fraction | None) -> Bounds:
    if steps is None:
        return bounds[0], bounds[0]
    first, size = whole(bounds, steps)
    return _one_step(first, steps) if size else bounds


def _one_step(place: int, steps: Fraction) -> Bounds:
    return place / steps, (place + 1) / steps


def ends_by_width(ranges: tuple[Bounds, ...], steps: Fraction | None) -> list[int]:
    """Below which draw each interval ends, if draws from 0 to PRIME - 1 are shared out by width.

    The width of an interval of whole numbers is how many of them it has, so every value of the path is alike.

    >>> from fractions import Fraction as F
    >>> [PRIME // end for end in ends_by_width(((F(0), F(10)), (F(20), F(50))), F(1))]
    [4, 1]
    """
    widths = [high - low if steps is None else whole((low, high), steps)[1] for low, high in ranges]
    total = sum(widths)
    # a lone interval may be empty: its leaf has rows nevertheless
    return [int(PRIME * part // total) for part in accumulate(widths)] if total else [PRIME] * len(ranges)
