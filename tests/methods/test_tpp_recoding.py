"""The recoding that a tree allows: worked examples by hand, and random trees that must come out the same."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from oracles.naive_tpp import columns, grown, partition
from oracles.naive_tree import rules

from ppdm_sql.methods.tpp.recoding import (
    intervals,
    recode_categories,
    recode_numbers,
    threshold_sums_kept,
)


def shown(values, pairs, rows=None, **options):
    """Pairs are given as values; what is published per value."""
    place = {value: number for number, value in enumerate(values)}
    found = recode_numbers(values, rows or [1] * len(values), [(place[a], place[b]) for a, b in pairs], **options)
    return [found.published[group] for group in found.groups]


def sums(values, published, pairs):
    of = dict(zip(values, published, strict=True))
    return [Fraction(of[a] + of[b], 2) for a, b in pairs]


# -- worked examples -------------------------------------------------------------------------------------


def test_one_split():
    assert shown([1, 2, 3, 10, 12, 14], [(3, 10)]) == [2, 2, 2, 11, 11, 11]


def test_an_interval_with_two_boundaries_is_halved():
    values = [1, 3, 5, 6, 8, 10, 11, 13, 15, 16, 20, 30]
    assert shown(values, [(5, 6), (15, 16)]) == [3, 3, 3, 8, 8, 8, 13, 13, 13, 18, 18, 18]


def test_halves_are_even_in_rows_and_of_equal_ones_the_left_is_smaller():
    assert [(one.first, one.last) for one in intervals([1, 5, 1, 1, 1, 1], [(0, 1), (4, 5)])][1:3] == [(1, 1), (2, 4)]
    assert [(one.first, one.last) for one in intervals([1, 1, 1, 1, 1], [(0, 1), (3, 4)])][1:3] == [(1, 1), (2, 3)]


def test_boundaries_that_nodes_share_move_together():
    values, pairs = [2, 3, 4, 6, 7, 9], [(3, 4), (4, 6), (3, 7)]
    rows = [1, 2, 1, 1, 2, 1]
    assert shown(values, pairs, rows) == [3, 3, 4, 6, 7, 7]
    literal = shown(values, pairs, rows, paper=True)
    assert literal == [Fraction(8, 3), Fraction(8, 3), 4, 6, Fraction(22, 3), Fraction(22, 3)]
    assert sums(values, literal, pairs)[0] == Fraction(10, 3) != Fraction(7, 2)


def test_a_left_boundary_of_two_nodes():
    values, pairs = [10, 30, 40, 41, 42, 60, 80], [(30, 40), (30, 60)]
    assert shown(values, pairs) == [29, 29, 41, 41, 41, 61, 61]
    assert sums(values, shown(values, pairs), pairs) == [35, 45]
    assert sums(values, shown(values, pairs, paper=True), pairs) == [Fraction(61, 2), 45]


def test_values_outside_the_node_have_an_interval_of_their_own():
    values = [10, 20, 30, 33, 35, 40, 50, 60]
    assert shown(values, [(30, 40)]) == [20, 20, 20, 34, 34, 50, 50, 50]
    assert shown(values, [(30, 40)], absorb=True) == [20, 20, 20, 20, 20, 50, 50, 50]


def test_two_trees_with_a_value_that_is_both_boundaries():
    values, pairs = [1, 2, 3, 10, 12, 14], [(3, 10), (2, 3)]
    found = recode_numbers(values, [1] * 6, [(2, 3), (1, 2)])
    assert [found.published[group] for group in found.groups] == [2, 2, 3, 10, 10, 10]
    assert found.kept == {1, 2, 3}
    assert sums(values, shown(values, pairs), pairs) == [Fraction(13, 2), Fraction(5, 2)]


def test_means_count_rows_and_the_grid_rounds_down():
    values, rows = [1, 2, 3, 7, 9], [3, 1, 2, 2, 1]
    assert shown(values, [(3, 7)], rows) == [Fraction(7, 3)] * 3 + [Fraction(23, 3)] * 2
    assert shown(values, [(3, 7)], rows, grid=1) == [3, 3, 3, 7, 7]


def test_numbers_that_do_not_fit_their_type_are_moved_less():
    found = shown([0, 10, 20, 30, 40, 50], [(20, 30)], grid=1, fits=lambda number: number in (14, 36))
    assert found == [14, 14, 14, 36, 36, 36]  # the room is 10
    nothing = shown([0, 10, 20, 30, 40, 50], [(20, 30)], grid=1, fits=lambda number: False)
    assert nothing == [20, 20, 20, 30, 30, 30]


def test_categories_are_grouped_by_where_every_node_sends_them():
    one = [[0, 1], [2, 3, 4]]  # high school, 2-year | Bachelor, Master, PhD
    assert recode_categories(5, [one]) == (0, 0, 1, 1, 1)
    assert recode_categories(5, [one, [[2], [3, 4]]]) == (0, 0, 1, 2, 2)


def test_a_category_that_a_node_never_sees_is_a_way_of_its_own():
    assert recode_categories(4, [[[0], [1]]]) == (0, 1, 2, 2)


# -- random trees ----------------------------------------------------------------------------------------


def numeric_table(draw):
    """Numbers with ties; a class or a response that depends on them."""
    names = ["a", "b", "c"][: draw.randint(1, 3)]
    most = [draw.choice([3, 8, 40, 1000]) for _ in names]
    rows = []
    for number in range(draw.randint(8, 24)):
        row = {"id": number} | {name: draw.randint(0, top) for name, top in zip(names, most, strict=True)}
        row["y"] = (sum(row[name] for name in names) // 3 + draw.randint(0, 2)) % 7
        rows.append(row)
    return names, rows


@pytest.mark.parametrize("block", range(4))
def test_random_trees_over_numbers_come_out_the_same(block):
    """60 tables, one to three trees each: every tree grown again from the recoded rows has the same nodes."""
    for number in range(15):
        draw = random.Random(f"recode {block} {number}")
        names, rows = numeric_table(draw)
        attributes = [(name, True) for name in names]
        how = [
            rules(inducer, min_leaf=draw.randint(1, 3), max_leaves=draw.randint(2, 6), prune=False, rare=1)
            for inducer in draw.choices(["cart", "regression", "id3"], k=draw.choice([1, 1, 2, 3]))
        ]
        roots = [grown(rows, attributes, "y", one) for one in how]
        used = columns(rows, attributes, [(root, False) for root in roots])
        for options in draw.sample([{}, {"grid": 1}, {"grid": 1, "absorb": True}], 2):
            again = [grown(recoded(rows, names, used, **options), attributes, "y", one) for one in how]
            for first, second in zip(roots, again, strict=True):
                assert partition(second) == partition(first), (block, number, options)


def recoded(rows, names, used, **options):
    """The published table: used columns recoded, the others constant."""
    mapping = {}
    for name, column in used.items():
        found = recode_numbers(column.values, column.rows, column.pairs, **options)
        assert threshold_sums_kept(column.values, found, column.pairs)
        published = [found.published[group] for group in found.groups]
        mapping[name] = dict(zip(column.values, published, strict=True))
    return [row | {name: mapping[name][row[name]] if name in mapping else 0 for name in names} for row in rows]


@pytest.mark.parametrize("seed", range(3))
def test_every_published_number_lies_in_its_interval_and_the_order_is_kept(seed):
    for number in range(100):
        draw = random.Random(f"interval {seed} {number}")
        values = sorted(draw.sample(range(200), draw.randint(2, 25)))
        rows = [draw.randint(1, 6) for _ in values]
        pairs = []
        for _ in range(draw.randint(1, 5)):
            low, high = sorted(draw.sample(range(len(values)), 2))
            pairs.append((low, high))
        for options in ({}, {"grid": 1}):
            found = recode_numbers(values, rows, pairs, **options)
            assert threshold_sums_kept(values, found, pairs)
            for one in intervals(rows, pairs):
                published = {found.published[found.groups[at]] for at in range(one.first, one.last + 1)}
                assert len(published) == 1
                assert values[one.first] <= published.pop() <= values[one.last]
