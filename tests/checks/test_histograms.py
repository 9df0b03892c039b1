"""parts_meet() decides many parts at once exactly as the definitions decide one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ppdm_sql.checks.closeness import Reference, _carried_by, carried_rows
from ppdm_sql.checks.exact_compare import at_most, below, entropy_reaches, largest, signs, smallest
from ppdm_sql.checks.histograms import parts_meet
from ppdm_sql.errors import PolicyError
from ppdm_sql.requirements import (
    Closeness,
    ConfidenceLimit,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    RecursiveDiversity,
    SimpleDiversity,
)
from tests import oracles
from tests.sizes import examples

LITTLE = Fraction(1, 10**7)
SMALL, LARGE = st.integers(0, 12), st.integers(0, 2**40)


@st.composite
def parts(draw, count=SMALL):
    """Histograms of some parts over the same values; most of them are not empty."""
    width = draw(st.integers(1, 6))
    rows = draw(st.lists(st.lists(count, min_size=width, max_size=width), min_size=1, max_size=6))
    return np.array(rows, dtype=np.int64)


def held(row):
    return [int(count) for count in row if count]


def marks(found):
    """A figure, and figures just next to it."""
    return [mark for mark in (found, found + LITTLE, found - LITTLE) if mark > 0]


@settings(max_examples=examples(40), deadline=None)
@given(parts() | parts(LARGE), st.integers(1, 4))
def test_sizes_and_diversity(counts, l):
    for row in counts:
        if not (some := held(row)):
            continue
        check(counts, KAnonymity(sum(some)), lambda c: sum(c) >= sum(some))
        check(counts, DistinctDiversity(l), lambda c: len(c) >= l)
        for mark in marks(oracles.simple_ratio(some)):
            check(counts, SimpleDiversity(mark), lambda c, mark=mark: oracles.simple_ratio(c) >= mark)
        for mark in marks(oracles.confidence(some)):
            check(counts, ConfidenceLimit(mark), lambda c, mark=mark: oracles.confidence(c) <= mark)
        for mark in marks(oracles.recursive_ratio(some, l) or Fraction(2)):
            check(counts, RecursiveDiversity(mark, l), lambda c, mark=mark: oracles.recursive_holds(c, mark, l))


def check(counts, requirement, expected, *arguments):
    wanted = [bool(held(row)) and expected(held(row)) for row in counts]
    assert parts_meet(requirement, counts, *arguments).tolist() == wanted, str(requirement)


@settings(max_examples=examples(40), deadline=None)
@given(parts(), st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(4), Fraction(6)]))
def test_entropy(counts, l):
    check(counts, EntropyDiversity(l), lambda c: oracles.entropy_reaches(c, l))


def test_entropy_where_floating_point_is_wrong():
    counts = np.array([[4, 4, 4, 0, 0], [4, 1, 1, 1, 1], [10**12] * 3 + [0, 0], [10**12, 10**12, 10**12 + 1, 0, 0]])
    assert parts_meet(EntropyDiversity(Fraction(3)), counts).tolist() == [True, True, True, False]
    assert parts_meet(EntropyDiversity(Fraction(4)), counts).tolist() == [False, True, False, False]


@settings(max_examples=examples(40), deadline=None)
@given(parts() | parts(LARGE), st.data())
def test_closeness(counts, data):
    width = counts.shape[1]
    count = SMALL if counts.max() < 100 else LARGE
    more = np.array(data.draw(st.lists(count, min_size=width, max_size=width)), dtype=np.int64)
    reference = counts.sum(axis=0) + more
    assume(reference.all())
    tops = data.draw(st.lists(st.integers(0, 2), min_size=width, max_size=width))
    levels = np.array([range(width), tops])
    ways = [(value, ("top", top), "*") for value, top in enumerate(tops)]
    everywhere = reference.tolist()
    figures = {
        "equal": lambda row: oracles.equal_distance(row, everywhere),
        "ordered": lambda row: oracles.ordered_distance(row, everywhere),
        "hierarchical": lambda row: oracles.hierarchical_distance(row, everywhere, ways),
    }
    for distance, figure in figures.items():
        known = [figure(row.tolist()) if row.any() else None for row in counts]
        for t in {mark for far in known if far is not None for mark in marks(far)}:
            wanted = [far is not None and far <= t for far in known]
            assert parts_meet(Closeness(t, distance), counts, reference, levels).tolist() == wanted, (distance, t)


def test_an_open_distance_is_hierarchical_where_there_are_levels():
    counts, reference = np.array([[2, 0, 0]]), np.array([4, 4, 4])
    levels = np.array([[0, 1, 2], [0, 0, 1]])
    assert parts_meet(Closeness(Fraction(2, 3)), counts, reference).tolist() == [True]
    assert parts_meet(Closeness(Fraction(1, 2)), counts, reference).tolist() == [False]
    assert parts_meet(Closeness(Fraction(1, 2)), counts, reference, levels).tolist() == [True]


def test_sizes_alone_and_what_is_missing():
    assert parts_meet(KAnonymity(3), np.array([2, 3, 0])).tolist() == [False, True, False]
    assert parts_meet(KAnonymity(1), np.zeros((0, 3), dtype=np.int64)).tolist() == []
    assert parts_meet(SimpleDiversity(Fraction(1)), np.zeros((2, 0), dtype=np.int64)).tolist() == [False, False]
    with pytest.raises(PolicyError, match="whole table"):
        parts_meet(Closeness(Fraction(1)), np.array([[1]]))
    with pytest.raises(PolicyError, match="levels"):
        parts_meet(Closeness(Fraction(1), "hierarchical"), np.array([[1]]), np.array([1]))


def test_blocks_do_not_show():
    counts = np.random.default_rng(1).integers(0, 4, (400_000, 12))
    whole = parts_meet(EntropyDiversity(Fraction(3)), counts)
    pieces = [parts_meet(EntropyDiversity(Fraction(3)), piece) for piece in np.array_split(counts, 7)]
    assert (whole == np.concatenate(pieces)).all()


def test_a_part_of_one_row_in_a_table_whose_products_need_more_than_64_bits():
    """One of two values that are equally frequent: 1/2 away; the other part has both as often."""
    counts, reference = np.array([[1, 0], [2**30, 2**30]]), np.array([2**60, 2**60])
    for t, first in ((Fraction(1, 2), True), (Fraction(1, 2) - LITTLE, False), (Fraction(2, 5), False)):
        assert parts_meet(Closeness(t, "equal"), counts, reference).tolist() == [first, True], t


# -- the exact comparisons below it ----------------------------------------------------------------------

WIDE = st.integers(0, 2**62) | st.integers(0, 50)


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(st.tuples(WIDE, WIDE), min_size=1, max_size=8), st.integers(1, 10**25), st.integers(1, 10**25))
def test_signs_are_those_of_whole_numbers(pairs, one, other):
    left, right = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    for a, b in ((one, other), (one, one), (1, 1), (10**300, 10**300 + 1)):
        wanted = [(x * a > y * b) - (x * a < y * b) for x, y in pairs]
        assert signs(left, a, right, b).tolist() == wanted
    limit = Fraction(one, other)
    assert at_most(left, right, limit).tolist() == [x * other <= y * one for x, y in pairs]
    assert below(left, right, limit).tolist() == [x * other < y * one for x, y in pairs]


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(st.tuples(st.integers(1, 2**62), st.integers(1, 2**62)), min_size=1, max_size=8))
def test_extremes_are_exact(pairs):
    over, under = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    assert largest(over, under) == max(Fraction(*pair) for pair in pairs)
    assert smallest(over, under) == min(Fraction(*pair) for pair in pairs)


@settings(deadline=None, max_examples=examples(60))
@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.fractions(1, 7, max_denominator=6))
def test_entropy_is_decided_as_by_the_definition(counts, l):
    assert entropy_reaches(counts, l) == oracles.entropy_reaches(counts, l)


@pytest.mark.parametrize("scale", [1, 10**6, 10**15])
def test_entropy_of_large_classes(scale):
    assert entropy_reaches([4 * scale, scale, scale, scale, scale], Fraction(4))
    assert not entropy_reaches([4 * scale + 1, scale, scale, scale, scale], Fraction(4))
    assert not entropy_reaches([scale, scale, scale + 1], Fraction(3))
    assert entropy_reaches([scale, scale, scale + 1], Fraction(5, 2))


def test_entropy_that_agrees_with_its_bound_in_45_digits_is_still_decided():
    """1 and 2 rows: exp(entropy) is 3 / 2^(2/3); its 45 digits are reached, one unit more in the last is not."""
    unit = 10**45
    digits = 1
    for power in reversed(range(152)):  # the largest whole number with 4 * n^3 <= 27 * unit^3
        step = 2**power
        digits += step if 4 * (digits + step) ** 3 <= 27 * unit**3 else 0
    assert entropy_reaches([1, 2], Fraction(digits, unit))
    assert not entropy_reaches([1, 2], Fraction(digits + 1, unit))


# -- the ordered distance in one pass --------------------------------------------------------------------


@settings(deadline=None, max_examples=examples(40))
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=9),
    st.lists(st.lists(st.integers(0, 4), min_size=9, max_size=9), min_size=1, max_size=4),
    st.sampled_from([np.int64, object]),
)
def test_what_is_carried_between_values(totals, drawn, kind):
    """As the definition adds it up place by place."""
    rows = [row[: len(totals)] for row in drawn if any(row[: len(totals)])]
    assume(rows)
    cells = [(sum(row), code, count) for row in rows for code, count in enumerate(row) if count]
    size, code, count = (np.array(part) for part in zip(*cells, strict=True))
    first = np.cumsum([0, *(sum(map(bool, row)) for row in rows)])[:-1]
    far = carried_rows(size.astype(kind), code, count.astype(kind), first, np.array(totals))
    everywhere = sum(totals)
    for row, found in zip(rows, far.tolist(), strict=True):
        wanted = oracles.ordered_distance(row, totals) * max(1, len(totals) - 1) * sum(row) * everywhere
        assert found == wanted


def test_what_is_carried_is_added_up_in_wide_numbers_where_64_bits_end():
    """90 of 100 rows of a class have the first two of four values that are equally frequent in the table."""
    each, rows = 10**9, [126 * 10**7, 126 * 10**7, 0, 28 * 10**7]
    size = sum(rows)
    assert 90 * size // 100 * 4 * each > 2**63
    cells = np.array([[size] * 3, [0, 1, 3], [count for count in rows if count]])
    reference = Reference(np.array([each] * 4), np.arange(4)[np.newaxis], steps=3)
    (found,) = _carried_by(cells, np.array([0]), reference)
    assert found.far.tolist() == [sum(abs(sum(rows[: n + 1]) * 4 * each - (n + 1) * each * size) for n in range(4))]
