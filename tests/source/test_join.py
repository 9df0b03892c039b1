"""Hundreds of small tables joined to one: in steps, with the same rows as in one statement."""

from __future__ import annotations

import pyarrow as pa
import pytest
from sqlglot import exp

from ppdm_sql.source import join
from ppdm_sql.source.join import Join, join_in_steps
from ppdm_sql.statements.names import Name, column, own


def doubled(engine, columns: int) -> tuple[list[tuple], list[str]]:
    """Rows of n, n + 1, ... joined to tables that double a number; and the statements that were run."""
    rows = {f"c{number}": [number, number + 1, 999] for number in range(columns)}
    engine.load(Name("t"), pa.table(rows), temporary=False)
    keys = list(range(columns + 1))
    engine.load(own("ppdm_doubled"), pa.table({"k": keys, "v": [2 * key for key in keys]}))
    statements: list[str] = []
    engine.on_statement = statements.append
    joins = [
        Join(own("ppdm_doubled"), "k", column(f"c{number}", "r"), lambda alias: column("v", alias), "left")
        for number in range(columns)
    ]
    query, read = join_in_steps(engine, exp.Select().from_(Name("t").table("r")), joins, "r", "ppdm_test")
    found = engine.fetch(query.select(*read).order_by(column("c0", "r")))
    return found, statements


@pytest.mark.parametrize("columns", [1, 4, 5, 8, 9, 17])
def test_the_steps_read_what_one_statement_reads(engine, monkeypatch, columns):
    monkeypatch.setattr(join, "MOST_JOINS", 4)
    found, statements = doubled(engine, columns)
    expected = [tuple(2 * (number + more) for number in range(columns)) for more in (0, 1)]
    assert found == [*expected, (None,) * columns]
    assert max(text.count("JOIN") for text in statements) <= 4
    assert sum("CREATE" in text for text in statements) == (columns - 1) // 4


def test_a_narrow_relation_is_joined_in_one_statement(duckdb_engine):
    _, statements = doubled(duckdb_engine, join.MOST_JOINS)
    assert len(statements) == 1
