"""How a preserved tree lets a column be recoded: from the distinct values and how many rows hold each.

Fu, Chen, Koru, Gangopadhyay: tree-pattern-preserving sanitization.  Their steps, and where they are here:

    step 2   attributes no tree uses become constant     tpp (nothing to compute)
    step 3a-c  intervals of a number                     intervals; whole_intervals where they are published as such
    step 3d  shift the boundaries                        recode_numbers
    step 4   categories that every node keeps together   recode_categories

Their step 3d moves the two boundaries of each node on their own, so that a value which is a boundary of two nodes
is moved twice and an earlier threshold is lost.  Here all nodes that share boundaries move by one distance.
Everything is exact: values are integers (units of the column's last digit, days, microseconds) or Fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise

Number = int | Fraction
Pair = tuple[int, int]  # places of v1 and v2 in the column's order: the last value left, the first one right
_TRIES = 400  # distances tried until one gives numbers the column's type can hold


@dataclass(frozen=True)
class Interval:
    """Places first .. last of the column's values; which of its ends is a boundary of a node."""

    first: int
    last: int
    opens: bool  # its first value is the least one right of some cut
    closes: bool  # its last value is the greatest one left of some cut


@dataclass(frozen=True)
class Recoded:
    """Per value of a column the number of its group, and per group what is published."""

    groups: tuple[int, ...]
    published: tuple[Number, ...]
    kept: frozenset[int] = frozenset()  # places of the boundaries that are published unchanged


# -- numbers ---------------------------------------------------------------------------------------------


def recode_numbers(
    values: Sequence[Number],
    rows: Sequence[int],
    pairs: Sequence[Pair],
    *,
    grid: Number | None = None,
    absorb: bool = False,
    paper: bool = False,
    fits: Callable[[Number], bool] | None = None,
) -> Recoded:
    """What the nodes that cut a column between these pairs allow to be published of it.

    grid: distances are rounded down to a multiple of it (None: they stay exact).  absorb: values between the
    boundaries of every node join the interval on their left instead of getting a mean of their own.  paper: the
    literal step 3d.  fits: whether the column's type can hold a number.

    >>> shown = recode_numbers([1, 2, 3, 10, 12, 14], [1] * 6, [(2, 3)])
    >>> [str(shown.published[group]) for group in shown.groups]
    ['2', '2', '2', '11', '11', '11']
    """
    found = intervals(rows, pairs)
    means = [_mean(values, rows, one) for one in found]
    place = {at: number for number, one in enumerate(found) for at in range(one.first, one.last + 1)}
    published = _literal(values, means, pairs, place) if paper else {}
    if not paper:
        for component in _components(pairs):
            published |= _shifted(values, means, component, place, grid, fits)
    for number, one in enumerate(found):
        if not one.opens and not one.closes:
            joined = absorb and number > 0
            published[number] = published[number - 1] if joined else _inside(values, means[number], one, grid, fits)
    boundaries = {at for pair in pairs for at in pair}
    kept = frozenset(at for at in boundaries if published[place[at]] == values[at])
    distinct = {number: at for at, number in enumerate(sorted(set(published.values())))}
    groups = tuple(distinct[published[place[at]]] for at in range(len(values)))
    return Recoded(groups, tuple(distinct), kept)


def intervals(rows: Sequence[int], pairs: Sequence[Pair]) -> list[Interval]:
    """The column cut after every v1 and before every v2; an interval with a boundary at both ends is halved.

    >>> [(one.first, one.last) for one in intervals([1] * 12, [(2, 3), (8, 9)])]
    [(0, 2), (3, 5), (6, 8), (9, 11)]
    """
    left, right = {pair[0] for pair in pairs}, {pair[1] for pair in pairs}
    starts = sorted({0, *(at + 1 for at in left), *right})
    found = []
    for first, following in pairwise([*starts, len(rows)]):
        last = following - 1
        if first in right and last in left and first < last:
            middle = _halfway(rows, first, last)
            found += [Interval(first, middle, True, False), Interval(middle + 1, last, False, True)]
        else:
            found.append(Interval(first, last, first in right, last in left))
    return found


def whole_intervals(size: int, pairs: Sequence[Pair]) -> tuple[int, ...]:
    """Per place of a value the number of its interval: cut after every v1 and before every v2, and nowhere else.

    An interval that is published as such needs no number that stands for both of its ends, so it is not halved.

    >>> whole_intervals(6, [(1, 2), (1, 4)])
    (0, 0, 1, 1, 2, 2)
    """
    starts = {at + 1 for at, _ in pairs} | {at for _, at in pairs}
    return tuple(accumulate(int(at > 0 and at in starts) for at in range(size)))


