"""Queries and answers in one line each, for tests of engines."""

from __future__ import annotations

from sqlglot import exp, parse_one

from ppdm_sql.statements.names import Name, aliased, column


def one(value: int, name: str = "a") -> exp.Select:
    return exp.select(aliased(exp.convert(value), name))


def rows(engine, name: Name, *columns: str):
    return sorted(engine.fetch(exp.Select(expressions=[column(c) for c in columns or ("a",)]).from_(name.table())))


def query(text: str) -> exp.Expr:
    return parse_one(text, dialect="duckdb")
