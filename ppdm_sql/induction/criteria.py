"""How mixed the rows of a node are, from counts alone.

Every measure here is a total over the node's rows (n times the entropy, n times the Gini index, the sum of
squared errors), so that the gain of a split is the node's measure less the sum of its children's.
A histogram is the last axis of an array: rows per class, or for a numeric response (rows, sum, sum of squares).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Impurity = Callable[[Ints], Floats]

TIE = 1e-9  # scores nearer than this (per row, or as a share of the squared error) are equal


def entropy(counts: Ints) -> Floats:
    """Entropy in bits, times the rows.

    >>> float(entropy(np.array([9, 5])).round(4))  # 14 rows of 0.9403 bits
    13.164
    >>> entropy(np.array([[4, 0], [0, 0]])).tolist()
    [0.0, 0.0]
    """
    return np.asarray(times_log(counts.sum(axis=-1)) - times_log(counts).sum(axis=-1))


def gini(counts: Ints) -> Floats:
    """Gini index (the chance that two rows drawn with replacement differ in class), times the rows.

    >>> gini(np.array([[2, 2], [3, 0], [0, 0]])).tolist()
    [2.0, 0.0, 0.0]
    """
    rows = counts.sum(axis=-1)
    squares = (counts.astype(np.float64) ** 2).sum(axis=-1)
    return np.asarray(rows - squares / np.maximum(rows, 1))


def squared_error(moments: Ints) -> Floats:
    """Squared differences from the mean, added up, of (rows, sum, sum of squares).

    The whole number nearest to the mean is taken off first, exactly, so that a small spread around a large
    mean is not lost.

    >>> squared_error(np.array([[3, 6, 14], [2, 2_000_000_000, 1_000_000_000 ** 2 * 2]])).tolist()
    [2.0, 0.0]
    """
    rows, total, squares = moments[..., 0], moments[..., 1], moments[..., 2]
    centre = total // np.maximum(rows, 1)
    rest = total - centre * rows
    spread = squares - 2 * centre * total + centre * centre * rows
    return np.asarray(spread - rest.astype(np.float64) ** 2 / np.maximum(rows, 1))


def split_information(sizes: Ints) -> Floats:
    """Entropy in bits per row of the sizes of the branches: what a gain ratio divides by.

    >>> split_information(np.array([5, 4, 5])).round(4).tolist()
    1.5774
    """
    return np.asarray(entropy(sizes) / np.maximum(sizes.sum(axis=-1), 1))


def times_log(counts: NDArray[Any]) -> Floats:
    """Numbers times their binary logarithms; of 0 it is 0."""
    number = counts.astype(np.float64)
    return np.asarray(number * np.log2(np.maximum(number, 1)))
