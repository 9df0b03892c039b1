"""Groups along a curve, row by row, as the definition says it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction


def diverse_groups(rows: Sequence[tuple[int, object]], least: int) -> list[list[tuple[int, object]]]:
    """Rows (place on the curve, sensitive value) in groups of different values, those first that come first.

    A value of which more than one `least`-th of the rows that stay would be left must be in the next group.
    """
    left = sorted(rows)
    found = []
    while left:
        counts = {value: sum(1 for row in left if row[1] == value) for _, value in left}
        size = least
        while True:
            must = {value for value, count in counts.items() if count * least > len(left) - size}
            if len(must) <= size:
                break
            size = len(must)
        heads = {}
        for row in left:
            heads.setdefault(row[1], row)
        group = [heads[value] for value in must]
        group += [row for row in heads.values() if row[1] not in must][: size - len(group)]
        for row in group:
            left.remove(row)
        found.append(sorted(group))
    return found


def join_in_order(blocks: Sequence[list], holds: Callable[[list], bool]) -> list[list]:
    """Each join_in_order to the next until it holds; what is left takes back groups until it holds."""
    found: list[list] = []
    open_rows: list = []
    for block in blocks:
        open_rows = [*open_rows, *block]
        if holds(open_rows):
            found.append(open_rows)
            open_rows = []
    while found and open_rows and not holds(open_rows):
        open_rows = [*found.pop(), *open_rows]
    return [*found, open_rows] if open_rows else found


def nearest_face(point: Sequence[int], top: int) -> tuple[int, Fraction]:
    """The nearest centre of a face of a cube of this side, the first of several, and the square of its distance."""
    found = []
    for axis in range(len(point)):
        for end in (0, 1):
            centre = [Fraction(top, 2)] * len(point)
            centre[axis] = Fraction(end * top)
            distance = sum((one - there) ** 2 for one, there in zip(point, centre, strict=True))
            found.append((distance, 2 * axis + end))
    distance, face = min(found)
    return face, distance
