"""The number that is published for a cut between two neighbouring values.

A midpoint reveals the sum of two people's values, and with one of them known, the other.  So a cut is the
roundest decimal strictly between them: it depends on the gap and reveals no more than the gap.
"""

from __future__ import annotations

from datetime import datetime, time, timedelta
from decimal import Decimal, localcontext

import numpy as np

from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.source.lines import moment_line, number_line
from ppdm_sql.trees.tree import Attribute

_YES = np.ones(1, dtype=bool)


def between(low: object, high: object, attribute: Attribute, declared: str, *, midpoint: bool) -> Decimal | str:
    """A threshold t with low < t <= high, strictly below high where the type has something between.

    >>> age = Attribute("age", Kind.INTEGER, ordered=True)
    >>> [str(between(a, b, age, "INTEGER", midpoint=False)) for a, b in ((30, 31), (17, 23), (38, 61))]
    ['30.5', '20', '50']
    >>> str(between(30, 61, age, "INTEGER", midpoint=True))
    '45.5'
    """
    if attribute.kind in (Kind.DATE, Kind.TIMESTAMP):
        return _moment(str(low), str(high), attribute, declared, midpoint)
    if attribute.kind is Kind.FLOAT:
        return _float(float(low), float(high), declared, midpoint)  # type: ignore[arg-type]
    one, two = Decimal(low), Decimal(high)  # type: ignore[arg-type]
    if midpoint:
        return _half(one, two)
    finer = ColumnInfo(attribute.name, Kind.DECIMAL, declared)  # whole numbers have 30.5 between 30 and 31
    return Decimal(number_line([one, two], finer).boundaries(np.array([1]), _YES)[0])


def _half(one: Decimal, two: Decimal) -> Decimal:
    with localcontext() as exact:
        exact.prec = 400  # sums of two doubles have at most about 330 digits when printed shortest
        return (one + two) / 2


def _float(low: float, high: float, declared: str, midpoint: bool) -> Decimal:
    """Compared as doubles, so that is what counts: the decimal's double must lie above low."""
    if high != high:  # NaN: everything finite lies below it
        high = float("inf")
    if midpoint and np.isfinite(low) and np.isfinite(high):
        found = _half(Decimal(repr(low)), Decimal(repr(high)))
    else:
        info = ColumnInfo("x", Kind.FLOAT, declared)
        found = Decimal(number_line([low, high], info).boundaries(np.array([1]), _YES)[0])
    if not low < float(found) <= high:
        return Decimal(repr(float(high)))  # the next double: nothing lies between
    return found


def _moment(low: str, high: str, attribute: Attribute, declared: str, midpoint: bool) -> str:
    info = ColumnInfo(attribute.name, attribute.kind, declared)
    if midpoint:
        try:
            one, two = datetime.fromisoformat(low), datetime.fromisoformat(high)
            half = one + (two - one) / 2
            if attribute.kind is Kind.DATE:  # a date has no half: the day that the middle falls into, or the next
                half = datetime.combine(half.date() + timedelta(days=half.time() > time.min), time.min)
                return half.date().isoformat()
            return (half if half > one else two).isoformat(sep=" ")
        except ValueError:  # infinite, or before the year 1
            pass
    return moment_line([low, high], info).boundaries(np.array([1]), _YES)[0]
