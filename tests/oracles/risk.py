"""Re-identification risk: the chance that a link between a row and a person is right.

Prosecutor: the attacker knows the person is in the table; the risk of a row is 1 / size of its class.
Marketer: the attacker links everybody; what counts is the share of links that are right.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from .classes import Rows, classes


def row_risks(rows: Rows, quasi: Sequence[str]) -> list[Fraction]:
    """Per row, one by the size of its class."""
    return [Fraction(1, len(held)) for held in classes(rows, quasi).values() for _ in held]


def highest_risk(rows: Rows, quasi: Sequence[str]) -> Fraction:
    """Prosecutor risk of the row most at risk.

    >>> rows = [{"a": 1}, {"a": 1}, {"a": 2}, {"a": 2}, {"a": 2}]
    >>> highest_risk(rows, ["a"]), average_risk(rows, ["a"]), marketer_risk(rows, ["a"])
    (Fraction(1, 2), Fraction(2, 5), Fraction(2, 5))
    """
    return max(row_risks(rows, quasi))


def average_risk(rows: Rows, quasi: Sequence[str]) -> Fraction:
    """Prosecutor risk of a row on average."""
    risks = row_risks(rows, quasi)
    return sum(risks, Fraction(0)) / len(risks)


def marketer_risk(rows: Rows, quasi: Sequence[str]) -> Fraction:
    """The share of right links when each class is linked at random: one right link a class."""
    return Fraction(len(classes(rows, quasi)), len(rows))


def share_above(rows: Rows, quasi: Sequence[str], threshold: Fraction) -> Fraction:
    """The share of rows whose prosecutor risk is above a threshold.

    >>> share_above([{"a": 1}, {"a": 1}, {"a": 2}, {"a": 2}, {"a": 2}], ["a"], Fraction(1, 3))
    Fraction(2, 5)
    """
    risks = row_risks(rows, quasi)
    return Fraction(sum(risk > threshold for risk in risks), len(risks))
