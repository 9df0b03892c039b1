"""Figures of the judge that look right by chance: equal ratios, bounds far from one, sets of columns, native ranges."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from ppdm_sql.checks.part_ratios import ratio_limit
from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.policy.grammar import parse
from ppdm_sql.requirements import DeltaDisclosure
from ppdm_sql.verify.exponential import greatest_below_exponential
from ppdm_sql.verify.intervals import Span, read_span
from ppdm_sql.verify.relation import SensitiveColumn, judge

pytestmark = pytest.mark.duckdb


def test_values_with_the_same_ratio_are_not_mixed(duckdb_engine, make_table):
    """x and y are as frequent in each class as everywhere, y twice as often as x: no ratio differs from 1."""
    rows = [(q, s) for q in "ab" for s in "xyy"]
    relation = make_table(duckdb_engine, "t", {"q": "TEXT", "s": "TEXT"}, rows)
    (found,) = judge(
        duckdb_engine, relation, quasi=["q"], sensitive=[SensitiveColumn("s", Kind.TEXT)],
        requirements=[DeltaDisclosure(Fraction(1))],
    ).findings  # fmt: skip
    assert (found.holds, found.achieved) == (True, 0)


def test_bounds_of_delta_are_those_of_continued_fractions():
    for tenths in range(1, 41):
        delta = Fraction(tenths, 10)
        assert greatest_below_exponential(delta) == ratio_limit(delta), delta


def test_a_set_of_columns_has_classes_of_its_own(duckdb_engine, make_table):
    clause = (
        "WITH ANONYMIZATION (ALGORITHM tds REQUIRE k = 4 ON (q), k = 2 ON (q, r) QUASI IDENTIFIER (q, r) TARGET (s))"
    )
    (statement,) = parse(f"CREATE TABLE o AS SELECT q, r, s FROM t {clause}")
    rows = [(q, r, "x") for q in "ab" for r in "cd" for _ in range(2)]
    relation = make_table(duckdb_engine, "t", {"q": "TEXT", "r": "TEXT", "s": "TEXT"}, rows)
    found = judge(
        duckdb_engine, relation, quasi=["q", "r"], sensitive=[], requirements=statement.policy.requirements
    )  # fmt: skip
    assert (found.classes, [one.achieved for one in found.findings]) == (4, [4, 2])


def test_ends_of_native_ranges():
    column, item = ColumnInfo("q", Kind.TEXT, "int4range"), {"intervals": "numbers"}
    for text, span in {
        "[3,8)": Span(Fraction(3), Fraction(8), True),
        "[3,)": Span(Fraction(3), math.inf, True),
        "(,8)": Span(-math.inf, Fraction(8), True),
        "(,)": "suppressed",
    }.items():
        assert read_span(text, column, item) == span
