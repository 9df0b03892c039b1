"""Statements a person can read live complete in sql/; here they get their real relation and columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from sqlglot import exp, parse_one

from ppdm_sql import resources
from ppdm_sql.statements.names import column as named_column
from ppdm_sql.statements.texts import share, without_places

Standin = Mapping[str, exp.Table]


def statement(
    name: str,
    relations: Mapping[str, exp.Expr] | None = None,
    columns: Mapping[str, Sequence[str]] | None = None,
) -> exp.Query:
    """The statement of sql/<name>.sql, its stand-in relations and columns replaced by real ones.

    A stand-in column may become several columns, or none.  Stand-ins do not occur in ORDER BY.  A statement without
    stand-ins is one and the same tree for everybody: it is read, never changed.

    >>> from ppdm_sql.statements.names import Name
    >>> q = statement("checks/undersized_classes", {"source": Name("t").table()}, {"quasi": ["a", "b c"]})
    >>> print(q.sql("duckdb", comments=False))
    SELECT "a", "b c", COUNT(*) AS ppdm_size FROM "t" GROUP BY "a", "b c" HAVING COUNT(*) < $k
    """
    if not relations and not columns:
        return _parse(name)
    return bind(_parse(name), relations, columns)


def bind(
    query: exp.Query,
    relations: Mapping[str, exp.Expr] | None = None,
    columns: Mapping[str, Sequence[str]] | None = None,
) -> exp.Query:
    """A copy of a statement, its stand-in relations and columns replaced by real ones."""
    tree = query.copy()
    for table in list(tree.find_all(exp.Table)):
        if relations and table.name in relations and not table.db:
            _replace_relation(table, relations[table.name])
    for column in list(tree.find_all(exp.Column)):
        if columns and column.name in columns:
            column.replace([named_column(real, column.table or None) for real in columns[column.name]])
    for group in list(tree.find_all(exp.Group)):
        if not group.expressions:  # no quasi-identifier: one class holds every row
            group.pop()
    return tree


def used_params(tree: exp.Expr, params: dict[str, Any]) -> dict[str, Any]:
    """Only the parameters that occur: an engine refuses one too many as it refuses one too few."""
    if not params:
        return {}
    names = {hole.name for hole in tree.find_all(exp.Parameter, exp.Placeholder)}
    return {name: value for name, value in params.items() if name in names}


def _replace_relation(table: exp.Table, real: exp.Expr) -> None:
    alias = table.args.get("alias")
    replacement = real.copy()
    if alias is not None:
        replacement.set("alias", alias.copy())
    table.replace(replacement)


def _parse(name: str) -> exp.Query:
    return parse_statement(resources.sql_text(name))


@cache
def parse_statement(text: str) -> exp.Query:
    """A statement over stand-ins as a tree, the same one for everybody: it is read, never changed."""
    tree = without_places(parse_one(text, dialect="duckdb"))
    if not isinstance(tree, exp.Query):
        raise TypeError(f"not a query: {text[:80]}")
    share(tree)
    return tree
