"""Statements that PostgreSQL alone needs, as syntax trees."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.statements.names import Name, identifier


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
