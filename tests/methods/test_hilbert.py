"""Groups along a curve: the curve itself, the rule of groups against its definition, and what is promised."""

from __future__ import annotations

import random
from collections import Counter
from datetime import date, timedelta
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from lattice_cases import Case, check_classes, random_case
from oracles.naive_hilbert import diverse_groups, join_in_order, nearest_face

from ppdm_sql.errors import RequirementBreached
from ppdm_sql.methods.hilbert.curve import curve_order, distance_index, hilbert_index
from ppdm_sql.methods.hilbert.groups import can_be_diverse, diverse_blocks, join_blocks, sized_blocks
from ppdm_sql.methods.hilbert.method import HILBERT
from ppdm_sql.methods.lattice.level_recoding import range_ends
from ppdm_sql.methods.mondrian.level_counts import Histogram
from ppdm_sql.methods.shared.limits import Demands, Secret
from ppdm_sql.requirements import KAnonymity, RecursiveDiversity, SimpleDiversity
from tests.sizes import seeds

pytestmark = pytest.mark.duckdb


# -- the curve ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("columns", "bits"), [(1, 4), (2, 3), (3, 2), (4, 2)])
def test_the_curve_goes_through_every_place_step_by_step(columns, bits):
    points = np.array(list(product(range(1 << bits), repeat=columns))).T
    (index,) = hilbert_index(points, bits)
    assert sorted(index.tolist()) == list(range(1 << bits * columns))
    steps = np.abs(np.diff(points[:, np.argsort(index)], axis=1))
    assert (steps.sum(axis=0) == 1).all()


def test_an_index_of_several_words_orders_as_one_number():
    rng = np.random.default_rng(3)
    points = rng.integers(0, 1 << 16, (9, 200))
    words = hilbert_index(points, 16)
    assert len(words) == 3
    whole = [(int(a) << 82) | (int(b) << 20) | int(c) for a, b, c in zip(*words, strict=True)]
    assert len(set(whole)) == 200
    short = hilbert_index(points >> 14, 2)[0]  # the first bits of an index are the index of the first bits
    assert [number >> (9 * 14) for number in whole] == short.tolist()


def test_distances_are_those_from_the_centres_of_faces():
    rng = np.random.default_rng(4)
    points = rng.integers(0, 8, (3, 100))
    face, squares = distance_index(points, 3)
    for point, here, square in zip(points.T.tolist(), face.tolist(), squares.tolist(), strict=True):
        assert nearest_face(point, 7) == (here, Fraction(square, 4))


def test_a_column_of_two_values_counts_as_much_as_one_of_many():
    sex, age = np.array([0, 1, 0, 1]), np.array([0, 0, 40, 40])
    order = curve_order([sex, age], [2, 41], "hilbert").tolist()
    assert order == [0, 2, 3, 1]  # rows of one sex follow each other


# -- the groups --------------------------------------------------------------------------------------------


def random_cells(seed):
    """Cells of several rows; every second time all values are about equally frequent, so that some must be taken."""
    rng = random.Random(seed)
    rows, values = [], []
    for value in range(rng.randint(3, 7)):
        left = rng.randint(1, 12) if seed % 2 else 8 - rng.choice([0, 0, 0, 1, 2, 5])
        while left:
            rows.append(rng.randint(1, left))
            values.append(value)
            left -= rows[-1]
    return np.array(rng.sample(range(len(rows)), len(rows))), np.array(values), np.array(rows)


@seeds(small=60, full=400, nightly=4000)
def test_diverse_groups_are_those_of_the_rule(seeds):
    tried = 0
    for seed in seeds:
        order, values, rows = random_cells(seed)
        least = 2 + seed % 3
        if not can_be_diverse(np.bincount(values, weights=rows).astype(np.int64), least):
            continue
        tried += 1
        blocks = diverse_blocks(order, values, rows, least, 1 + seed % 7)
        place = {int(cell): number for number, cell in enumerate(order)}
        table = [(place[cell], int(values[cell])) for cell in range(len(rows)) for _ in range(rows[cell])]
        expected = Counter(tuple(group) for group in diverse_groups(table, least))
        found = Counter()
        for block in range(int(blocks.block[-1]) + 1):
            here = blocks.block == block
            (many,) = set(blocks.rows[here].tolist())
            found[tuple(sorted((place[cell], int(values[cell])) for cell in blocks.cell[here].tolist()))] += many
        assert found == expected
        assert all(least <= len(group) < 2 * least for group in found)
        taken = Counter()  # every row once, in the order of its cell
        for cell, start, many in sorted(
            zip(blocks.cell.tolist(), blocks.start.tolist(), blocks.rows.tolist(), strict=True)
        ):
            assert start == taken[cell]
            taken[cell] += many
        assert taken == dict(enumerate(rows.tolist()))
    assert tried >= len(seeds) // 3


@seeds(small=60, full=400, nightly=4000)
def test_groups_are_joined_as_soon_as_they_hold(seeds):
    for seed in seeds:
        rng = random.Random(seed)
        blocks = [[rng.choice("aaabbc") for _ in range(rng.choice([1, 1, 2, 5]))] for _ in range(rng.randint(1, 40))]
        k, asked = (
            rng.randint(1, 8),
            rng.choice([None, SimpleDiversity(Fraction(3, 2)), RecursiveDiversity(Fraction(2), 2)]),
        )
        counts = np.array([[block.count(value) for value in "abc"] for block in blocks])
        secret = Secret("s", (asked,) if asked else (), counts.sum(axis=0))
        if asked and not secret.holds(counts.sum(axis=0).reshape(1, -1))[0]:
            continue
        if counts.sum() < k:
            continue

        def holds(rows, k=k, secret=secret):
            return len(rows) >= k and bool(secret.holds(np.array([[rows.count(value) for value in "abc"]]))[0])

        expected = [len(group) for group in join_in_order(blocks, holds)]
        entry, value = np.nonzero(counts)
        histogram = Histogram(entry, value, counts[entry, value], 3)
        group = join_blocks(counts.sum(axis=1), [histogram], Demands(k, (secret,)))
        assert np.bincount(group, weights=counts.sum(axis=1)).astype(int).tolist() == expected


