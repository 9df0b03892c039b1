"""Mean risk, unique rows and k on every m columns by their definitions, row by row in exact fractions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations

Row = Mapping[str, object]


def sizes(rows: Sequence[Row], columns: Sequence[str]) -> list[int]:
    """Per row how many rows agree with it in these columns."""
    keys = [tuple(row[name] for name in columns) for row in rows]
    counts = Counter(keys)
    return [counts[key] for key in keys]


def average_risk(rows: Sequence[Row], columns: Sequence[str]) -> Fraction:
    """The mean of 1 / size over the rows."""
    return sum((Fraction(1, size) for size in sizes(rows, columns)), Fraction(0)) / len(rows)


def weighted(rows: Sequence[Row], columns: Sequence[str], weight: str) -> tuple[Fraction, Fraction, Fraction]:
    """The sum of all weights; the highest and the mean of 1 / the weights of the rows that agree, over the rows."""
    people: dict[tuple[object, ...], Fraction] = {}
    keys = [tuple(row[name] for name in columns) for row in rows]
    for key, row in zip(keys, rows, strict=True):
        people[key] = people.get(key, Fraction(0)) + Fraction(str(row[weight]))
    risks = [1 / people[key] for key in keys]
    return sum(people.values(), Fraction(0)), max(risks), sum(risks, Fraction(0)) / len(risks)


def unique(rows: Sequence[Row], columns: Sequence[str]) -> Fraction:
    """The share of the rows that no other row agrees with."""
    return Fraction(sizes(rows, columns).count(1), len(rows))


def least_of_every(rows: Sequence[Row], columns: Sequence[str], m: int) -> int:
    """The smallest class over any m of the columns."""
    return min(min(sizes(rows, known)) for known in combinations(columns, min(m, len(columns))))
