"""Expressions that PostgreSQL writes in its own way."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.engines.base import Engine, Kind
from ppdm_sql.engines.postgres import statements
from ppdm_sql.statements.names import identifier

_DAY = exp.cast(exp.Literal.string("2000-01-01"), "DATE")
_STANDS_FOR_NULL: dict[Kind, exp.Expr] = {  # a value of each type
    **dict.fromkeys((Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT), exp.Literal.number(0)),
    **dict.fromkeys((Kind.TEXT, Kind.UUID), exp.Literal.string("")),  # both are compared as texts
    Kind.BOOLEAN: exp.false(),
    **dict.fromkeys((Kind.DATE, Kind.TIMESTAMP), _DAY),
}


class PostgresExpressions(Engine):
    """How values are compared and hashed."""

    def exact_text(self, text: exp.Expr) -> exp.Expr:
        # A citext or a non-deterministic collation would merge strings that are published apart.
        return exp.Collate(this=exp.cast(text, "TEXT"), expression=identifier("C"))

    def same_value(self, left: exp.Expr, right: exp.Expr, kind: Kind) -> exp.Expr:
        # IS NOT DISTINCT FROM makes a join a nested loop.  What stands for NULL can be a value, too: the flags decide.
        flags = [exp.Paren(this=exp.Is(this=one.copy(), expression=exp.Null())) for one in (left, right)]
        values = [exp.Coalesce(this=one, expressions=[_STANDS_FOR_NULL[kind].copy()]) for one in (left, right)]
        return exp.and_(exp.EQ(this=values[0], expression=values[1]), exp.EQ(this=flags[0], expression=flags[1]))

    def hash_number(self, text: exp.Expr, part: int) -> exp.Expr:
        return statements.hash_of_utf8(text, part)

    def order_hash(self, values: Sequence[exp.Expr], seed: int) -> exp.Expr:
        """Value by value: the text of a whole row takes longer to make than to hash."""
        found: exp.Expr = exp.Anonymous(
            this="HASHTEXTEXTENDED", expressions=[exp.Literal.string(str(seed)), exp.Literal.number(0)]
        )
        for value in values:
            known = exp.Coalesce(this=exp.cast(value.copy(), "TEXT"), expressions=[exp.Literal.string("\x01")])
            found = exp.Anonymous(this="HASHTEXTEXTENDED", expressions=[known, found])
        return found

    def quick_hash(self, values: Sequence[exp.Expr], seed: int) -> exp.Expr:
        row = exp.cast(exp.Anonymous(this="ROW", expressions=[exp.Literal.string(str(seed)), *values]), "TEXT")
        return exp.Anonymous(this="HASHTEXTEXTENDED", expressions=[row, exp.Literal.number(0)])
