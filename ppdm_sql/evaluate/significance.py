"""Whether a difference is more than chance: the combined 5x2 F test, Friedman's test, Bonferroni and Dunn's.

    Alpaydin (1999)   combined 5x2 cv F test: ten squared differences over twice the five variances ~ F(10, 5)
    Friedman (1937)   treatments are ranked in every block; chi squared of the mean ranks, corrected for ties
    Iman, Davenport   the same as an F, less careful than chi squared
    Dunn (1961)       mean ranks further from the control's than the critical difference are different

Statistics are exact; a p-value is a figure to read.  Its distribution functions are the incomplete beta and gamma
functions as continued fractions and series, so that no further library is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, inf, isinf, lgamma, log, sqrt
from statistics import NormalDist

from ppdm_sql.errors import PolicyError

Number = int | float | Fraction
_SMALL, _CLOSE, _STEPS = 1e-300, 1e-16, 10_000


# -- two learners ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FTest:
    """statistic: None where every difference of a repeat is the same in both halves but not all are nothing."""

    statistic: Fraction | None
    p: float

    def rejects(self, alpha: float = 0.05) -> bool:
        """Whether the two differ at this level."""
        return self.p < alpha


def five_by_two_f(first: Sequence[tuple[Fraction, Fraction]], second: Sequence[tuple[Fraction, Fraction]]) -> FTest:
    """Whether two methods differ: five repeats, the accuracies of both halves.

    >>> one, other = [(Fraction(8, 10), Fraction(7, 10))] * 5, [(Fraction(7, 10), Fraction(7, 10))] * 5
    >>> five_by_two_f(one, other).statistic
    Fraction(1, 1)
    """
    if len(first) != 5 or len(second) != 5:
        raise PolicyError(f"the combined F test needs 5 repeats of both, not {len(first)} and {len(second)}")
    squares = variances = Fraction(0)
    for (one, two), (other, another) in zip(first, second, strict=True):
        differences = (Fraction(one) - Fraction(other), Fraction(two) - Fraction(another))
        mean = sum(differences, Fraction(0)) / 2
        squares += sum((each**2 for each in differences), Fraction(0))
        variances += sum(((each - mean) ** 2 for each in differences), Fraction(0))
    if variances == 0:
        return FTest(None, 0.0) if squares else FTest(Fraction(0), 1.0)
    statistic = squares / (2 * variances)
    return FTest(statistic, f_tail(float(statistic), 10, 5))


# -- several treatments ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Friedman:
    """Mean ranks (1 is best) and what chance makes of them.  f and p_f: Iman and Davenport's."""

    blocks: int
    mean_ranks: tuple[Fraction, ...]
    chi_squared: Fraction
    p: float
    f: float
    p_f: float


def friedman(blocks: Sequence[Sequence[Number]], *, larger_is_better: bool = True) -> Friedman:
    """Whether treatments differ: per block (a table, a fold, a k) one figure for each treatment.

    >>> found = friedman([(9, 8, 7), (5, 6, 4), (3, 2, 1)])
    >>> [str(rank) for rank in found.mean_ranks], found.chi_squared
    (['4/3', '5/3', '3'], Fraction(14, 3))
    """
    sizes = {len(block) for block in blocks}
    if len(blocks) < 2 or len(sizes) != 1 or min(sizes) < 2:
        raise PolicyError("Friedman's test needs two blocks or more, with the same two or more treatments in each")
    n, k = len(blocks), sizes.pop()
    ranked = [ranks(block, larger_is_better=larger_is_better) for block in blocks]
    means = tuple(sum(block[place] for block in ranked) / Fraction(n) for place in range(k))
    ties = sum(count**3 - count for block in ranked for count in Counter(block).values())
    plain = Fraction(12 * n, k * (k + 1)) * (sum(mean**2 for mean in means) - Fraction(k * (k + 1) ** 2, 4))
    correction = 1 - Fraction(ties, n * (k**3 - k))
    if correction == 0:  # every block is one tie
        return Friedman(n, means, Fraction(0), 1.0, 0.0, 1.0)
    chi = plain / correction
    left = n * (k - 1) - chi
    f = float((n - 1) * chi / left) if left > 0 else inf
    return Friedman(n, means, chi, chi_squared_tail(float(chi), k - 1), f, f_tail(f, k - 1, (k - 1) * (n - 1)))


