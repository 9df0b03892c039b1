"""Figures of the checks against numbers worked out by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from ppdm_sql.checks.breaches import breaches
from ppdm_sql.checks.measure import Sensitive, measure
from ppdm_sql.errors import PolicyError
from ppdm_sql.requirements import Closeness, DistinctDiversity, EnhancedLikeness, SimpleDiversity

pytestmark = pytest.mark.duckdb

# a: x twice and y; b: y twice and z.  Everywhere x 1/3, y 1/2, z 1/6.
ROWS = [("a", "x"), ("a", "x"), ("a", "y"), ("b", "y"), ("b", "y"), ("b", "z")]


@pytest.fixture
def table(duckdb_engine, make_table):
    relation = make_table(duckdb_engine, "t", {"q": "TEXT", "s": "TEXT"}, ROWS)
    q, s = duckdb_engine.columns(relation)
    return relation, q, s


def test_equal_distances_come_with_the_size_of_the_class(duckdb_engine, table):
    relation, q, s = table
    found = breaches(
        duckdb_engine, relation, Closeness(Fraction(1, 4), "equal"), quasi=[q], sensitive=Sensitive(s)
    )  # fmt: skip
    assert {(key, size, Fraction(int(far), int(whole))) for key, size, far, whole in found} == {
        ("a", 3, Fraction(1, 3)), ("b", 3, Fraction(1, 3)),
    }  # fmt: skip


def test_enhanced_likeness_by_hand(duckdb_engine, table):
    """The greatest excess is that of x in a and of z in b: (2/3 - 1/3) / (1/3) = (1/3 - 1/6) / (1/6) = 1."""
    relation, q, s = table
    for beta, broken in ((Fraction(1), 0), (Fraction(99, 100), 2)):
        found = measure(
            duckdb_engine, relation, quasi=[q], sensitive=[Sensitive(s)], requirements=[EnhancedLikeness(beta)]
        )  # fmt: skip
        (finding,) = found.outcomes
        assert finding.achieved == 1
        assert finding.breaching_classes == broken


def test_the_first_requirement_without_a_sensitive_column_is_named(duckdb_engine, table):
    relation, q, _ = table
    asked = [DistinctDiversity(2), SimpleDiversity(Fraction(2))]
    with pytest.raises(PolicyError, match="^distinct_l = 2 needs a SENSITIVE column"):
        measure(duckdb_engine, relation, quasi=[q], sensitive=[], requirements=asked)
