"""Combinations of quasi-identifiers in the order of a curve: what is near on the curve is alike in every column.

    hilbert    the Hilbert curve through a cube (Skilling: Programming the Hilbert curve, 2004)
    idistance  by the nearest of the centres of the cube's faces, then by the distance from it (Yu et al., VLDB 2001)

A column is a side of the cube.  Its values are places by their rank, so that a few large numbers do not push all others
together, and every side is equally long, so that no column counts more than another one.  All numbers are whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np

from ppdm_sql.cells.cells import Ints

_MOST_BITS = 16  # of a side
_WORD = 62  # bits of an index that are kept in one number


def curve_order(codes: Sequence[Ints], sizes: Sequence[int], curve: str) -> Ints:
    """The places of the points in the order of the curve; points that are alike stay in theirs.

    codes: per column the rank of every point, below the column's size.

    >>> curve_order([np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])], [2, 2], "hilbert").tolist()
    [0, 2, 3, 1]
    """
    bits = min(_MOST_BITS, max(1, *((size - 1).bit_length() for size in sizes)))
    top = (1 << bits) - 1
    points = np.stack(
        [column.astype(np.int64) * top // max(size - 1, 1) for column, size in zip(codes, sizes, strict=True)]
    )
    return np.lexsort(_KEYS[curve](points, bits)[::-1])


def hilbert_index(points: Ints, bits: int) -> list[Ints]:
    """The index of every point on the Hilbert curve, in words, the highest first; points: (column, point) -> place.

    >>> [word.tolist() for word in hilbert_index(np.array([[0, 0, 1, 1], [0, 1, 1, 0]]), 1)]
    [[0, 1, 2, 3]]
    """
    axes = points.copy()
    columns = len(axes)
    for level in reversed(range(1, bits)):
        low = (1 << level) - 1
        for place in range(columns):
            turned = (axes[place] >> level) & 1 == 1
            exchanged = np.where(turned, 0, (axes[0] ^ axes[place]) & low)
            axes[place] ^= exchanged
            axes[0] ^= np.where(turned, low, exchanged)
    for place in range(1, columns):
        axes[place] ^= axes[place - 1]
    flips = np.zeros_like(axes[0])
    for level in reversed(range(1, bits)):
        flips ^= np.where((axes[-1] >> level) & 1 == 1, (1 << level) - 1, 0)
    axes ^= flips
    words: list[Ints] = []
    for number, (level, place) in enumerate(product(reversed(range(bits)), range(columns))):
        if number % _WORD == 0:
            words.append(np.zeros_like(axes[0]))
        words[-1] = words[-1] << 1 | (axes[place] >> level) & 1
    return words


def distance_index(points: Ints, bits: int) -> list[Ints]:
    """Per point the nearest centre of a face and the square of the distance from it, in half places.

    Only squares are compared, so all is decided in whole numbers: 64 columns of 16 bits stay below 2^41.
    """
    top = 2 * ((1 << bits) - 1)
    half = top // 2
    halves = 2 * points
    to_middle = (halves - half) ** 2
    whole = to_middle.sum(axis=0)
    best = np.full(points.shape[1], np.iinfo(np.int64).max)
    nearest = np.zeros(points.shape[1], dtype=np.int64)
    for place in range(len(points)):
        for end in (0, 1):
            distance = whole - to_middle[place] + (halves[place] - end * top) ** 2
            closer = distance < best
            best, nearest = np.where(closer, distance, best), np.where(closer, 2 * place + end, nearest)
    return [nearest, best]


_KEYS: Mapping[str, Callable[[Ints, int], list[Ints]]] = {"hilbert": hilbert_index, "idistance": distance_index}
CURVES = tuple(_KEYS)
