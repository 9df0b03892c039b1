"""What a measurement is made of: buckets, keys, and working tables only where they are needed."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np

from ppdm_sql.checks.class_table import pack_key
from ppdm_sql.checks.measure import Sensitive, measure
from ppdm_sql.checks.measurement import Measurement
from ppdm_sql.checks.size import Sizes, histogram
from ppdm_sql.requirements import DistinctDiversity, EntropyDiversity, KAnonymity


def about(engine, relation, quasi, sensitive, requirements):
    info = {column.name: column for column in engine.columns(relation)}
    asked = {"quasi": [info[name] for name in quasi], "sensitive": [Sensitive(info[name]) for name in sensitive]}
    return measure(engine, relation, requirements=requirements, **asked)


def test_where_the_buckets_of_the_histogram_start():
    """A class of every first size, and one of every last size."""
    lows = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000]
    highs = [low - 1 for low in lows[1:]]
    sizes = np.array([*lows, *highs, 10**6])
    found = histogram(Sizes(sizes, sizes, np.ones_like(sizes)))
    assert [(bucket.low, bucket.high) for bucket in found] == list(zip(lows, [*highs, None], strict=True))
    assert [bucket.classes for bucket in found] == [2] * 11
    assert [bucket.rows for bucket in found] == [low + high for low, high in zip(lows, [*highs, 10**6], strict=True)]


def test_columns_of_one_value_need_no_room_in_a_key():
    lookups = [SimpleNamespace(size=size) for size in (1, 0, 1, 3, 1)]
    assert [(digit.key, digit.weight) for digit in pack_key(lookups, limit=3).digits] == [
        *((0, 1), (0, 1), (0, 1), (0, 1), (0, 3)),
    ]
    assert [digit.key for digit in pack_key(lookups, limit=2).digits] == [0, 0, 0, 1, 2]


def test_without_nulls_nothing_is_made_to_compare_them(duckdb_engine, make_table):
    relation = make_table(duckdb_engine, "t", {"a": "TEXT", "s": "TEXT"}, [("x", "u"), ("x", "v"), ("y", "u")])
    heard: list[str] = []
    duckdb_engine.on_statement = heard.append
    found = about(duckdb_engine, relation, ["a"], [], [KAnonymity(1)])
    assert (found.k, found.k_null_matches_all) == (1, 1)
    assert not any("CREATE" in sql for sql in heard), heard  # one GROUP BY is enough
    found = about(duckdb_engine, relation, ["a"], ["s"], [DistinctDiversity(1)])
    assert (found.k, found.k_null_matches_all) == (1, 1)
    assert any("ppdm_cells" in sql for sql in heard)
    assert not any("ppdm_split" in sql or "ppdm_masked" in sql for sql in heard)


def test_persons_are_counted_whatever_is_measured_first(duckdb_engine, make_table):
    rows = [("x", 1, "u"), ("x", 1, "v"), ("x", 2, "u")]
    relation = make_table(duckdb_engine, "t", {"a": "TEXT", "who": "INTEGER", "s": "TEXT"}, rows)
    info = {column.name: column for column in duckdb_engine.columns(relation)}
    for entity, k in ((info["who"], 2), (None, 3)):
        with duckdb_engine.workspace():
            found = Measurement(duckdb_engine, relation, [info["a"]], entity, {"s": []})
            found.cells(Sensitive(info["s"]))
            assert (found._sizes is None) == (entity is not None)  # without persons the cells tell the sizes
            assert found.sizes().k == k


def test_nulls_are_compared_in_64_patterns_of_62_columns(duckdb_engine, make_table):
    names = [f"q{number}" for number in range(7)]
    rows = [tuple("a" if number >> bit & 1 else None for bit in range(7)) for number in range(65)]
    few, many = (make_table(duckdb_engine, f"t{n}", dict.fromkeys(names, "TEXT"), rows[:n]) for n in (64, 65))
    assert about(duckdb_engine, few, names, [], [KAnonymity(1)]).k_null_matches_all == 64
    assert about(duckdb_engine, many, names, [], [KAnonymity(1)]).k_null_matches_all is None
    columns = {f"q{number}": "INTEGER" for number in range(63)}
    wide = make_table(duckdb_engine, "wide", columns, [(None,) * 63, (1,) * 63])
    assert about(duckdb_engine, wide, list(columns)[:62], [], [KAnonymity(1)]).k_null_matches_all == 2
    assert about(duckdb_engine, wide, list(columns), [], [KAnonymity(1)]).k_null_matches_all is None


def test_an_entropy_in_doubt_is_decided_by_all_counts(duckdb_engine, make_table):
    """4, 1, 1, 1, 1 are exactly two bits: too near to tell in floating point, and neither equal nor two values."""
    rows = [("x", value) for value, count in enumerate([4, 1, 1, 1, 1]) for _ in range(count)]
    relation = make_table(duckdb_engine, "t", {"a": "TEXT", "s": "INTEGER"}, [*rows, *(("y", n) for n in range(9))])
    asked = [EntropyDiversity(Fraction(4)), EntropyDiversity(4 + Fraction(1, 10**9))]
    at, beyond = about(duckdb_engine, relation, ["a"], ["s"], asked).outcomes
    assert (at.holds, at.breaching_classes) == (True, 0)
    assert (beyond.holds, beyond.breaching_classes, beyond.breaching_rows) == (False, 1, 8)
