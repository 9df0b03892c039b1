"""WEKA's learners on two relations; skips without its jar."""

from __future__ import annotations

import pytest

from benchmarks.papers.weka import weka_accuracies, weka_jar
from ppdm_sql.errors import EngineError

needs_weka = pytest.mark.skipif(weka_jar() is None, reason="needs weka.jar (make weka) and java")


@pytest.mark.wide
@needs_weka
@pytest.mark.duckdb
def test_a_class_that_follows_from_a_column_is_learned(duckdb_engine, make_table):
    kinds = {"town": "TEXT", "size": "INTEGER", "class": "TEXT"}
    rows = [("O'Fallon, {x}", 1, "a"), ("Zürich\\", 9, "b"), (None, 2, "a"), ("***", 8, "b")] * 5
    train = make_table(duckdb_engine, "train", kinds, rows)
    test = make_table(duckdb_engine, "test", kinds, [("new town", 1, "a"), (None, 9, "b"), ("Zürich\\", 8, "a")])
    found = weka_accuracies(duckdb_engine, weka_jar(), train, test, target="class", attributes=["town", "size"])
    assert found == {"PART": pytest.approx(2 / 3), "J48": pytest.approx(2 / 3)}


@pytest.mark.wide
@needs_weka
@pytest.mark.duckdb
def test_what_weka_refuses_is_an_error(duckdb_engine, make_table):
    kinds = {"town": "TEXT", "class": "TEXT"}
    made = make_table(duckdb_engine, "alone", kinds, [])
    with pytest.raises(EngineError, match="of WEKA did not end well"):
        weka_accuracies(duckdb_engine, weka_jar(), made, made, target="town", attributes=[])
