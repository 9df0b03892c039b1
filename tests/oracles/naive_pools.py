"""What someone who reads only the printed numbers can find out about the cells of a pool, by linear programs."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog


def hidden_cells(one, label: int, *, nulls: bool) -> list[int]:
    """The cells of a class that are not printed; the last is NULL, which is never printed where it may occur."""
    width = one.width + nulls
    return [code for code in range(width) if code >= one.width or one.counts[label][code] is None]


def narrowest_range(one, label: int, rows: int, *, nulls: bool) -> float:
    """Of all cells in the pool: the least difference between the most and the fewest rows that one can have.

    Known: the rows of the class, the printed cells, which cells are in the pool, and its rows.
    """
    pool = one.pools[label]
    if pool is None:
        return float("inf")
    width = one.width + nulls
    known = [np.ones(width)]
    values = [float(rows)]
    for code in range(one.width):
        if one.counts[label][code] is not None:
            known.append(np.eye(width)[code])
            values.append(float(one.counts[label][code]))
    known.append(np.array([float(code in pool.codes) for code in range(width)]))
    values.append(float(pool.rows))
    if nulls and one.width not in pool.codes:
        known.pop(0)  # the rest of the class is NULL
        values.pop(0)
    ranges = []
    for code in pool.codes:
        ends = [
            linprog(sign * np.eye(width)[code], A_eq=np.array(known), b_eq=np.array(values), bounds=(0, None)).fun
            for sign in (1, -1)
        ]
        ranges.append(-ends[1] - ends[0])
    return min(ranges)
