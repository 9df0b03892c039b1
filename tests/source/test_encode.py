"""Look-up tables and codes: natural order, NULL last, and a source that changes in between is noticed."""

from __future__ import annotations

import pytest
from sqlglot import exp

from ppdm_sql.source.encode import joined_lookups, make_lookup
from ppdm_sql.statements.names import column

VALUES = ["b", None, "a", "B", "a", None, "é", "a "]


@pytest.fixture
def relation(engine, make_table):
    return make_table(
        engine, "t", {"w": "TEXT", "n": "INTEGER"}, [(value, place) for place, value in enumerate(VALUES)]
    )


def test_codes_follow_the_order_of_the_bytes_and_null_is_last(engine, relation):
    lookup = make_lookup(engine, relation, engine.columns(relation)[0])
    assert lookup.values(engine) == [("B", 1), ("a", 2), ("a ", 1), ("b", 1), ("é", 1)]
    assert (lookup.size, lookup.null_code) == (6, 5)


def test_every_row_gets_the_code_of_its_value(engine, relation):
    lookup = make_lookup(engine, relation, engine.columns(relation)[0])
    query, (code,) = joined_lookups(engine, exp.Select().from_(relation.table("r")), [lookup], "r")
    assert dict(engine.fetch(query.select(column("n", "r"), code))) == {0: 3, 1: 5, 2: 1, 3: 0, 4: 1, 5: 5, 6: 4, 7: 2}


@pytest.mark.parametrize("column_with", ["a NULL", "no NULL"])
def test_a_value_that_came_in_between_has_no_code_and_is_not_null(duckdb_engine, make_table, column_with):
    rows = [("a",), (None,)] if column_with == "a NULL" else [("a",), ("b",)]
    relation = make_table(duckdb_engine, "t", {"w": "TEXT"}, rows)
    lookup = make_lookup(duckdb_engine, relation, duckdb_engine.columns(relation)[0])
    duckdb_engine.pass_through("INSERT INTO t VALUES ('later')")
    query, (code,) = joined_lookups(duckdb_engine, exp.Select().from_(relation.table("r")), [lookup], "r")
    assert dict(duckdb_engine.fetch(query.select(column("w", "r"), code)))["later"] is None
