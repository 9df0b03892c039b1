"""Population uniqueness from a sample: vectors by hand, limits, and populations whose truth is known."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from ppdm_sql.checks.population import fit_pitman, pitman_share, population_risk, zayatz_share
from ppdm_sql.checks.size import Sizes
from ppdm_sql.errors import PolicyError


def sizes_of(counts: dict[int, int]) -> Sizes:
    size, classes = np.array(list(counts), dtype=np.int64), np.array(list(counts.values()), dtype=np.int64)
    return Sizes(size, size, classes)


def test_zayatz_by_hand():
    """n = 4 of N = 8 with two classes of one and one class of two.

    A class of one is drawn once with 4/8, a class of two with C(2, 1) C(6, 3) / C(8, 4) = 40/70.
    """
    once, of_two = Fraction(4, 8), Fraction(2 * math.comb(6, 3), math.comb(8, 4))
    expected = Fraction(2, 3) * once / (Fraction(2, 3) * once + Fraction(1, 3) * of_two) * Fraction(2, 4)
    assert zayatz_share({1: 2, 2: 1}, 8) == pytest.approx(float(expected))


def test_pitmans_maximum_is_one():
    """No neighbour of the fitted parameters has a larger likelihood, computed by the formula's own products."""
    counts = {1: 40, 2: 13, 3: 6, 4: 3, 9: 2}

    def likelihood(alpha: float, theta: float) -> float:
        rows = sum(size * classes for size, classes in counts.items())
        told = sum(math.log(theta + number * alpha) for number in range(1, sum(counts.values())))
        told -= sum(math.log(theta + number) for number in range(1, rows))
        return told + sum(
            classes * sum(math.log(number - alpha) for number in range(1, size)) for size, classes in counts.items()
        )

    alpha, theta = fit_pitman(counts)
    best = likelihood(alpha, theta)
    for step in (0.02, -0.02):
        assert likelihood(alpha + step, theta) < best
        assert likelihood(alpha, theta * (1 + step)) < best


@pytest.mark.parametrize("share", [zayatz_share, pitman_share])
def test_limits(share):
    assert share({2: 5, 3: 1}, 130) == 0
    assert share({1: 10}, 10) == 1
    assert share({1: 4, 2: 3}, 10) == pytest.approx(0.4)  # the sample is the population


@pytest.mark.parametrize(("fraction", "model"), [(Fraction(1, 20), "pitman"), (Fraction(1, 2), "zayatz")])
def test_a_known_population_is_estimated_within_a_quarter(fraction, model):
    draw = np.random.default_rng(3)
    population = draw.zipf(1.5, 40_000) % 40_000 * 7 + draw.integers(0, 7, 40_000)
    truth = sum(n == 1 for n in Counter(population.tolist()).values()) / len(population)
    sample = draw.choice(population, int(fraction * len(population)), replace=False)
    found = population_risk(sizes_of(Counter(Counter(sample.tolist()).values())), fraction)
    assert found is not None
    assert (found.model, found.population) == (model, 40_000)
    assert found.unique_share == pytest.approx(truth, rel=0.25)


@pytest.mark.parametrize("fraction", [Fraction(0), Fraction(-1, 2), Fraction(3, 2)])
def test_a_fraction_outside_is_refused(fraction):
    with pytest.raises(PolicyError, match="above 0 and up to 1"):
        population_risk(sizes_of({1: 2}), fraction)
