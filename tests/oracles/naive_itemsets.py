"""Frequent itemsets by asking every subset of every row, and what follows from printed supports by counting rows."""

from __future__ import annotations

from collections import Counter
from itertools import combinations


def supports(rows: list[frozenset], most: int) -> Counter:
    """Every set of at most so many items that some row has -> in how many."""
    found: Counter = Counter()
    for row in rows:
        for size in range(most + 1):
            found.update(combinations(sorted(row), size))
    return found


def frequent(rows: list[frozenset], least: int, most: int) -> dict[tuple, int]:
    return {one: number for one, number in supports(rows, most).items() if number >= least}


def small_groups(rows: list[frozenset], printed: dict[tuple, int], k: int) -> list[tuple]:
    """Of each printed set: the rows with exactly these of its items, where they are 1 to k - 1."""
    found = []
    for one in printed:
        groups = Counter(tuple(item for item in one if item in row) for row in rows)
        found += [(one, inside) for inside, number in groups.items() if 0 < number < k]
    return found
