"""When two values are the same one: to the eye (quasi-identifiers), and as a fact (sensitive values)."""

from __future__ import annotations

import math
from collections.abc import Hashable
from datetime import date
from decimal import Decimal
from fractions import Fraction


def printed(value: object) -> str | None:
    """What a reader sees.  NULL is seen, and is not the word 'NULL' or an empty text.

    >>> printed(0.0) == printed(-0.0), printed(float("nan")) == printed(float("nan"))
    (False, True)
    >>> printed(Decimal("1.0")) == printed(Decimal("1.00")), printed("Ann") == printed("ANN")
    (False, False)
    >>> printed(None) in ("", "NULL", "None")
    False
    """
    return value if value is None or isinstance(value, str) else repr(value)


def same(value: object) -> Hashable:
    """What a value is as a fact: numbers by their size, words by their bytes, NULL one value of its own.

    >>> same(0.0) == same(-0.0), same(Decimal("1.0")) == same(Decimal("1.00")), same("flu") == same("Flu")
    (True, True, False)
    >>> same(None) == same("None"), same(float("nan")) == same(float("nan"))
    (False, True)
    """
    if value is None:
        return ("null",)
    if isinstance(value, bool | str | date):
        return (type(value).__name__, value)
    assert isinstance(value, int | float | Decimal)
    if math.isnan(value):
        return ("nan",)
    return ("infinite", value > 0) if math.isinf(value) else ("number", Fraction(value))


def order(value: object) -> tuple[int, object]:
    """A sort key: numbers or dates in their own order, then NaN, then NULL.

    >>> sorted([None, 2, float("nan"), float("-inf"), 1], key=order)
    [-inf, 1, 2, nan, None]
    """
    if value is None:
        return (2, 0)
    if isinstance(value, float) and math.isnan(value):
        return (1, 0)
    return (0, value)
