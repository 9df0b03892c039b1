"""The exact decision on entropy, against whole numbers written out, and where many digits are needed."""

from __future__ import annotations

import random
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from ppdm_sql.verify.entropy import _sign_of_log, entropy_at_least
from tests import oracles


@pytest.mark.parametrize("seed", range(50))
def test_it_is_the_comparison_of_the_powers(seed):
    rng = random.Random(seed)
    for _ in range(20):
        counts = [rng.choice((1, 2, 3, 4, 6, 8, 9, 12)) for _ in range(rng.randint(1, 8))]
        l = Fraction(rng.randint(1, 12), rng.randint(1, 6))
        assert entropy_at_least(counts, l) == oracles.entropy_reaches(counts, l), (counts, l)


@pytest.mark.parametrize("l", [1, 2, 3, 6, 7, 10, 30, 210, 1009])
@pytest.mark.parametrize("times", [1, 2, 7, 360, 10**6, 10**9 + 7])
def test_equal_counts_reach_their_number_and_not_more(l, times):
    counts = [times] * l
    assert entropy_at_least(counts, Fraction(l))
    assert not entropy_at_least(counts, l + Fraction(1, 10**40))
    assert entropy_at_least([*counts[1:], times + 1], Fraction(l)) == (l == 1)


@pytest.mark.parametrize("counts", [[4, 1, 1, 1, 1], [2, 2, 2, 2, 8], [4 * 10**8, *[10**8] * 4]])
def test_uneven_counts_can_be_exactly_at_a_bound(counts):
    """4, 1, 1, 1, 1: ln(8) - 4 * ln(4) / 8 = ln(4).  No number of digits says that the difference is nothing."""
    assert entropy_at_least(counts, Fraction(4))
    assert not entropy_at_least(counts, 4 + Fraction(1, 10**50))
    assert entropy_at_least(counts, 4 - Fraction(1, 10**50))


@pytest.mark.parametrize("digits", [20, 45, 90, 150])
@pytest.mark.parametrize("counts", [[1, 2], [3, 5, 9], [10**6, 10**6 + 1], [999_983, 3, 1, 1]])
def test_a_bound_that_agrees_in_many_digits_is_still_decided(counts, digits):
    """l = exp(entropy) cut after so many digits is reached; one unit more in the last digit is not."""
    with localcontext() as context:
        context.prec = digits + 30
        n = Decimal(sum(counts))
        exact = (n.ln() - sum(c * Decimal(c).ln() for c in map(Decimal, counts)) / n).exp()
        below = Fraction(int(exact.scaleb(digits)), 10**digits)
    assert entropy_at_least(counts, below)
    assert not entropy_at_least(counts, below + Fraction(1, 10**digits))


def test_a_logarithm_counts_as_clear_only_beyond_its_error():
    """Of n powers in d digits the error is 10 * (n + 2) / 10^(d - 1) of the sum of all terms without their signs."""
    eight = (2, 3, 5, 7, 11, 13, 17, 19)  # 10 * 10 / 10^2: the error is the sum itself
    assert [_sign_of_log(dict.fromkeys(eight, sign), 3) for sign in (1, -1)] == [0, 0]
    assert [_sign_of_log(dict.fromkeys(eight, sign), 4) for sign in (1, -1)] == [1, -1]
    assert [_sign_of_log({2: 1}, digits) for digits in (2, 3)] == [0, 1]
    # Seven powers: 0.9 of the sum.  15.3 is the sum, 13.9 what is left after 2 was taken away: just beyond.
    assert _sign_of_log({3: 1, 5: 1, 7: 1, 23: 1, 29: 1, 31: 1, 2: -1}, 3) == 1
