"""What a live view needs of a plan: per column the rules by which a value of the source becomes what is shown.

The rules stand in tables of schema ppdm, so that the text of the view holds no value of the source.  A value that no
rule takes has nothing to be shown as: its row is hidden.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.statements.names import column

LOW, HIGH, MATCH = "ppdm_low", "ppdm_high", "ppdm_match"  # of a rule: what it takes
GROUP, SHOWN = "ppdm_group", "ppdm_shown"  # the class it puts a row in, along its column, and what is published


@dataclass(frozen=True)
class ColumnRules:
    """The rules of one column: a query over the working tables of the plan that gives them.

    ranged: a rule takes the values from LOW to HIGH, both included; otherwise those whose rule_key is MATCH.
    """

    query: exp.Select
    ranged: bool


@dataclass(frozen=True)
class Live:
    """A recoding that can be done at query time.  Columns that are in neither are shown as they are."""

    rules: Mapping[str, ColumnRules]
    constants: Mapping[str, exp.Expr]  # what stands in every row


def rule_key(engine: Engine, value: exp.Expr) -> exp.Expr:
    """A category as one text that can be joined by equality on every engine; NULL has one that no value has.

    >>> from ppdm_sql.engines.duckdb import DuckDBEngine
    >>> with DuckDBEngine.open(":memory:") as engine:
    ...     engine.fetch(exp.Select(expressions=[rule_key(engine, one) for one in (exp.convert("n"), exp.Null())]))
    [('vn', 'n')]
    """
    known = exp.DPipe(this=exp.Literal.string("v"), expression=engine.exact_text(value.copy()))
    text = exp.Case().when(exp.Is(this=value.copy(), expression=exp.Null()), exp.Literal.string("n")).else_(known)
    return engine.exact_text(text)


def takes(engine: Engine, rules: ColumnRules, value: exp.Expr, alias: str) -> exp.Expr:
    """Whether the rule joined under this alias takes a value."""
    if not rules.ranged:
        return exp.EQ(this=column(MATCH, alias), expression=rule_key(engine, value))
    low = exp.LTE(this=column(LOW, alias), expression=value.copy())
    return exp.and_(low, exp.LTE(this=value.copy(), expression=column(HIGH, alias)))


def own_type(engine: Engine, info: ColumnInfo, text: exp.Expr) -> exp.Expr:
    """A text as a value of a column's own type; text is left as it is, because a type can list values."""
    if info.kind is Kind.TEXT:
        return text
    return exp.Cast(this=text, to=exp.DataType.build(info.declared, dialect=engine.dialect))
