"""How many cases a run takes: few in make test, more in make test-all, many in make nightly.

    @seeds(small=5, full=40, nightly=400)            the test gets a range and loops over it
    def test_something(engine, seeds): ...

    @each_seed(small=5, full=40)                     one test for each seed
    def test_something(engine, seed): ...

    @pytest.mark.parametrize("name", first(3, NAMES))    the first three always, the others in make test-all

A case beyond `small` has the mark `wide`, one beyond `full` the mark `nightly`.  No case has two marks, so that
make test-all repeats nothing of make test.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import pytest

HANGS = 600  # seconds after which a process that a test started hangs, however busy the machine is
SIZES = ((), (pytest.mark.wide,), (pytest.mark.nightly,))


def seeds(
    *, small: int, full: int | None = None, nightly: int | None = None, start: int = 0, block: int | None = None
) -> pytest.MarkDecorator:
    """Parametrizes `seeds` with one range for each size, or with several of at most `block` seeds."""
    cases = [
        pytest.param(piece, marks=marks, id=f"{piece[0]}-{piece[-1]}")
        for part, marks in zip(_parts(start, small, full, nightly), SIZES, strict=True)
        for piece in _pieces(part, block)
    ]
    return pytest.mark.parametrize("seeds", cases)


def each_seed(
    *, small: int, full: int | None = None, nightly: int | None = None, start: int = 0
) -> pytest.MarkDecorator:
    """Parametrizes `seed` with single seeds."""
    parts = zip(_parts(start, small, full, nightly), SIZES, strict=True)
    return pytest.mark.parametrize("seed", [pytest.param(seed, marks=marks) for part, marks in parts for seed in part])


def first(small: int, values: Iterable[object]) -> list[object]:
    """The values of a parameter, of which those behind the first ones are only tried by make test-all.

    >>> [getattr(value, "values", value) for value in first(1, "ab")]
    ['a', ('b',)]
    """
    listed = list(values)
    wide = [pytest.param(*_values(value), marks=pytest.mark.wide) for value in listed[small:]]
    return [*listed[:small], *wide]


def examples(number: int) -> int:
    """How many examples hypothesis draws: PPDM_TEST_EXAMPLES times as many as in make test."""
    return number * int(os.environ.get("PPDM_TEST_EXAMPLES", "1"))


def are_many(seeds: range) -> bool:
    """Whether the cases are so many that their shares say something: published ones, refused ones.

    >>> are_many(range(4)), are_many(range(4, 20))
    (False, True)
    """
    return len(seeds) >= 10


def _values(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)


def _parts(start: int, small: int, full: int | None, nightly: int | None) -> tuple[range, range, range]:
    """The seeds of the three sizes.

    >>> _parts(0, 5, 40, None)
    (range(0, 5), range(5, 40), range(40, 40))
    """
    full = small if full is None else full
    nightly = full if nightly is None else nightly
    return (
        range(start, start + small),
        range(start + small, start + full),
        range(start + full, start + nightly),
    )


def _pieces(seeds: range, length: int | None) -> Iterator[range]:
    """The range in pieces of at most that length; none where it is empty.

    >>> list(_pieces(range(5, 12), 3))
    [range(5, 8), range(8, 11), range(11, 12)]
    """
    length = length or max(1, len(seeds))
    return (seeds[place : place + length] for place in range(0, len(seeds), length))
