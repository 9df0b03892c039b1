"""The tests of significance against scipy's distributions and against their own definitions."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from scipy import stats

from ppdm_sql.errors import PolicyError
from ppdm_sql.evaluate.significance import (
    bonferroni_dunn,
    chi_squared_tail,
    critical_difference,
    f_tail,
    five_by_two_f,
    friedman,
    ranks,
)


@pytest.mark.parametrize(("above", "below"), [(1, 1), (2, 9), (10, 5), (4, 116), (30, 3), (200, 200)])
def test_the_tail_of_f_is_scipys(above, below):
    for value in (1e-9, 0.01, 0.3, 0.999, 1.0, 1.7, 4.735, 20.0, 1e3, 1e9):
        assert f_tail(value, above, below) == pytest.approx(stats.f.sf(value, above, below), rel=1e-9, abs=1e-12)
    assert f_tail(0, above, below) == 1
    assert f_tail(math.inf, above, below) == 0


@pytest.mark.parametrize("freedom", [1, 2, 3, 7, 40, 301])
def test_the_tail_of_chi_squared_is_scipys(freedom):
    for value in (1e-9, 0.05, 1.0, freedom - 0.5, freedom + 2.0, freedom * 3.0, 900.0):
        expected = stats.chi2.sf(value, freedom)
        assert chi_squared_tail(value, freedom) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert chi_squared_tail(0, freedom) == 1


# -- 5x2 -------------------------------------------------------------------------------------------------


def by_definition(first, second):
    """Alpaydin's f, in floating point and step by step."""
    squares, spread = 0.0, 0.0
    for one, other in zip(first, second, strict=True):
        differences = [float(a) - float(b) for a, b in zip(one, other, strict=True)]
        mean = sum(differences) / 2
        squares += differences[0] ** 2 + differences[1] ** 2
        spread += (differences[0] - mean) ** 2 + (differences[1] - mean) ** 2
    return squares / (2 * spread)


@pytest.mark.parametrize("seed", range(20))
def test_the_combined_f_test_is_that_of_its_definition(seed):
    dice = random.Random(seed)
    first, second = (
        [(Fraction(dice.randrange(60, 90), 100), Fraction(dice.randrange(60, 90), 100)) for _ in range(5)]
        for _ in range(2)
    )
    found = five_by_two_f(first, second)
    assert float(found.statistic) == pytest.approx(by_definition(first, second), rel=1e-12)
    assert found.p == pytest.approx(stats.f.sf(by_definition(first, second), 10, 5), abs=1e-9)
    assert found.rejects(0.05) == (float(found.statistic) > stats.f.isf(0.05, 10, 5))
    assert five_by_two_f(second, first) == found  # it does not say which is better


def test_methods_that_never_differ_are_not_different_and_a_constant_difference_is():
    same = [(Fraction(1, 2), Fraction(2, 3))] * 5
    assert five_by_two_f(same, same).p == 1
    better = [(one + Fraction(1, 10), two + Fraction(1, 10)) for one, two in same]
    constant = five_by_two_f(better, same)
    assert (constant.statistic, constant.p) == (None, 0)
    with pytest.raises(PolicyError, match="5 repeats"):
        five_by_two_f(same[:4], same[:4])


# -- Friedman ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(25))
def test_friedman_is_scipys_ties_included(seed):
    dice = random.Random(seed)
    treatments, blocks = dice.randrange(3, 7), dice.randrange(3, 20)
    scores = [[dice.randrange(6) for _ in range(treatments)] for _ in range(blocks)]
    found = friedman(scores)
    if all(len(set(block)) == 1 for block in scores):
        return
    expected = stats.friedmanchisquare(*zip(*scores, strict=True))
    assert float(found.chi_squared) == pytest.approx(expected.statistic, abs=1e-9)
    assert found.p == pytest.approx(expected.pvalue, abs=1e-9)
    for block in scores:
        assert [float(rank) for rank in ranks(block)] == list(stats.rankdata([-value for value in block]))
        assert [float(rank) for rank in ranks(block, larger_is_better=False)] == list(stats.rankdata(block))


def test_demsars_example_and_its_f():
    """Fourteen tables, four classifiers, with the mean ranks and the chi squared that Demsar (2006) prints."""
    auc = [
        (0.763, 0.768, 0.771, 0.798), (0.599, 0.591, 0.590, 0.569), (0.954, 0.971, 0.968, 0.967),
        (0.628, 0.661, 0.654, 0.657), (0.882, 0.888, 0.886, 0.898), (0.936, 0.931, 0.916, 0.931),
        (0.661, 0.668, 0.609, 0.685), (0.583, 0.583, 0.563, 0.625), (0.775, 0.838, 0.866, 0.875),
        (1.000, 1.000, 1.000, 1.000), (0.940, 0.962, 0.965, 0.962), (0.619, 0.666, 0.614, 0.669),
        (0.972, 0.981, 0.9751, 0.975), (0.957, 0.978, 0.946, 0.970),
    ]  # fmt: skip
    found = friedman(auc)
    assert [round(float(rank), 3) for rank in found.mean_ranks] == [3.143, 2.0, 2.893, 1.964]
    corrected = stats.friedmanchisquare(*zip(*auc, strict=True))
    assert float(found.chi_squared) == pytest.approx(corrected.statistic, abs=1e-9)
    # Demsar leaves ties uncorrected: 9.28 from his mean ranks, a little less than with the correction
    plain = Fraction(12 * 14, 20) * (sum(rank**2 for rank in found.mean_ranks) - Fraction(4 * 25, 4))
    assert float(plain) == pytest.approx(9.28, abs=0.01)
    assert found.chi_squared > plain
    assert found.p_f == pytest.approx(stats.f.sf(found.f, 3, 39), abs=1e-9)
    assert found.p_f < 0.02


def test_bonferroni_dunns_critical_difference_is_demsars():
    assert critical_difference(4, 14, 0.05) == pytest.approx(1.16, abs=0.01)  # printed in the same place
    assert critical_difference(4, 1, 0.05) / math.sqrt(20 / 6) == pytest.approx(2.394, abs=5e-4)
    assert critical_difference(5, 1, 0.05) / math.sqrt(5) == pytest.approx(2.498, abs=5e-4)
    for alpha in (0.01, 0.05, 0.1):
        q = stats.norm.isf(alpha / (2 * 6))
        assert critical_difference(7, 12, alpha) == pytest.approx(q * math.sqrt(56 / 72), abs=1e-9)
    found = friedman([(9, 5, 1)] * 10)
    told = bonferroni_dunn(found, control=0)
    assert told.different == (False, False, True)
    assert told.differences == (0, 1, 2)
    assert told.critical == pytest.approx(stats.norm.isf(0.0125) * math.sqrt(12 / 60))


def test_what_cannot_be_compared_is_refused():
    for blocks in ([], [(1, 2)], [(1, 2), (1, 2, 3)], [(1,), (2,)]):
        with pytest.raises(PolicyError, match="two blocks"):
            friedman(blocks)
    tied = friedman([(1, 1, 1), (2, 2, 2)])
    assert (tied.chi_squared, tied.p, tied.mean_ranks) == (0, 1, (2, 2, 2))
    with pytest.raises(PolicyError, match="control"):
        bonferroni_dunn(tied, control=3)
    with pytest.raises(PolicyError, match="alpha"):
        bonferroni_dunn(tied, alpha=0)
