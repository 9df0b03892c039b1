"""Hundreds of quasi-identifiers: every method ends, and no statement has more joins than a planner stands."""

from __future__ import annotations

import duckdb
import pytest
from sqlglot import exp

import ppdm_sql
from ppdm_sql.induction.nominal import mixed_radix
from ppdm_sql.source.join import MOST_JOINS
from ppdm_sql.statements.names import column
from tests.sizes import first

COLUMNS, ROWS = 300, 60


def publish_wide(method: str, columns: int = COLUMNS) -> tuple[ppdm_sql.Published, list[str]]:
    names = ", ".join(f"c{number}" for number in range(columns))
    made = ", ".join(f"(range * {n + 3} + {n}) % {n % 7 + 2} AS c{n}" for n in range(columns))
    role = "INSENSITIVE (y)" if method == "mondrian" else "TARGET (y)"
    statements: list[str] = []
    with ppdm_sql.connect(duckdb.connect()) as session:
        session.execute(f"CREATE TABLE t AS SELECT {made}, 'y' || range % 3 % 2 AS y FROM range({ROWS})")
        session.engine.on_statement = statements.append
        release = session.publish(
            f"CREATE TABLE o AS SELECT {names}, y FROM t WITH ANONYMIZATION (ALGORITHM {method} REQUIRE k = 5 "
            f"QUASI IDENTIFIER ({names}) {role} ACCEPT RISK (undeclared))"
        )
    return release, statements


@pytest.mark.parametrize(
    "method",
    [
        pytest.param("kactus2", marks=pytest.mark.wide),
        *(pytest.param(name, marks=pytest.mark.nightly) for name in ("kactus", "mondrian", "tpp")),
    ],
)
def test_300_quasi_identifiers_are_published(method):
    release, statements = publish_wide(method)
    assert release.rows == ROWS
    assert release.findings[0].holds
    assert max(text.count(" JOIN ") for text in statements) <= MOST_JOINS + 3  # a few of the method's own


@pytest.mark.parametrize("method", first(1, ["kactus2", "mondrian", "kactus", "tpp"]))
def test_no_statement_has_a_join_for_every_column(method):
    release, statements = publish_wide(method, 2 * MOST_JOINS + 5)
    assert release.rows == ROWS
    assert max(text.count(" JOIN ") for text in statements) <= MOST_JOINS + 3  # a few of the method's own


@pytest.mark.wide
def test_trees_are_not_copied_once_for_every_column(monkeypatch):
    """Copies of the growing statement made the time quadratic: the nodes that are copied grow with the columns."""
    copied = {}
    for columns in (15, 30):
        nodes = 0
        plain = exp.Expression.__deepcopy__

        def counting(self, memo, plain=plain):
            nonlocal nodes
            nodes += sum(1 for _ in self.walk())
            return plain(self, memo)

        with monkeypatch.context() as patch:
            patch.setattr(exp.Expression, "__deepcopy__", counting)
            publish_wide("kactus2", columns)
        copied[columns] = nodes
    assert copied[30] < 2.6 * copied[15]


def test_codes_that_are_always_0_do_not_nest():
    codes = [(column("a"), 3), *((column(f"c{number}"), 1) for number in range(2000)), (column("b"), 2)]
    assert mixed_radix(codes).sql("duckdb") == '(CAST("a" AS BIGINT)) * 2 + CAST("b" AS BIGINT)'
