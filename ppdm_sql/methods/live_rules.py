"""What a live view needs of a plan: per column the rules by which a value of the source becomes what is shown.

The rules stand in tables of schema ppdm, so that the text of the view holds no value of the source.  A value that no
rule takes has nothing to be shown as: its row is hidden.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from ppdm_sql.cells.cells import Cells
from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.source.encode import CODE, VALUE
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import Name, aliased, column

LOW, HIGH, MATCH = "ppdm_low", "ppdm_high", "ppdm_match"  # of a rule: what it takes
GROUP, SHOWN = "ppdm_group", "ppdm_shown"  # the class it puts a row in, along its column, and what is published


@dataclass(frozen=True)
class RecodedGroups:
    """What becomes of a column of cells: the group of every code, and the text of every group (None is NULL)."""

    groups: Sequence[int]
    texts: Sequence[str | None]
    typed: bool = False  # texts are values of the column's own type


@dataclass(frozen=True)
class Recoding:
    """A recoding column by column.  constants: what stands in every row, and whether it is of the column's type."""

    columns: Mapping[str, RecodedGroups]
    constants: Mapping[str, tuple[str | None, bool]] = field(default_factory=dict)


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


# -- from a recoding to its rules ------------------------------------------------------------------------


def live_rules(engine: Engine, source: Source, cells: Cells, recoding: Recoding) -> Live:
    """A number in a recoded interval, from its least to its greatest value, is shown as the interval is.

    A number outside every interval, a NULL among numbers and a category that was not there have no rule.
    """
    rules = {name: _rules(engine, source.info(name), cells, one) for name, one in recoding.columns.items()}
    constants = {name: _constant(engine, source.info(name), *one) for name, one in recoding.constants.items()}
    return Live(rules, constants)


def own_type(engine: Engine, info: ColumnInfo, text: exp.Expr) -> exp.Expr:
    """A text as a value of a column's own type; text is left as it is, because a type can list values."""
    if info.kind is Kind.TEXT:
        return text
    return exp.Cast(this=text, to=exp.DataType.build(info.declared, dialect=engine.dialect))


def _constant(engine: Engine, info: ColumnInfo, text: str | None, typed: bool) -> exp.Expr:
    value = exp.Null() if text is None else exp.cast(exp.Literal.string(text), "TEXT")
    return own_type(engine, info, value) if typed else value


def _rules(engine: Engine, info: ColumnInfo, cells: Cells, recoded: RecodedGroups) -> ColumnRules:
    import pyarrow as pa

    groups = {
        CODE: pa.array(range(len(recoded.groups)), pa.int32()),
        GROUP: pa.array(recoded.groups, pa.int32()),
        SHOWN: pa.array([recoded.texts[group] for group in recoded.groups], pa.string()),
    }
    loaded = engine.work.load("recoded", groups, analyze=True)
    ranged = info.kind.is_ordered
    text: exp.Expr = exp.Min(this=column(SHOWN, "g")) if ranged else column(SHOWN, "g")
    shown = aliased(own_type(engine, info, text) if recoded.typed else text, SHOWN)
    query = exp.Select(expressions=[*_taken(engine, ranged), aliased(column(GROUP, "g"), GROUP), shown])
    same = exp.EQ(this=column(CODE, "l"), expression=column(CODE, "g"))
    # from the groups on: of NULL there is a group, and no value
    query = query.from_(loaded.table("g")).join(_values(engine, cells, info.name).table("l"), on=same, join_type="left")
    return ColumnRules(query.group_by(column(GROUP, "g")) if ranged else query, ranged)


def _values(engine: Engine, cells: Cells, name: str) -> Name:
    """The values of a column with their codes: their places in order, as the cells have them."""
    value = aliased(column(cells.value_column(name), "c"), VALUE)
    known = exp.Not(this=exp.Is(this=value.this.copy(), expression=exp.Null()))
    there = exp.Select(expressions=[value]).from_(cells.table.table("c")).where(known).distinct()
    place = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=[exp.Ordered(this=column(VALUE, "d"))]))
    code = exp.cast(exp.Sub(this=place, expression=exp.Literal.number(1)), "INT")
    query = exp.Select(expressions=[column(VALUE, "d"), aliased(code, CODE)]).from_(there.subquery("d"))
    return engine.work.table("recoded_values", query, analyze=True)


def _taken(engine: Engine, ranged: bool) -> list[exp.Expr]:
    value = column(VALUE, "l")
    if not ranged:
        return [aliased(rule_key(engine, value), MATCH)]
    return [aliased(exp.Min(this=value), LOW), aliased(exp.Max(this=value.copy()), HIGH)]
