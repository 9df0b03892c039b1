"""What a search over accuracy and anonymity found: points no other beats, and how good several runs are at each k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

Point = tuple[int, float]  # K, accuracy


@dataclass(frozen=True)
class Attained:
    """What the best, the median and the worst run attain at a k; None where a run has nothing of that k."""

    k: int
    best: float | None
    median: float | None
    worst: float | None


def attainment(runs: Sequence[Sequence[Point]], levels: Sequence[int] | None = None) -> list[Attained]:
    """The surfaces at the levels that occur, or at those that are asked for.

    >>> runs = [[(3, .86), (100, .83)], [(3, .85), (200, .83)], [(5, .84), (100, .82)]]
    >>> attainment(runs, [100, 200])[1]
    Attained(k=200, best=0.83, median=None, worst=None)
    """
    asked = sorted({level for run in runs for level, _ in run}) if levels is None else levels
    return [_attained(runs, level) for level in asked]


def _attained(runs: Sequence[Sequence[Point]], level: int) -> Attained:
    reached = [[accuracy for k, accuracy in run if k >= level] for run in runs]
    ordered = sorted((max(one) if one else float("-inf") for one in reached), reverse=True)
    found = [ordered[0], ordered[ceil(len(runs) / 2) - 1], ordered[-1]]
    best, median, worst = (None if one == float("-inf") else one for one in found)
    return Attained(level, best, median, worst)
