"""The closed forms of t-closeness are what the transport problem says; known figures of the paper."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from tests import oracles
from tests.oracles.closeness import equal_cost, ordered_cost, transport_cost


def random_pair(rng):
    values = rng.randint(1, 6)
    everywhere = [rng.randint(1, 9) for _ in range(values)]
    here = [rng.choice((0, 0, 1, 2, 5)) for _ in range(values)]
    here[rng.randrange(values)] += 1
    return here, everywhere


@pytest.mark.parametrize("seed", range(100))
def test_closed_forms_are_the_least_work(seed):
    rng = random.Random(seed)
    here, everywhere = random_pair(rng)
    m = len(everywhere)
    ways = [(str(i), rng.choice("xy"), rng.choice("pq"), "*") for i in range(m)]
    assert oracles.equal_distance(here, everywhere) == transport_cost(here, everywhere, equal_cost(m))
    assert oracles.ordered_distance(here, everywhere) == transport_cost(here, everywhere, ordered_cost(m))
    assert oracles.hierarchical_distance(here, everywhere, ways) == transport_cost(
        here, everywhere, oracles.hierarchical_cost(ways)
    )


def test_the_example_of_the_paper():
    """Li et al. 2007, section 5.1: salaries of 3k to 11k."""
    nine = [1] * 9
    assert oracles.ordered_distance([1, 1, 1, 0, 0, 0, 0, 0, 0], nine) == Fraction(375, 1000)
    assert round(float(oracles.ordered_distance([0, 0, 0, 1, 0, 1, 0, 0, 1], nine)), 3) == 0.167
