"""DMPD's guarantees by loops over rows: groups, the join on the class row by row, an attacker's weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import prod

Row = tuple[object, ...]


def group_sizes(rows: Sequence[Row], places: Sequence[int]) -> Counter[Row]:
    return Counter(tuple(row[place] for place in places) for row in rows)


def join_size(rows: Sequence[Row], parts: Sequence[Sequence[int]], target: int, wanted: Row) -> int:
    """Rows of the natural join of the projections on the class that have these values, counted one by one."""
    found = 0
    by_part = []
    at = 0
    for places in parts:
        values = wanted[at : at + len(places)]
        at += len(places)
        by_part.append([row[target] for row in rows if tuple(row[place] for place in places) == values])
    for picked in product(*by_part):
        found += len(set(picked)) == 1
    return found


def joined_counts(rows: Sequence[Row], parts: Sequence[Sequence[int]], target: int) -> dict[Row, tuple[int, int]]:
    """Per combination that someone has: J, and the classes that are left."""
    classes = {row[target] for row in rows}
    held = {tuple(tuple(row[place] for place in places) for places in parts) for row in rows}
    counts = [Counter((tuple(row[place] for place in places), row[target]) for row in rows) for places in parts]
    found = {}
    for combination in held:
        each = [
            prod(counted[values, one] for counted, values in zip(counts, combination, strict=True)) for one in classes
        ]
        found[combination] = (sum(each), sum(number > 0 for number in each))
    return found


def level(rows: Sequence[Row], parts: Sequence[Sequence[int]], target: int) -> tuple[int, int]:
    """The least group of a projection, and the least J of a combination that someone has."""
    least = min(min(group_sizes(rows, places).values()) for places in parts)
    return least, min(size for size, _ in joined_counts(rows, parts, target).values())


def confidence(rows: Sequence[Row], parts: Sequence[Sequence[int]], target: int) -> Fraction:
    """The greatest share of a class among an attacker's weights, over the combinations that someone has."""
    sizes = Counter(row[target] for row in rows)
    counts = [Counter((tuple(row[place] for place in places), row[target]) for row in rows) for places in parts]
    worst = Fraction(0)
    for combination in {tuple(tuple(row[place] for place in places) for places in parts) for row in rows}:
        weights = [
            Fraction(prod(counted[values, one] for counted, values in zip(counts, combination, strict=True)))
            / sizes[one] ** (len(parts) - 1)
            for one in sizes
        ]
        worst = max(worst, max(weights) / sum(weights))
    return worst
