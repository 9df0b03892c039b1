"""What a release costs, by definition and row by row: accuracy, AUC, R squared, discernibility, classification metric."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction

from .classes import Rows, classes
from .values import printed


def class_auc(positive: Sequence[bool], scores: Sequence[float]) -> Fraction | None:
    """The share of pairs (one of the class, one not) that are in the right order; a tie is half a pair.

    >>> class_auc([True, False, False], [0.5, 0.5, 0.1])
    Fraction(3, 4)
    """
    inside = [score for score, mine in zip(scores, positive, strict=True) if mine]
    outside = [score for score, mine in zip(scores, positive, strict=True) if not mine]
    if not inside or not outside:
        return None
    won = sum(2 * (one > other) + (one == other) for one in inside for other in outside)
    return Fraction(won, 2 * len(inside) * len(outside))


def auc(truth: Sequence[int], scores: Sequence[Sequence[float]]) -> Fraction | None:
    """The AUC of each class against all others, weighted by its rows; truth is the number of a class."""
    total, weight = Fraction(0), 0
    for number in range(len(scores[0]) if scores else 0):
        mine = [one == number for one in truth]
        found = class_auc(mine, [row[number] for row in scores])
        if found is not None:
            total += found * sum(mine)
            weight += sum(mine)
    return total / weight if weight else None


def r_squared(truth: Sequence[Fraction], told: Sequence[Fraction]) -> Fraction | None:
    """1 - what is left open / what the mean leaves open."""
    if not truth:
        return None
    mean = sum(truth, Fraction(0)) / len(truth)
    whole = sum(((one - mean) ** 2 for one in truth), Fraction(0))
    left = sum(((one - other) ** 2 for one, other in zip(truth, told, strict=True)), Fraction(0))
    return 1 - left / whole if whole else None


def discernibility(rows: Rows, quasi: Sequence[str], dropped: int) -> int:
    """Each row costs the size of its class, a dropped one the size of the table."""
    return sum(len(held) ** 2 for held in classes(rows, quasi).values()) + dropped * (len(rows) + dropped)


def classification_metric(rows: Rows, quasi: Sequence[str], target: str, dropped: int) -> Fraction | None:
    """The share of rows that are dropped, or not of the commonest target of their class.

    >>> rows = [{"q": 1, "y": label} for label in "aaaaabbbc"]
    >>> classification_metric(rows, ["q"], "y", 0)
    Fraction(4, 9)
    """
    if not len(rows) + dropped:
        return None
    minority = 0
    for held in classes(rows, quasi).values():
        counted: Counter[Hashable] = Counter(printed(row[target]) for row in held)
        minority += len(held) - max(counted.values())
    return Fraction(minority + dropped, len(rows) + dropped)
