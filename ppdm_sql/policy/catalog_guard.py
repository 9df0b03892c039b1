"""Schema ppdm holds what releases are judged by: ordinary SQL of a policy file may read it, and never changes it.

The text decides, not the tree: wherever the word stands (quoted, in a string, in the body of a function or of DO) it
counts, except in a query that can be read and only reads.  SQL that is put together when it runs cannot be looked into
and is refused as well.  What gets past all this, such as a function that was there before, shows in the chain of the
ledger (catalog/ledger.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ppdm_sql.policy.query import Work, parse_counted
from ppdm_sql.policy.reader import Report
from ppdm_sql.policy.tokens import Token
from ppdm_sql.statements.names import SCHEMA

_NAMED = re.compile(rf"(?<!\w){SCHEMA}(?!\w)", re.IGNORECASE)
_ESCAPED_NAME = re.compile(r"(?<!\w)U&\"", re.IGNORECASE)
_DYNAMIC = re.compile(r"\b(EXECUTE|SET_CONFIG)\b", re.IGNORECASE)
_SEARCH_PATH = re.compile(r"\bSEARCH_PATH\b", re.IGNORECASE)
_READING = ("SELECT", "WITH", "FROM", "TABLE", "VALUES", "DESCRIBE", "DESC", "SUMMARIZE", "SHOW", "PIVOT", "(")
_READS = (exp.Query, exp.Describe, exp.Summarize, exp.Show, exp.Pivot)
_WRITES = (exp.DML, exp.DDL, exp.Command, exp.Into, exp.Lock)
_COMPARED = (exp.EQ, exp.NEQ, exp.In, exp.Like, exp.ILike)

_OUTSIDE = "If it is necessary, run it outside ppdm_sql"


def note_catalog_access(
    report: Report, tokens: Sequence[Token], text: str, dialect: sqlglot.Dialect, work: Work
) -> None:
    """A mistake if a statement names schema ppdm and is not a query that only reads it, or could name it unseen."""
    first = [token.word or token.text for token in tokens[:4]]
    message = (
        _named_access(text, first[0], dialect, work) or _escape_of(text) or _whole_sale(first) or _dynamic(text, first)
    )
    if message:
        report.add(message, tokens[0].start)


def _named_access(text: str, first: str, dialect: sqlglot.Dialect, work: Work) -> str | None:
    found = len(_NAMED.findall(text))
    if not found or (first in _READING and _read_only_mentions(text, dialect, work) >= found):
        return None
    return (
        f"schema {SCHEMA} is the catalog of ppdm_sql: ordinary SQL can read it with a SELECT and cannot change it.  "
        f"{_OUTSIDE}; VERIFY and later publications will report it"
    )


def _read_only_mentions(text: str, dialect: sqlglot.Dialect, work: Work) -> int:
    """How often a query names the schema in a place that is only read; 0 when it is no such query."""
    try:
        trees = parse_counted(text, dialect, work)
    except (SqlglotError, RecursionError):
        return 0
    if len(trees) != 1 or not isinstance(trees[0], _READS) or trees[0].find(*_WRITES) is not None:
        return 0
    names = [str(word.this) for word in trees[0].find_all(exp.Identifier, exp.Var)]
    compared = [str(one.this) for one in trees[0].find_all(exp.Literal) if isinstance(one.parent, _COMPARED)]
    return sum(name.casefold() == SCHEMA for name in names) + sum(len(_NAMED.findall(value)) for value in compared)


def _escape_of(text: str) -> str | None:
    return 'U&"..." hides which name is meant: write the plain name' if _ESCAPED_NAME.search(text) else None


def _whole_sale(first: Sequence[str]) -> str | None:
    """Statements that reach into every schema without naming one."""
    head = " ".join(first[:2])
    if head in ("DROP OWNED", "REASSIGN OWNED"):
        return f"{head} reaches into schema {SCHEMA}, the catalog of ppdm_sql.  {_OUTSIDE}"
    return None


def _dynamic(text: str, first: Sequence[str]) -> str | None:
    """SQL that is put together when it runs."""
    is_code = first[0] == "DO" or (first[0] == "CREATE" and {"FUNCTION", "PROCEDURE"} & set(first))
    unseen = is_code and (_DYNAMIC.search(text) or (first[0] == "DO" and _SEARCH_PATH.search(text)))
    if unseen or first[:2] == ["EXECUTE", "IMMEDIATE"]:
        return f"SQL that is built at run time cannot be checked for schema {SCHEMA} (EXECUTE, set_config).  {_OUTSIDE}"
    return None
