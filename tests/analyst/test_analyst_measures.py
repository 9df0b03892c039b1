"""Each macro against its definition in naive.py, on random tables with odd values and odd names."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction
from itertools import product

import pytest

from tests.sizes import seeds

from . import naive
from .conftest import POOLS, call, load

in_blocks = seeds(small=15, full=60, nightly=200, block=70)


@pytest.fixture
def measured(shared):
    """measured(sample, macro, more arguments) -> the rows as dictionaries."""

    def fetch(sample, macro, *arguments, nulls=False):
        shared.execute(f"SET search_path = '{sample.schema},main'")
        found = shared.execute(f"FROM {call(macro, sample.table, sample.qis, *arguments, nulls=nulls)}")
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    return fetch


@pytest.fixture
def classes_by(shared):
    """The rows of a macro that shows classes: Counter of ((our columns), (quasi-identifiers as text))."""

    def fetch(sample, macro, ours, *arguments, nulls=False):
        shared.execute(f"SET search_path = '{sample.schema},main'")
        relation = call(macro, sample.table, sample.qis, *arguments, nulls=nulls)
        found = shared.execute(f"SELECT COLUMNS(*)::VARCHAR FROM {relation}")
        assert [column[0] for column in found.description[: len(ours)]] == ours
        return Counter((row[: len(ours)], row[len(ours) :]) for row in found.fetchall())

    return fetch


def close(found: dict, expected: dict) -> bool:
    """Integers and NULL exactly, in the expected order of columns; fractions as the nearest DOUBLE."""
    assert list(found) == list(expected)
    return all(
        math.isclose(found[name], value, rel_tol=1e-12) if isinstance(value, Fraction | float) else found[name] == value
        for name, value in expected.items()
    )


@in_blocks
def test_the_size_of_the_classes(sample_of, measured, seeds):
    for sample in map(sample_of, seeds):
        assert measured(sample, "ppdm_k_anonymity") == [naive.k_anonymity(sample.rows, sample.places)]


@in_blocks
def test_risk(sample_of, measured, seeds):
    for sample in map(sample_of, seeds):
        (found,) = measured(sample, "ppdm_risk")
        assert close(found, naive.risk(sample.rows, sample.places))
        histogram = [tuple(row.values()) for row in measured(sample, "ppdm_class_sizes")]
        assert [row[:4] for row in histogram] == [row[:4] for row in naive.class_sizes(sample.rows, sample.places)]
        assert [row[4] for row in histogram] == pytest.approx(
            [float(row[4]) for row in naive.class_sizes(sample.rows, sample.places)]
        )


@in_blocks
def test_a_population(sample_of, shared, measured, seeds):
    """Some of the rows, some of them several times, in a table with the columns the other way round."""
    for sample in map(sample_of, seeds):
        draw = random.Random(sample.seed)
        share = draw.choice([0, 1, 3])
        people = [row for row in sample.rows for _ in range(draw.randint(share > 1, share))]
        shared.execute(f"SET search_path = '{sample.schema},main'")
        turned = load(shared, "every body", sample.columns[::-1], sample.types[::-1], [row[::-1] for row in people])
        (found,) = measured(sample, "ppdm_population", turned)
        assert close(found, naive.population(sample.rows, people, sample.places)), sample.seed


@in_blocks
def test_some_of_the_columns(sample_of, measured, seeds):
    for sample in map(sample_of, seeds):
        for m in (1, 2, 9):
            assert measured(sample, "ppdm_k_every", m) == [naive.k_every(sample.rows, sample.places, m)]


@in_blocks
def test_both_readings_of_null(sample_of, measured, seeds):
    for sample in map(sample_of, seeds):
        assert measured(sample, "ppdm_k_null_matches") == [naive.k_null_matches(sample.rows, sample.places)]


@in_blocks
def test_the_classes_themselves(sample_of, classes_by, seeds):
    for sample in map(sample_of, seeds):
        expected = {key: len(rows) for key, rows in naive.classes(sample.rows, sample.places).items()}
        found = classes_by(sample, "ppdm_classes", ["ppdm_size", "ppdm_share"])
        assert Counter((size, key) for (size, _), key in found) == Counter((str(n), key) for key, n in expected.items())
        for size, share in (ours for ours, _ in found):
            assert float(share) == pytest.approx(int(size) / len(sample.rows))
        k = sample.seed % 7 + 1
        below = classes_by(sample, "ppdm_breaches", ["ppdm_size"], k)
        assert below == Counter(((str(n),), key) for key, n in expected.items() if n < k)


@in_blocks
def test_diversity(sample_of, measured, classes_by, seeds):
    for sample, nulls in product(map(sample_of, seeds), (False, True)):
        (found,) = measured(sample, "ppdm_l_diversity", sample.sensitive, nulls=nulls)
        assert close(found, naive.l_diversity(sample.rows, sample.places, sample.last, nulls))

        counts = naive.frequencies(sample.rows, sample.places, sample.last, nulls)
        sizes = {key: len(held) for key, held in naive.classes(sample.rows, sample.places).items()}
        ours = ["ppdm_size", "ppdm_known", "ppdm_distinct", "ppdm_most_frequent"]
        l = sample.seed % 3 + 1
        assert classes_by(sample, "ppdm_l_breaches", ours, sample.sensitive, l, nulls=nulls) == Counter(
            ((str(sizes[key]), str(sum(n)), str(len(n)), str(max(n, default=0))), key)
            for key, n in counts.items()
            if not n or Fraction(n[0], sum(n)) > Fraction(1, l)
        )


@in_blocks
def test_recursive_diversity(sample_of, measured, seeds):
    for sample, nulls in product(map(sample_of, seeds), (False, True)):
        found = measured(sample, "ppdm_recursive_diversity", sample.sensitive, nulls=nulls)
        bounds = [(row["l"], Fraction(row["most_frequent"], row["tail"]) if row["tail"] else math.inf) for row in found]
        assert bounds == naive.recursive_diversity(sample.rows, sample.places, sample.last, nulls)
        assert [row["above_c"] for row in found] == pytest.approx([float(bound) for _, bound in bounds])


@in_blocks
def test_closeness(sample_of, measured, seeds):
    for sample, nulls in product(map(sample_of, seeds), (False, True)):
        order = [*POOLS[sample.types[-1]], None]
        for macro, expected in (
            ("ppdm_t_closeness", naive.t_equal(sample.rows, sample.places, sample.last, nulls)),
            ("ppdm_t_closeness_ordered", naive.t_ordered(sample.rows, sample.places, sample.last, nulls, order)),
        ):
            (found,) = measured(sample, macro, sample.sensitive, nulls=nulls)
            exact = (1, 0) if expected == math.inf else expected.as_integer_ratio()
            assert (found["t_numerator"], found["t_denominator"]) == exact
            assert found["t"] == pytest.approx(float(expected))
            assert found["classes"] == len(naive.classes(sample.rows, sample.places))
            assert found["sensitive_values"] == len(set(naive.counting(sample.rows, sample.last, nulls)))


@in_blocks
def test_likeness(sample_of, measured, seeds):
    for sample, nulls in product(map(sample_of, seeds), (False, True)):
        expected = naive.likeness(sample.rows, sample.places, sample.last, nulls)
        (found,) = measured(sample, "ppdm_likeness", sample.sensitive, nulls=nulls)
        for name in ("alpha", "beta"):
            exact = (1, 0) if expected[name] == math.inf else expected[name].as_integer_ratio()
            assert (found[f"{name}_numerator"], found[f"{name}_denominator"]) == exact
        for name, figure in expected.items():
            assert found[name] == pytest.approx(float(figure), abs=1e-12)
        assert found["classes"] == len(naive.classes(sample.rows, sample.places))
        assert found["sensitive_values"] == len(set(naive.counting(sample.rows, sample.last, nulls)))


def test_the_random_tables_are_worth_measuring(sample_of):
    """The comparisons above say little unless every kind of outcome occurs among the tables."""
    samples = [sample_of(seed) for seed in range(60)]
    both = [naive.k_null_matches(sample.rows, sample.places) for sample in samples]
    diversity = [naive.l_diversity(sample.rows, sample.places, sample.last, False) for sample in samples]
    assert sum(found["distinct_l"] == 0 for found in diversity) > 6
    assert {kind for sample in samples for kind in sample.types} == set(POOLS)
    assert sum(found["k"] < found["k_null_matches"] for found in both) > 12
    assert sum(found["k"] > 1 for found in both) > 12
    assert sum(found["distinct_l"] > 1 for found in diversity) > 9
    assert sum(found["distinct_l"] > 2 for found in diversity) > 3
    assert sum(found["simple_l"].denominator > 1 for found in diversity) > 6