def test_joining_a_large_cell_takes_only_what_is_needed():
    blocks = sized_blocks(np.array([1, 0]), np.array([20, 3]), np.array([20, 3]), 10)
    assert list(zip(blocks.cell.tolist(), blocks.start.tolist(), blocks.rows.tolist(), strict=True)) == [
        (1, 0, 3),
        (0, 0, 10),
        (0, 10, 10),
    ]
    assert join_blocks(blocks.rows, [], Demands(10)).tolist() == [0, 0, 1]


# -- what is published -------------------------------------------------------------------------------------


@pytest.mark.parametrize("curve", ["hilbert", "idistance"])
@seeds(small=15, full=150, nightly=1000)
def test_what_is_published_keeps_the_policy(duckdb_engine, seeds, curve):
    published = 0
    for seed in seeds:
        case = random_case(seed)
        case.algorithm, case.suppress, case.tunings, case.options = "hilbert", Fraction(0), {}, {"curve": curve}
        try:
            plan, rows = case.run(duckdb_engine, HILBERT)
        except RequirementBreached:
            assert not case.holds(case.rows, case.rows)
            continue
        published += 1
        check_classes(case, plan, rows)
    assert published >= 0.4 * len(seeds)


def test_an_outlier_costs_few_rows_their_value_and_ends_are_round(duckdb_engine):
    rows = [{"id": n, "age": 20 + n // 10} for n in range(1000)] + [{"id": 1000, "age": 140}]
    case = Case({"id": "integer", "age": "integer"}, rows, ["age"], (KAnonymity(10),), algorithm="hilbert")
    plan, found = case.run(duckdb_engine, HILBERT)
    shown = Counter(row["age"] for row in found)
    assert sum(many for label, many in shown.items() if label.isdigit()) == 990
    assert shown["[115, 145)"] == 11
    assert plan.figures["smallest class"] == 10


def test_an_outlier_far_away_leaves_the_others_their_intervals(duckdb_engine):
    rows = [{"id": n, "light": n % 300} for n in range(1000)] + [{"id": 1000, "light": 9_999_999}]
    case = Case({"id": "integer", "light": "integer"}, rows, ["light"], (KAnonymity(10),), algorithm="hilbert")
    _, found = case.run(duckdb_engine, HILBERT)
    ends = [tuple(map(int, row["light"].strip("[)").split(", "))) for row in found]
    assert sum(high - low <= 20 for low, high in ends) >= 980
    assert sum(high > 300 for _, high in ends) <= 20


def test_dates_are_published_between_the_first_days_of_months(duckdb_engine):
    rows = [{"id": n, "day": date(2019, 1, 1) + timedelta(days=n * 37 % 1500)} for n in range(600)]
    case = Case({"id": "integer", "day": "date"}, rows, ["day"], (KAnonymity(20),), algorithm="hilbert")
    _, found = case.run(duckdb_engine, HILBERT)
    shown = {row["day"] for row in found}
    assert len(shown) >= 15
    for label in shown:
        ends = range_ends(label)
        assert ends is not None
        assert all(end.endswith("-01") for end in ends)
        first, last = (date.fromisoformat(end) for end in ends)
        assert (last - first).days <= 93
    for row in found:
        first, last = (date.fromisoformat(end) for end in range_ends(row["day"]))
        assert first <= rows[row["ppdm_key0"]]["day"] < last


def test_persons_are_counted_once(duckdb_engine):
    rows = [{"id": n, "person": n // 4, "age": 20 + n // 8} for n in range(240)]
    case = Case(
        {"id": "integer", "person": "integer", "age": "integer"},
        rows,
        ["age"],
        (KAnonymity(5),),
        entity="person",
        algorithm="hilbert",
    )
    _, found = case.run(duckdb_engine, HILBERT)
    people = {}
    for row in found:
        people.setdefault(row["age"], set()).add(row["ppdm_key0"] // 4)
    assert min(len(one) for one in people.values()) >= 5
    assert len(people) > 5


def test_rows_without_a_known_sensitive_value_join_their_neighbours(duckdb_engine):
    rows = [{"id": n, "age": n // 6, "illness": [None, "flu", "gout"][n % 3]} for n in range(120)]
    case = Case(
        {"id": "integer", "age": "integer", "illness": "text"}, rows, ["age"], (KAnonymity(3), SimpleDiversity(Fraction(2))),
        sensitive=["illness"], algorithm="hilbert",
    )  # fmt: skip
    plan, found = case.run(duckdb_engine, HILBERT)
    classes = {}
    for row in found:
        classes.setdefault(row["age"], []).append(rows[row["ppdm_key0"]]["illness"])
    assert len(found) == 120
    assert len(classes) == plan.classes > 5
    for values in classes.values():
        known = Counter(value for value in values if value)
        assert known
        assert 2 * max(known.values()) <= sum(known.values())
