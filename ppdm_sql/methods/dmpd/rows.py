"""The rows of a source with their folded values: one query, with a small map for each column that was folded."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from sqlglot import exp

from ppdm_sql.cells.cells import KEY, Cells
from ppdm_sql.cells.parts import ENTITY
from ppdm_sql.engines.base import Engine, Kind
from ppdm_sql.methods.base import Job
from ppdm_sql.methods.dmpd.folding import Folded
from ppdm_sql.source.encode import canonical
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import Name, aliased, column

VALUE, LABEL = "ppdm_value", "ppdm_label"


def folded_rows(job: Job, cells: Cells, folded: Mapping[str, Folded], filtered: Collection[str]) -> exp.Select:
    """The published columns, with private ones; a column that is in no part is NULL."""
    engine, source = job.engine, job.source
    query = exp.Select().from_(source.relation.table("r"))
    changed = {name: one for name, one in folded.items() if one.labels is not None and name not in filtered}
    for name in source.published:
        if name in filtered:
            value: exp.Expr = exp.cast(exp.Null(), "TEXT")
        elif name in changed:
            query, value = _join_map(engine, source, cells, changed[name], query)
        else:
            value = _plain(engine, source, name)
        query = query.select(aliased(value, name))
    if source.entity is not None:
        query = query.select(aliased(canonical(engine, source.info(source.entity), "r"), ENTITY))
    for name, value in job.private.columns.items():
        query = query.select(aliased(value, name))
    return query


def _plain(engine: Engine, source: Source, name: str) -> exp.Expr:
    """As plain text where its type would list values that do not leave."""
    plain = column(name, "r")
    return engine.exact_text(plain) if source.info(name).kind is Kind.TEXT else plain


def _join_map(
    engine: Engine, source: Source, cells: Cells, one: Folded, query: exp.Select
) -> tuple[exp.Select, exp.Expr]:
    """The query with the map of a folded column, and the column's label there; NULL meets no value and has its own."""
    assert one.labels is not None
    alias = f"m{len(query.args.get('joins') or [])}"
    value = canonical(engine, source.info(one.name), "r")
    same = exp.EQ(this=column(VALUE, alias), expression=value)
    joined = query.join(_map(engine, cells, one).table(alias), on=same, join_type="LEFT")
    null_code = cells[one.name].null_code
    label: exp.Expr = column(LABEL, alias)
    if null_code is not None:
        text = one.labels[int(one.of_code[null_code])]
        missing = exp.Is(this=column(one.name, "r"), expression=exp.Null())
        label = exp.Case().when(missing, exp.cast(exp.convert(text), "TEXT")).else_(label)
    return joined, label


def _map(engine: Engine, cells: Cells, one: Folded) -> Name:
    """Every value of a column, in its own type, with what is published in its place."""
    import pyarrow as pa

    assert one.labels is not None
    codes = cells[one.name].codes
    first = np.unique(codes, return_index=True)[1]  # a cell for each value
    labels = [one.labels[int(number)] for number in one.of_code[codes[first]]]
    keys = pa.array(cells.keys[first], pa.int64())
    loaded = engine.work.lend("folds", {KEY: keys, LABEL: pa.array(labels, pa.string())})
    value = cells.value_column(one.name)
    query = exp.Select(expressions=[aliased(column(value, "c"), VALUE), column(LABEL, "n")])
    query = query.from_(loaded.table("n")).join(
        cells.keyed.subquery("c"), on=exp.EQ(this=column(KEY, "c"), expression=column(KEY, "n"))
    )
    return engine.work.table("fold", query, analyze=True)
