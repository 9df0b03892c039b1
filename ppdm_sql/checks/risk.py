"""How likely a person is found: prosecutor, journalist and marketer risk (El Emam and Dankar 2008).

A row's risk is 1 / the size of its class, in rows or in persons.  The relation stands for its own population:
a journalist's largest risk is then the prosecutor's, and no outside table is needed to say so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ppdm_sql.checks.exact_compare import Integers
from ppdm_sql.checks.size import Sizes
from ppdm_sql.requirements import decimal

THRESHOLDS = tuple(Fraction(hundredth, 100) for hundredth in (5, 10, 20, 33, 50))


@dataclass(frozen=True)
class Risk:
    """Shares and risks of one relation; an empty relation has none (None)."""

    prosecutor_max: Fraction | None  # the one who knows that the person is in the table
    prosecutor_mean: float | None  # over rows
    journalist_max: Fraction | None  # the one who wants to find anybody
    journalist_mean: float | None  # the larger one of the means over rows and over classes
    marketer: float | None  # the expected share of rows found
    rows_at_risk: tuple[tuple[Fraction, Fraction], ...]  # (risk, share of rows whose risk is above it)
    unique_rows: int  # rows alone in their class, or of one person alone

    def as_json(self) -> dict[str, Any]:
        named = {
            name: None if value is None else float(value)
            for name, value in vars(self).items()
            if name not in ("rows_at_risk", "unique_rows")
        }
        shares = {decimal(limit): float(share) for limit, share in self.rows_at_risk}
        return {**named, "rows_at_risk_above": shares, "unique_rows": self.unique_rows}


def risk(sizes: Sizes) -> Risk:
    """The risk figures of a relation's class sizes.

    >>> found = risk(Sizes(*(np.array(part) for part in ([1, 4], [1, 4], [2, 2]))))
    >>> found.prosecutor_max, found.prosecutor_mean, found.journalist_mean, found.unique_rows
    (Fraction(1, 1), 0.4, 0.625, 2)
    >>> [(str(limit), str(share)) for limit, share in found.rows_at_risk]
    [('1/20', '1'), ('1/10', '1'), ('1/5', '1'), ('33/100', '1/5'), ('1/2', '1/5')]
    """
    rows, classes = sizes.total_rows, sizes.total_classes
    if rows == 0:
        return Risk(None, None, None, None, None, (), 0)
    units = np.maximum(sizes.units, 1)  # nobody knows whose rows these are: nothing protects them
    highest = Fraction(1, int(units.min()))
    by_row = _mean(sizes.rows * sizes.classes, units, rows)
    by_class = _mean(sizes.classes, units, classes)
    shares = tuple((limit, Fraction(_rows_above(sizes, units, limit), rows)) for limit in THRESHOLDS)
    unique = int((sizes.rows * sizes.classes)[units == 1].sum())
    return Risk(highest, by_row, highest, max(by_row, by_class), by_row, shares, unique)


def _mean(weights: Integers, units: Integers, total: int) -> float:
    """The mean of 1 / units; a figure to read, so rounding it is no harm."""
    return math.fsum(weights / units) / total


def _rows_above(sizes: Sizes, units: Integers, limit: Fraction) -> int:
    """Rows whose risk 1 / units is above the limit."""
    return int((sizes.rows * sizes.classes)[units * limit.numerator < limit.denominator].sum())
