"""t-closeness (Li et al. 2007): how far the values of a class are from those of the whole table.

The distance is the earth mover's: the least work that turns one distribution into the other, where moving a share
of the rows from value i to value j costs cost[i][j] times that share.  `transport_cost` solves that problem as it
stands.  The three closed forms the papers give are written out next to it, and tests compare them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from math import inf

from .classes import Rows, classes
from .values import order, same

Counts = Sequence[int]
Cost = Sequence[Sequence[Fraction]]


def shares(counts: Counts) -> list[Fraction]:
    return [Fraction(count, sum(counts)) for count in counts]


# -- the closed forms ------------------------------------------------------------------------------------


def equal_distance(here: Counts, everywhere: Counts) -> Fraction:
    """All values equally far from each other: half the sum of the differences of the shares.

    >>> equal_distance([1, 0, 0], [1, 1, 2])
    Fraction(3, 4)
    """
    pairs = zip(shares(here), shares(everywhere), strict=True)
    return sum((abs(a - b) for a, b in pairs), Fraction(0)) / 2


def ordered_distance(here: Counts, everywhere: Counts) -> Fraction:
    """Values in a row, neighbours 1 / (m - 1) apart: the sum of the differences of the cumulative shares.

    Li et al. 2007, section 5.1: the salaries 3k, 4k, 5k among the nine from 3k to 11k are 0.375 away.

    >>> ordered_distance([1, 1, 1, 0, 0, 0, 0, 0, 0], [1] * 9)
    Fraction(3, 8)
    """
    if len(everywhere) == 1:
        return Fraction(0)
    work, carried = Fraction(0), Fraction(0)
    for a, b in zip(shares(here), shares(everywhere), strict=True):
        carried += a - b
        work += abs(carried)
    return work / (len(everywhere) - 1)


def hierarchical_distance(here: Counts, everywhere: Counts, ways: Sequence[tuple[Hashable, ...]]) -> Fraction:
    """Values at the leaves of a tree: per level, what each node has too much, in either direction.

    ways: per value its labels from the leaf up to the root; all of one length.

    >>> hierarchical_distance([1, 0, 0], [1, 1, 2], [("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*")])
    Fraction(5, 8)
    """
    below_root = len(ways[0]) - 1
    work = Fraction(0)
    for level in range(below_root):
        extra: dict[tuple[Hashable, ...], Fraction] = {}
        for way, a, b in zip(ways, shares(here), shares(everywhere), strict=True):
            extra[way[level:]] = extra.get(way[level:], Fraction(0)) + a - b
        work += sum((abs(amount) for amount in extra.values()), Fraction(0))
    return work / (2 * below_root)


# -- what they are closed forms of -----------------------------------------------------------------------


def equal_cost(values: int) -> Cost:
    return [[Fraction(int(i != j)) for j in range(values)] for i in range(values)]


def ordered_cost(values: int) -> Cost:
    return [[Fraction(abs(i - j), max(values - 1, 1)) for j in range(values)] for i in range(values)]


def hierarchical_cost(ways: Sequence[tuple[Hashable, ...]]) -> Cost:
    """The level of the lowest common ancestor, divided by the level of the root.

    >>> hierarchical_cost([("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*")])[0]
    [Fraction(0, 1), Fraction(1, 2), Fraction(1, 1)]
    """

    def meet(one: tuple[Hashable, ...], other: tuple[Hashable, ...]) -> int:
        return next(level for level in range(len(one)) if one[level:] == other[level:])

    return [[Fraction(meet(one, other), len(one) - 1) for other in ways] for one in ways]


def transport_cost(here: Counts, everywhere: Counts, cost: Cost) -> Fraction:
    """The least work that turns the distribution `here` into `everywhere`, exactly.

    Shares are scaled to whole units.  Then, again and again, units are sent along the cheapest way from where there
    are too many to where there are too few, where undoing an earlier move earns its cost back (successive shortest
    paths, by Bellman and Ford).  Every way is the cheapest of its moment, so the sum is the least.

    >>> transport_cost([1, 0, 0], [1, 1, 2], equal_cost(3))
    Fraction(3, 4)
    """
    units = sum(here) * sum(everywhere)
    spare = [count * sum(everywhere) for count in here]  # not yet placed, per value of the class
    room = [count * sum(here) for count in everywhere]  # not yet filled, per value of the table
    sent = [[0] * len(room) for _ in spare]
    while any(spare):
        way = _cheapest_way(spare, room, sent, cost)
        undone = [sent[i][j] for i, j, forward in way if not forward]
        amount = min(spare[way[0][0]], room[way[-1][1]], *undone)
        for i, j, forward in way:
            sent[i][j] += amount if forward else -amount
        spare[way[0][0]] -= amount
        room[way[-1][1]] -= amount
    work = sum((cost[i][j] * sent[i][j] for i in range(len(spare)) for j in range(len(room))), Fraction(0))
    return work / units


Move = tuple[int, int, bool]  # from a value of the class to a value of the table; False: taken back


def _cheapest_way(spare: list[int], room: list[int], sent: list[list[int]], cost: Cost) -> list[Move]:
    """The moves from a value with spare units to one with room, at the least cost, undone moves included."""
    reached: list[Fraction | None] = [Fraction(0) if units else None for units in spare]
    placed: list[Fraction | None] = [None] * len(room)
    came_to: dict[int, list[Move]] = {}  # per value of the table
    came_from: dict[int, list[Move]] = {i: [] for i, units in enumerate(spare) if units}  # per value of the class
    for _ in range(len(spare) + len(room)):
        for i, at in enumerate(reached):
            for j in range(len(room)):
                if at is not None and (placed[j] is None or at + cost[i][j] < placed[j]):
                    placed[j], came_to[j] = at + cost[i][j], [*came_from[i], (i, j, True)]
        for j, at in enumerate(placed):
            for i in range(len(spare)):
                if at is not None and sent[i][j] and (reached[i] is None or at - cost[i][j] < reached[i]):
                    reached[i], came_from[i] = at - cost[i][j], [*came_to[j], (i, j, False)]
    ends = [(at, j) for j, at in enumerate(placed) if at is not None and room[j]]
    return came_to[min(ends)[1]]


# -- over a table ----------------------------------------------------------------------------------------


def class_distances(
    rows: Rows,
    quasi: Sequence[str],
    sensitive: str,
    distance: str,
    hierarchy: Mapping[str, tuple[str, ...]] | None = None,
    *,
    nulls_as_value: bool = False,
) -> dict[Hashable, Fraction | float]:
    """Per class the distance ('equal', 'ordered' or 'hierarchical') of its known values from those of the whole table.

    A class without a known value is infinitely far.  nulls_as_value: NULL is a value like any other.
    Ordered: numbers or dates, then NaN, then NULL.  Hierarchical: NULL is a branch of its own below the root.
    """
    found = {same(row[sensitive]): row[sensitive] for row in rows if nulls_as_value or row[sensitive] is not None}
    values = sorted(found, key=lambda key: order(found[key]) if distance == "ordered" else repr(key))
    measure: Callable[[Counts, Counts], Fraction] = {"equal": equal_distance, "ordered": ordered_distance}.get(
        distance, lambda here, all_of_it: hierarchical_distance(here, all_of_it, ways)
    )
    ways = [_way(found[key], hierarchy) for key in values] if hierarchy is not None else []
    everywhere = _counts(rows, sensitive, values)
    here = {key: _counts(held, sensitive, values) for key, held in classes(rows, quasi).items()}
    return {key: measure(counts, everywhere) if any(counts) else inf for key, counts in here.items()}


def _counts(rows: Rows, sensitive: str, values: Sequence[Hashable]) -> list[int]:
    held = Counter(same(row[sensitive]) for row in rows)
    return [held[value] for value in values]


def _way(value: object, hierarchy: Mapping[str, tuple[str, ...]]) -> tuple[Hashable, ...]:
    if value is not None:
        return hierarchy[str(value)]
    some = next(iter(hierarchy.values()))
    return (*(("null", level) for level in range(len(some) - 1)), some[-1])
