"""Statements that PostgreSQL alone needs, as syntax trees."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from sqlglot import exp

from ppdm_sql.errors import EngineError
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import Name, identifier

_HOLE = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*")|(%\(\w+\)s)|%""")


def temporary_name(name: Name) -> exp.Table:
    return exp.Table(this=identifier(name.last), db=identifier("pg_temp"))


def copy_into(name: Name, columns: Sequence[str]) -> exp.Copy:
    target = exp.Schema(this=name.table(), expressions=[identifier(column) for column in columns])
    return exp.Copy(this=target, kind=True, credentials=exp.Credentials(), files=[exp.Var(this="STDIN")])


def secure_view(name: Name, query: exp.Query, *, replace: bool) -> exp.Create:
    barrier = exp.Property(this=exp.Literal.string("security_barrier"), value=exp.true())
    properties = exp.Properties(expressions=[barrier])
    return exp.Create(this=name.table(), kind="VIEW", expression=query, replace=replace, properties=properties)


def grant(
    action: type[exp.Grant] | type[exp.Revoke], privilege: str, on: exp.Table, roles: Sequence[str], kind: str = "TABLE"
) -> exp.Expr:
    return action(
        privileges=[exp.GrantPrivilege(this=exp.Var(this=privilege))],
        kind=kind,
        securable=on,
        principals=[exp.GrantPrincipal(this=identifier(role)) for role in roles],
    )


def hash_of_utf8(text: exp.Expr, part: int) -> exp.Expr:
    """Part 0 or 1 of the md5 of a text; the bytes are UTF-8 whatever the database's encoding is."""
    utf8 = exp.Anonymous(this="CONVERT_TO", expressions=[exp.cast(text, "TEXT"), exp.Literal.string("UTF8")])
    digits = exp.Substring(
        this=exp.MD5(this=utf8), start=exp.Literal.number(1 + 15 * part), length=exp.Literal.number(15)
    )
    bits = exp.cast(exp.DPipe(this=exp.Literal.string("x"), expression=digits), "BIT(60)")
    return exp.cast(bits, "BIGINT")


def write_backslashes(tree: exp.Expr) -> None:
    """Texts with a backslash as E'..': so they mean the same whatever the settings are."""
    for literal in list(tree.find_all(exp.Literal)):
        if literal.is_string and "\\" in literal.this:
            literal.replace(exp.ByteString(this=literal.this))


def driver_text(sql: str, params: Mapping[str, Any]) -> bytes:
    """The statement for psycopg, which reads every % of a statement with parameters as a placeholder.

    >>> driver_text("SELECT 'a%(k)s', x % %(k)s", {"k": 1})
    b"SELECT 'a%%(k)s', x %% %(k)s"
    """
    if "\0" in sql:
        raise EngineError("a statement contains a NUL character, where PostgreSQL would cut it off")
    return (_HOLE.sub(_double_percent, sql) if params else sql).encode()


def _double_percent(found: re.Match[str]) -> str:
    quoted, hole = found.groups()
    return hole or (quoted.replace("%", "%%") if quoted else "%%")


@cache
def catalog_text(name: str) -> str:
    return statement(name).sql("postgres", comments=False)
