"""The classification metric of a set of cuts by its definition, and the least one by looking at every set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, combinations


def classes_of(rows: Sequence[dict], columns: Sequence[str], cuts: Iterable[tuple[str, int]]) -> list[list[dict]]:
    """Rows that lie between the same cuts in every column."""
    found: dict[tuple, list[dict]] = {}
    cuts = list(cuts)
    for row in rows:
        key = tuple(sum(row[name] >= at for column, at in cuts if column == name) for name in columns)
        found.setdefault(key, []).append(row)
    return list(found.values())


def metric(groups: Sequence[list[dict]], target: str, holds: Callable[[list[dict]], bool], most: int) -> int | None:
    """Rows of classes that fail, and rows that are not of the commonest class of theirs; None: too many fail."""
    out = sum(len(group) for group in groups if not holds(group))
    if out > most:
        return None
    inside = [Counter(row[target] for row in group) for group in groups if holds(group)]
    return out + sum(sum(counts.values()) - max(counts.values()) for counts in inside)


def best(rows, columns, cuts, target, holds, most) -> tuple[int, list[frozenset]]:
    """The least metric of all sets of cuts, and the sets that have it."""
    every = chain.from_iterable(combinations(cuts, size) for size in range(len(cuts) + 1))
    found = [(metric(classes_of(rows, columns, one), target, holds, most), frozenset(one)) for one in every]
    least = min(cost for cost, _ in found if cost is not None)
    return least, [one for cost, one in found if cost == least]