def _halfway(rows: Sequence[int], first: int, last: int) -> int:
    """The last place of the left half: as even in rows as whole values allow, of equal ones the smaller left."""
    total = sum(rows[first : last + 1])
    below = list(accumulate(rows[first:last]))
    return first + min(range(len(below)), key=lambda at: (abs(total - 2 * below[at]), at))


def _mean(values: Sequence[Number], rows: Sequence[int], one: Interval) -> Fraction:
    inside = range(one.first, one.last + 1)
    return Fraction(sum(values[at] * rows[at] for at in inside), sum(rows[at] for at in inside))


def _components(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """Pairs that share values, directly or through others, are moved together."""
    found: list[list[Pair]] = []
    for pair in dict.fromkeys(pairs):
        touching = [one for one in found if any(set(pair) & set(other) for other in one)]
        found = [one for one in found if one not in touching]
        found.append([pair, *(other for one in touching for other in one)])
    return found


def _shifted(
    values: Sequence[Number],
    means: Sequence[Fraction],
    component: Sequence[Pair],
    place: dict[int, int],
    grid: Number | None,
    fits: Callable[[Number], bool] | None,
) -> dict[int, Number]:
    """All boundaries of a component by one distance towards the means: every sum v1 + v2 stays."""
    left, right = {pair[0] for pair in component}, {pair[1] for pair in component}
    room = min(
        [*(values[at] - means[place[at]] for at in left), *(means[place[at]] - values[at] for at in right)]
    )  # the value that is both left and right stands alone, so there is no room
    sides = [*((at, -1) for at in left), *((at, 1) for at in right)]
    if left & right:
        return {place[at]: values[at] for at, _ in sides}
    for distance in _distances(room, grid, fits is not None):
        moved = {place[at]: values[at] + sign * distance for at, sign in sides}
        if fits is None or all(fits(number) for number in moved.values()):
            return moved
    return {place[at]: values[at] for at, _ in sides}


def _distances(room: Fraction, grid: Number | None, several: bool) -> list[Number]:
    """The largest distance the grid allows; where numbers may not fit their type, smaller ones too."""
    if grid is None:
        return [room]
    most = room // grid
    step = max(1, most // _TRIES)
    return [grid * steps for steps in (range(most, 0, -step) if several else [most])]


def _inside(
    values: Sequence[Number],
    mean: Fraction,
    one: Interval,
    grid: Number | None,
    fits: Callable[[Number], bool] | None,
) -> Number:
    """The mean of an interval without boundary, rounded down to the grid of its least value."""
    least = values[one.first]
    if grid is None:
        return mean
    for distance in _distances(mean - least, grid, fits is not None):
        if fits is None or fits(least + distance):
            return least + distance
    return least


def _literal(
    values: Sequence[Number], means: Sequence[Fraction], pairs: Sequence[Pair], place: dict[int, int]
) -> dict[int, Number]:
    """Step 3d as it is printed: node by node, the later one overwrites."""
    published: dict[int, Number] = {}
    for low, high in pairs:
        room = min(values[low] - means[place[low]], means[place[high]] - values[high])
        published[place[low]], published[place[high]] = values[low] - room, values[high] + room
    return published


def threshold_sums_kept(values: Sequence[Number], recoded: Recoded, pairs: Sequence[Pair]) -> bool:
    """Theorem 1, condition 3: the order is kept, and with it every v1 + v2, and every cut is still there."""
    shown = [recoded.published[group] for group in recoded.groups]
    rising = all(low <= high for low, high in pairwise(shown))
    return rising and all(
        shown[low] + shown[high] == values[low] + values[high] and shown[low] < shown[high] for low, high in pairs
    )


# -- categories ------------------------------------------------------------------------------------------


def recode_categories(size: int, nodes: Sequence[Sequence[Sequence[int]]]) -> tuple[int, ...]:
    """The group of every code: codes that every node sends the same way, or never sees, are together.

    nodes: per node that splits the column, the codes of each of its branches.  Groups are numbered by
    their least code.

    >>> recode_categories(5, [[[0, 1], [2, 3, 4]], [[2], [3, 4]]])
    (0, 0, 1, 2, 2)
    """
    signature: list[list[int]] = [[-1] * len(nodes) for _ in range(size)]
    for number, branches in enumerate(nodes):
        for branch, codes in enumerate(branches):
            for code in codes:
                signature[code][number] = branch
    numbers: dict[tuple[int, ...], int] = {}
    return tuple(numbers.setdefault(tuple(one), len(numbers)) for one in signature)
