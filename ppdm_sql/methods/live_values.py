"""A recoding value by value at query time: the rules of a plan that was made from cells.

A column of numbers or moments whose labels follow one another gets ranges, from the least to the greatest value that a
label has: a new value inside of one is shown.  Every other column gets a rule for each value that was there.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from sqlglot import exp

from ppdm_sql.cells.cells import KEY, CellColumn, Cells
from ppdm_sql.engines.base import ColumnInfo, Engine
from ppdm_sql.methods.live_rules import GROUP, HIGH, LOW, MATCH, SHOWN, ColumnRules, Live, own_type, rule_key
from ppdm_sql.methods.plan import ValueLabels
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import aliased, column


def live_values(engine: Engine, source: Source, cells: Cells, recoding: Mapping[str, ValueLabels]) -> Live:
    """The rules of every quasi-identifier; where one label stands for everything it needs no rule."""
    rules, constants = {}, {}
    for name in source.quasi:
        found = recoding[name]
        if found.of_any_value:
            constants[name] = _constant(engine, source.info(name), found)
        else:
            rules[name] = _rules(engine, cells, name, found)
    return Live(rules, constants)


def _constant(engine: Engine, info: ColumnInfo, found: ValueLabels) -> exp.Expr:
    text = found.labels[0]
    value = exp.Null() if text is None else exp.cast(exp.Literal.string(text), "TEXT")
    return own_type(engine, info, value) if found.typed else value


def _rules(engine: Engine, cells: Cells, name: str, found: ValueLabels) -> ColumnRules:
    import pyarrow as pa

    here = cells[name]
    numbers = {label: number for number, label in enumerate(dict.fromkeys(found.labels))}
    # A value has no table of its own here, but there is a cell that has it.
    codes, first = np.unique(here.codes, return_index=True)
    labels = [found.labels[code] for code in codes.tolist()]
    columns = {
        KEY: pa.array(cells.keys[first], pa.int64()),
        GROUP: pa.array([numbers[label] for label in labels], pa.int32()),
        SHOWN: pa.array(labels, pa.string()),
    }
    table = engine.work.load("rules", columns, analyze=True)
    value = column(cells.value_column(name), "c")
    ranged = _follow_one_another(here, found)
    taken = (
        [aliased(exp.Min(this=value), LOW), aliased(exp.Max(this=value.copy()), HIGH)]
        if ranged
        else [aliased(rule_key(engine, value), MATCH)]
    )
    text: exp.Expr = exp.Min(this=column(SHOWN, "g")) if ranged else column(SHOWN, "g")
    shown = aliased(own_type(engine, here.column, text) if found.typed else text, SHOWN)
    query = exp.Select(expressions=[*taken, aliased(column(GROUP, "g"), GROUP), shown]).from_(table.table("g"))
    query = query.join(cells.keyed.subquery("c"), on=exp.EQ(this=column(KEY, "c"), expression=column(KEY, "g")))
    return ColumnRules(query.group_by(column(GROUP, "g")) if ranged else query, ranged)


def _follow_one_another(here: CellColumn, found: ValueLabels) -> bool:
    """Whether every label has a range of values to itself."""
    if not here.column.kind.is_ordered or here.null_code is not None or not len(here.values):
        return False
    if here.values[-1] != here.values[-1]:  # NaN
        return False
    runs = 1 + sum(one != other for one, other in zip(found.labels, found.labels[1:], strict=False))
    return runs == len(set(found.labels))
