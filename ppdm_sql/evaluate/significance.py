"""Whether a difference is more than chance: the combined 5x2 F test, Friedman's test, Bonferroni and Dunn's.

    Alpaydin (1999)   combined 5x2 cv F test: ten squared differences over twice the five variances ~ F(10, 5)
    Friedman (1937)   treatments are ranked in every block; chi squared of the mean ranks, corrected for ties
    Iman, Davenport   the same as an F, less careful than chi squared
    Dunn (1961)       mean ranks further from the control's than the critical difference are different

Statistics are exact; a p-value is a figure to read.  Ranks and distributions are scipy's (extra `evaluate`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from math import inf, sqrt
from typing import Any

from ppdm_sql.errors import NotAvailable, PolicyError

Number = int | float | Fraction
MISSING = 'significance tests need scipy: install the extra "evaluate" (pip install "ppdm-sql[evaluate]")'


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
    signed = [-value for value in values] if larger_is_better else values
    # scipy's ranks are whole or end in .5: doubled they are whole numbers
    return tuple(Fraction(round(2 * rank), 2) for rank in _stats().rankdata([float(value) for value in signed]))


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
        raise PolicyError(f"the control must be one of the treatments 0 to {len(found.mean_ranks) - 1}, got {control}")
    critical = critical_difference(len(found.mean_ranks), found.blocks, alpha)
    differences = tuple(mean - found.mean_ranks[control] for mean in found.mean_ranks)
    return Dunn(control, alpha, critical, differences, tuple(abs(float(one)) > critical for one in differences))


def critical_difference(treatments: int, blocks: int, alpha: float) -> float:
    """Of mean ranks, with k - 1 comparisons: q sqrt(k (k + 1) / 6n)."""
    if not 0 < alpha < 1:
        raise PolicyError("alpha must be between 0 and 1")
    q = float(_stats().norm.isf(alpha / (2 * (treatments - 1))))
    return q * sqrt(treatments * (treatments + 1) / (6 * blocks))


# -- distributions ---------------------------------------------------------------------------------------


def f_tail(value: float, above: int, below: int) -> float:
    """How likely an F of so many degrees of freedom is at least as large."""
    return float(_stats().f.sf(value, above, below))


def chi_squared_tail(value: float, freedom: int) -> float:
    """How likely a chi squared of so many degrees of freedom is at least as large."""
    return float(_stats().chi2.sf(value, freedom))


def is_available() -> bool:
    """Whether scipy is installed, which the p-values and ranks come from."""
    return find_spec("scipy") is not None


def _stats() -> Any:
    """scipy.stats, imported when it is first needed: it takes a second."""
    if not is_available():
        raise NotAvailable(MISSING)
    from scipy import stats  # type: ignore[import-untyped]

    return stats
