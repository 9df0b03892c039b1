"""How many people are unique in the population, by the class sizes of a sample of it.

Pitman: the class sizes of the sample follow Pitman's sampling formula (Pitman 1995), whose two parameters are fitted by
maximum likelihood (Hoshino 2001, "Applying Pitman's sampling formula to microdata disclosure risk assessment").
Zayatz: the classes of the population are as large, on average, as those of the sample (Zayatz 1991, "Estimation of the
percent of unique population elements on a microdata file using the sample").
Dankar et al. 2012 ("Estimating the re-identification risk of clinical data sets") found Pitman's better for samples of
at most a tenth of the population and Zayatz's for larger ones; so `estimate` chooses.

All of these are estimates, in floating point.  A requirement that uses them compares their rounded figure and says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from ppdm_sql.checks.size import Sizes
from ppdm_sql.errors import PolicyError

_PITMAN_UP_TO = Fraction(1, 10)
_STEPS = 400
_CLOSE = 1e-10


@dataclass(frozen=True)
class PopulationRisk:
    """The expected share of the population that is unique by these columns, by two models and the one to go by."""

    fraction: Fraction
    population: int
    pitman: float
    zayatz: float

    @property
    def model(self) -> str:
        return "pitman" if self.fraction <= _PITMAN_UP_TO else "zayatz"

    @property
    def unique_share(self) -> float:
        return self.pitman if self.model == "pitman" else self.zayatz

    def as_json(self) -> dict[str, object]:
        return {
            "fraction": float(self.fraction), "population": self.population, "pitman": self.pitman,
            "zayatz": self.zayatz, "model": self.model, "unique_share": self.unique_share,
        }  # fmt: skip


def population_risk(sizes: Sizes, fraction: Fraction) -> PopulationRisk | None:
    """The estimates for a sample of this fraction of the population; None for an empty one."""
    check_fraction(fraction)
    counts = class_counts(sizes)
    rows = sum(size * classes for size, classes in counts.items())
    if rows == 0:
        return None
    population = math.ceil(rows / fraction)
    return PopulationRisk(fraction, population, pitman_share(counts, population), zayatz_share(counts, population))


def check_fraction(fraction: Fraction) -> None:
    if not 0 < fraction <= 1:
        raise PolicyError("the sampling fraction is a share above 0 and up to 1, as in 0.1 or 10 %")


def class_counts(sizes: Sizes) -> dict[int, int]:
    """Class size -> number of classes."""
    found: dict[int, int] = {}
    for size, classes in zip(sizes.units.tolist(), sizes.classes.tolist(), strict=True):
        found[max(int(size), 1)] = found.get(max(int(size), 1), 0) + int(classes)
    return found


def zayatz_share(counts: dict[int, int], population: int) -> float:
    """P(unique in the population | unique in the sample), times the share of the sample that is unique.

    >>> round(zayatz_share({1: 4, 2: 3}, 10), 4)  # the sample is the population: its own uniques
    0.4
    >>> round(zayatz_share({1: 2, 2: 1}, 8), 4)  # by hand: h(1) = 1/2, h(2) = 4/7; 2/3 h(1) / (2/3 h(1) + 1/3 h(2))
    0.3182
    """
    rows = sum(size * classes for size, classes in counts.items())
    unique = counts.get(1, 0)
    if unique == 0:
        return 0.0
    drawn = {size: classes * _drawn_once(population, size, rows) for size, classes in counts.items()}
    return drawn[1] / math.fsum(drawn.values()) * unique / rows


def _drawn_once(population: int, size: int, rows: int) -> float:
    """The chance that a class of the population has exactly one of its members in the sample (hypergeometric)."""
    if population - size < rows - 1:
        return 0.0
    told = _log_choose(population - size, rows - 1) + math.log(size) - _log_choose(population, rows)
    return math.exp(told)


def _log_choose(many: int, few: int) -> float:
    return math.lgamma(many + 1) - math.lgamma(few + 1) - math.lgamma(many - few + 1)


def pitman_share(counts: dict[int, int], population: int) -> float:
    """The share of the population that is unique: Gamma(theta + 1) / Gamma(theta + alpha) * N^alpha / N.

    Where the sample has no unique row, or nothing but unique rows, the formula has no maximum: no row is unique, or all
    are as far as anyone can tell.
    """
    rows = sum(size * classes for size, classes in counts.items())
    if counts.get(1, 0) == 0:
        return 0.0
    if counts.get(1, 0) == rows or population <= rows:
        return counts[1] / rows
    alpha, theta = fit_pitman(counts)
    told = math.lgamma(theta + 1) - math.lgamma(theta + alpha) + alpha * math.log(population)
    return min(math.exp(told) / population, counts[1] / rows)


def fit_pitman(counts: dict[int, int]) -> tuple[float, float]:
    """Alpha and theta of the largest likelihood; alpha in (0, 1), theta above -alpha."""
    rows = sum(size * classes for size, classes in counts.items())
    classes = sum(counts.values())

    def loss(point: tuple[float, float]) -> float:
        alpha, theta = _parameters(point)
        ratio = theta / alpha
        told = (classes - 1) * math.log(alpha) + math.lgamma(ratio + classes) - math.lgamma(ratio + 1)
        told -= math.lgamma(theta + rows) - math.lgamma(theta + 1)
        below = math.lgamma(1 - alpha)
        return -told - sum(many * (math.lgamma(size - alpha) - below) for size, many in counts.items())

    return _parameters(_lowest(loss, (0.0, math.log(max(classes, 2)))))


def _parameters(point: tuple[float, float]) -> tuple[float, float]:
    """Any two numbers as an alpha and a theta that are legal."""
    alpha = 1 / (1 + math.exp(-max(-30.0, min(30.0, point[0]))))
    alpha = min(max(alpha, 1e-9), 1 - 1e-9)
    return alpha, math.exp(max(-30.0, min(40.0, point[1]))) - alpha * (1 - 1e-9)


def _lowest(loss: Callable[[tuple[float, float]], float], start: tuple[float, float]) -> tuple[float, float]:
    """Nelder and Mead's search in two dimensions."""
    corners = sorted((loss(point), point) for point in (start, (start[0] + 1, start[1]), (start[0], start[1] + 1)))
    for _ in range(_STEPS):
        (low, best), (middle, other), (high, worst) = corners
        if high - low < _CLOSE * (1 + abs(low)):
            break
        centre = ((best[0] + other[0]) / 2, (best[1] + other[1]) / 2)

        def at(
            step: float, centre: tuple[float, float] = centre, worst: tuple[float, float] = worst
        ) -> tuple[float, float]:
            return centre[0] + step * (centre[0] - worst[0]), centre[1] + step * (centre[1] - worst[1])

        tried = loss(at(1.0)), at(1.0)
        if tried[0] < low:
            tried = min(tried, (loss(at(2.0)), at(2.0)))
        elif tried[0] >= middle:
            tried = min(tried, (loss(at(-0.5)), at(-0.5)))
        if tried[0] < high:
            corners = sorted([corners[0], corners[1], tried])
            continue
        nearer = [((best[0] + point[0]) / 2, (best[1] + point[1]) / 2) for point in (other, worst)]
        corners = sorted([corners[0], *((loss(point), point) for point in nearer)])
    return corners[0][1]
