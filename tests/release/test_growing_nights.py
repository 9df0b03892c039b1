"""Thirty nights of a stream: every night is published, and late rows lose little more than they would alone."""

from __future__ import annotations

import pytest

from benchmarks.growing_stream import Stream
from tests.sizes import first

METHODS = ["mondrian", "kactus2", "kactus"]


@pytest.mark.duckdb
@pytest.mark.wide
@pytest.mark.parametrize("method", first(1, METHODS))
def test_three_nights(method):
    run_nights(method, people=5_000, nights=3)


@pytest.mark.duckdb
@pytest.mark.nightly
@pytest.mark.parametrize("method", METHODS)
def test_thirty_nights(method):
    run_nights(method, people=20_000, nights=30)


def run_nights(method: str, people: int, nights: int) -> None:
    stream = Stream(people, method)
    late, own = [], []
    for night in range(1, nights + 1):
        stream.night()
        grown = stream.refresh()
        assert grown.loss_tonight is not None
        late.append(float(grown.loss_tonight))
        own.append(stream.alone())
        assert (grown.night, grown.waiting_rows < 10) == (night, True)
    assert stream.db.verify("visits_open").holds
    # Of 50 rows a night, which a small table has, one class more or less is a lot.
    assert sum(late) <= (1.25 if people >= 20_000 else 1.6) * sum(own)
