"""What ordinary SQL of a policy file may change, by the names in it: what later statements read must then wait."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

from ppdm_sql.policy.query import UnparsedError, Work, parse_bounded

_DML = (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.TruncateTable, exp.Copy)
_HARMLESS = (
    exp.Comment, exp.Grant, exp.Revoke, exp.Analyze, exp.Transaction, exp.Commit, exp.Rollback, exp.Describe, exp.Show,
)  # fmt: skip
_RELATIONS = ("TABLE", "VIEW")
_NO_RELATIONS = ("INDEX", "SEQUENCE")


@dataclass(frozen=True)
class Effects:
    """Names without their schemas, folded: a name that only resembles another one defers a check, no more."""

    tree: exp.Expr | None
    anything: bool = False  # not known: nothing behind it can be checked against the database
    relations: frozenset[str] = frozenset()  # made, changed or dropped
    rows: frozenset[str] = frozenset()  # other rows than before


def effects_of(text: str, dialect: str) -> Effects:
    """The effects of a statement; one that cannot be parsed can do anything.

    >>> sorted(effects_of("ALTER TABLE s.a RENAME TO B", "duckdb").relations)
    ['a', 'b']
    >>> effects_of("INSERT INTO a SELECT 1", "duckdb").rows, effects_of("CALL f()", "postgres").anything
    (frozenset({'a'}), True)
    """
    try:
        with _quiet_parser():
            trees = parse_bounded(text, sqlglot.Dialect.get_or_raise(dialect), Work())
    except UnparsedError:
        return Effects(None, anything=True)
    tree = trees[0] if len(trees) == 1 else None
    if tree is None or tree.find(exp.Anonymous, exp.AnonymousAggFunc, exp.Command):  # a function can do anything
        return Effects(tree, anything=True)
    match tree:
        case exp.Query():
            made = (table for into in tree.find_all(exp.Into) for table in into.find_all(exp.Table))
            changed = (table for change in tree.find_all(*_DML) for table in change.find_all(exp.Table))
            return Effects(tree, relations=_names(made), rows=_names(changed))
        case exp.Create() | exp.Alter() | exp.Drop() if _kind(tree) in _RELATIONS:
            named = tree.this if isinstance(tree, exp.Create) else tree
            cascades = bool(tree.args.get("cascade"))
            return Effects(tree, cascades, relations=_names(named.find_all(exp.Table)))
        case exp.Create() | exp.Alter() | exp.Drop() if _kind(tree) in _NO_RELATIONS:
            return Effects(tree)
        case _ if isinstance(tree, _DML):
            return Effects(tree, rows=_names(tree.find_all(exp.Table)))
        case _ if isinstance(tree, _HARMLESS):
            return Effects(tree)
    return Effects(tree, anything=True)


def _kind(tree: exp.Expr) -> str:
    return str(tree.args.get("kind") or "").upper()


def _names(tables: Iterator[exp.Table]) -> frozenset[str]:
    return frozenset(table.name.casefold() for table in tables)


@contextmanager
def _quiet_parser() -> Iterator[None]:
    """The parser warns about statements it does not know; here that is an answer like others."""
    logger = logging.getLogger("sqlglot")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before
