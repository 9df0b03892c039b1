"""An attacker who holds every night of a growing release finds nobody (growing_stream.py has the attack)."""

from __future__ import annotations

import pytest
from growing_stream import CHANGES, attack, run_stream

from tests.sizes import first

NIGHTS = 4
pytestmark = pytest.mark.duckdb


@pytest.fixture(scope="module")
def stream():
    return run_stream(1, NIGHTS)[0]


def test_whoever_holds_every_night_finds_no_class_that_is_too_small(stream):
    found = attack(stream, NIGHTS)
    assert found.groups > 1
    assert not found.finds_somebody, found


def test_the_attack_finds_what_it_is_for(stream):
    """A row that is taken away by hand is found, and a class with one value."""
    victim = next(row for row, told in stream.seen.items() if NIGHTS - 1 in told)
    told = stream.seen[victim].pop(NIGHTS - 1)
    try:
        found = attack(stream, NIGHTS)
        assert (found.below_k, found.small_differences) == (1, 1)
    finally:
        stream.seen[victim][NIGHTS - 1] = told
    kept = {row: dict(nights) for row, nights in stream.seen.items()}
    try:
        for nights in stream.seen.values():
            nights |= {night: (labels, "flu") for night, (labels, _) in nights.items()}
        assert attack(stream, NIGHTS).below_l
    finally:
        stream.seen.update(kept)


@pytest.mark.wide
@pytest.mark.parametrize("seed", first(2, range(len(CHANGES))))
def test_every_rule_for_changes(seed):
    _, found = run_stream(seed, nights=10)
    assert not found.finds_somebody, found
