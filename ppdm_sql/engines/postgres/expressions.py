"""Expressions that PostgreSQL writes in its own way."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.engines.postgres import statements
from ppdm_sql.statements.names import identifier


class PostgresExpressions(Engine):
    """How values are compared and hashed."""

    def exact_text(self, text: exp.Expr) -> exp.Expr:
        # A citext or a non-deterministic collation would merge strings that are published apart.
        return exp.Collate(this=exp.cast(text, "TEXT"), expression=identifier("C"))

    def same_value(self, left: exp.Expr, right: exp.Expr) -> exp.Expr:
        # IS NOT DISTINCT FROM makes a join a nested loop.  Arrays take NULL for NULL, and can be hashed.
        return exp.EQ(this=exp.Array(expressions=[left]), expression=exp.Array(expressions=[right]))

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
