"""TPP at query time: the recoding of a plan as rules that also take rows which came after it.

A number in a recoded interval, from its least to its greatest value, is shown as the interval is.  A number outside
every interval, a NULL among numbers and a category that was not there have no rule.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.methods.live_rules import GROUP, HIGH, LOW, MATCH, SHOWN, ColumnRules, Live, rule_key
from ppdm_sql.methods.tpp.columns import RecodedColumn
from ppdm_sql.methods.tpp.inputs import TppInputs
from ppdm_sql.methods.tpp.recoding_check import GROUP as RECODED
from ppdm_sql.methods.tpp.recoding_check import TEXT
from ppdm_sql.source.encode import CODE, VALUE
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import aliased, column


def live_recoding(
    engine: Engine,
    source: Source,
    table: TppInputs,
    shown: Mapping[str, RecodedColumn],
    constants: Mapping[str, tuple[str | None, bool]],
) -> Live:
    """The rules of every quasi-identifier; shown: those that are recoded, whose groups are loaded with their texts."""
    rules = {name: _recoded(engine, source.info(name), table, one) for name, one in shown.items()}
    rules |= {name: _as_it_is(engine, source.info(name), table) for name in table.fixed}
    return Live(rules, {name: published(engine, source.info(name), *one) for name, one in constants.items()})


def published(engine: Engine, info: ColumnInfo, text: str | None, keeps_type: bool) -> exp.Expr:
    """What stands in every row of a column that no tree uses."""
    value = exp.Null() if text is None else exp.cast(exp.Literal.string(text), "TEXT")
    return typed(engine, info, value) if keeps_type else value


def typed(engine: Engine, info: ColumnInfo, value: exp.Expr) -> exp.Expr:
    return exp.Cast(this=value, to=exp.DataType.build(info.declared, dialect=engine.dialect))


def _recoded(engine: Engine, info: ColumnInfo, table: TppInputs, shown: RecodedColumn) -> ColumnRules:
    text: exp.Expr = column(TEXT, "g")
    ranged = info.kind.is_ordered
    value = exp.Min(this=text) if ranged else text
    keeps = shown.keeps_type and info.kind is not Kind.TEXT
    told = aliased(typed(engine, info, value) if keeps else value, SHOWN)
    group = aliased(column(RECODED, "g"), GROUP)
    same = exp.EQ(this=column(CODE, "l"), expression=column(CODE, "g"))
    query = exp.Select(expressions=[*_taken(engine, ranged), group, told])
    # from the groups on: of NULL there is a group, and no value
    query = query.from_(table.checker.table(info.name).table("g"))
    query = query.join(table.columns[info.name].axis.lookup.table.table("l"), on=same, join_type="left")
    return ColumnRules(query.group_by(column(RECODED, "g")) if ranged else query, ranged)


def _as_it_is(engine: Engine, info: ColumnInfo, table: TppInputs) -> ColumnRules:
    """A response that is a quasi-identifier too: each value that was there, and no other."""
    ranged = info.kind.is_ordered
    value = column(VALUE, "l")
    picked = [*_taken(engine, ranged), aliased(column(CODE, "l"), GROUP)]
    shown = aliased(exp.Min(this=value) if ranged else value, SHOWN)
    query = exp.Select(expressions=[*picked, shown]).from_(table.columns[info.name].axis.lookup.table.table("l"))
    return ColumnRules(query.group_by(column(CODE, "l")) if ranged else query, ranged)


def _taken(engine: Engine, ranged: bool) -> list[exp.Expr]:
    value = column(VALUE, "l")
    if not ranged:
        return [aliased(rule_key(engine, value), MATCH)]
    return [aliased(exp.Min(this=value), LOW), aliased(exp.Max(this=value.copy()), HIGH)]