def ranks(values: Sequence[Number], *, larger_is_better: bool = True) -> tuple[Fraction, ...]:
    """Ranks from 1 for the best; equal ones share the mean of their ranks.

    >>> [str(rank) for rank in ranks([0.7, 0.9, 0.7])]
    ['5/2', '1', '5/2']
    """
    counted = Counter(values)
    found, before = {}, 0
    for value in sorted(counted, reverse=larger_is_better):
        found[value] = Fraction(2 * before + counted[value] + 1, 2)
        before += counted[value]
    return tuple(found[value] for value in values)


@dataclass(frozen=True)
class Dunn:
    """critical: how far a mean rank may be from the control's.  different: per treatment, whether it is further."""

    control: int
    alpha: float
    critical: float
    differences: tuple[Fraction, ...]
    different: tuple[bool, ...]


def bonferroni_dunn(found: Friedman, *, control: int = 0, alpha: float = 0.05) -> Dunn:
    """All treatments against one of them, at a level for all comparisons together.

    >>> round(critical_difference(5, 30, 0.05), 4)
    1.0197
    """
    if not 0 <= control < len(found.mean_ranks):
        raise PolicyError(f"there is no treatment {control} to be the control")
    critical = critical_difference(len(found.mean_ranks), found.blocks, alpha)
    differences = tuple(mean - found.mean_ranks[control] for mean in found.mean_ranks)
    return Dunn(control, alpha, critical, differences, tuple(abs(float(one)) > critical for one in differences))


def critical_difference(treatments: int, blocks: int, alpha: float) -> float:
    """Of mean ranks, with k - 1 comparisons: q sqrt(k (k + 1) / 6n)."""
    if not 0 < alpha < 1:
        raise PolicyError("alpha is between 0 and 1")
    q = NormalDist().inv_cdf(1 - alpha / (2 * (treatments - 1)))
    return q * sqrt(treatments * (treatments + 1) / (6 * blocks))


# -- distributions ---------------------------------------------------------------------------------------


def f_tail(value: float, above: int, below: int) -> float:
    """How likely an F of so many degrees of freedom is at least as large."""
    if value <= 0:
        return 1.0
    if isinf(value):
        return 0.0
    return beta_share(below / (below + above * value), below / 2, above / 2)


def chi_squared_tail(value: float, freedom: int) -> float:
    """How likely a chi squared of so many degrees of freedom is at least as large."""
    if value <= 0:
        return 1.0
    a, x = freedom / 2, value / 2
    front = exp(a * log(x) - x - lgamma(a))
    if x < a + 1:  # the series for the lower part
        term = total = 1 / a
        for step in range(1, _STEPS):
            term *= x / (a + step)
            total += term
            if term < total * _CLOSE:
                break
        return 1.0 - front * total
    return front / _lentz(x + 1 - a, lambda n: -n * (n - a), lambda n: x + 2 * n + 1 - a)


def beta_share(x: float, a: float, b: float) -> float:
    """The regularized incomplete beta function."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1 - x))

    def part(p: float, q: float, at: float) -> float:
        def numerator(step: int) -> float:
            m, odd = divmod(step, 2)
            if odd:
                return -(p + m) * (p + q + m) * at / ((p + 2 * m) * (p + 2 * m + 1))
            return m * (q - m) * at / ((p + 2 * m - 1) * (p + 2 * m))

        return front / (p * _lentz(1.0, numerator, lambda _: 1.0))

    return part(a, b, x) if x < (a + 1) / (a + b + 2) else 1.0 - part(b, a, 1 - x)


def _lentz(start: float, numerator: Callable[[int], float], denominator: Callable[[int], float]) -> float:
    """A continued fraction start + a1 / (b1 + a2 / (b2 + ...)) by Lentz's method, changed by Thompson and Barnett."""
    value = c = start or _SMALL
    d = 0.0
    for step in range(1, _STEPS):
        a, b = numerator(step), denominator(step)
        d = 1 / ((b + a * d) or _SMALL)
        c = (b + a / c) or _SMALL
        value *= c * d
        if abs(c * d - 1) < _CLOSE:
            break
    return value
