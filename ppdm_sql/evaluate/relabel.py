"""Rows to test with, with the labels of a release: 34 becomes [30, 45) where the release prints that.

A value becomes the narrowest label that covers it (the one with the fewest of the rows' own values); of equally narrow
ones the commonest, then the first.  A value that no label covers, or that is printed as it stands, stays what it is.
So a learner finds in the test what it has seen.  Only distinct values and labels come to Python.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from sqlglot import exp

from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.planning.label_coverage import MOMENTS, Values, index_of, label_of
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.statements.names import Name, aliased, column, lacks

_OLD, _NEW = "ppdm_old", "ppdm_new"


def relabel_rows(
    engine: Engine,
    rows: Name,
    released: Name,
    into: Name,
    *,
    columns: Sequence[str],
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> None:
    """Stores these columns of some rows in a working table, with the labels and types of the release."""
    before = {info.name: info for info in engine.columns(rows)}
    after = {info.name: info for info in engine.columns(released)}
    for relation, there in ((rows, before), (released, after)):
        missing = [f'"{name}"' for name in columns if name not in there]
        if missing:
            raise PolicyError(f"{lacks(relation)} {', '.join(missing)}")
    query = exp.Select().from_(rows.table("r"))
    tables: list[Name] = []
    for place, name in enumerate(columns):
        if after[name].kind is not Kind.TEXT:
            query = query.select(aliased(column(name, "r"), name))
            continue
        hierarchy = (hierarchies or {}).get(name)
        told = _label_map(engine, rows, released, before[name], hierarchy)
        tables.append(_load(engine, told))
        value = engine.exact_text(exp.cast(column(name, "r"), "TEXT"))
        same = exp.EQ(this=column(_OLD, f"w{place}"), expression=value)
        query = query.join(tables[-1].table(f"w{place}"), on=same, join_type="left")
        kept = exp.Coalesce(this=column(_NEW, f"w{place}"), expressions=[exp.cast(column(name, "r"), "TEXT")])
        query = query.select(aliased(kept, name))
    engine.create_table(into, query, temporary=True)
    engine.analyze(into)
    for table in tables:
        engine.work.drop(table)


def _label_map(
    engine: Engine, rows: Name, released: Name, info: ColumnInfo, hierarchy: Hierarchy | None
) -> dict[str, str]:
    """From what a value is printed as by the engine to its label; those that are the same are left out."""
    plain = column(info.name)
    text = exp.cast(plain.copy(), "TEXT")
    value = text.copy() if info.kind in MOMENTS else plain.copy()
    known = exp.Not(this=exp.Is(this=plain.copy(), expression=exp.Null()))
    query = exp.Select(expressions=[text, value]).from_(rows.table()).where(known).distinct()
    found = engine.fetch(query)
    by_text = {text: label_of(one, info) for text, one in found}
    values = Values.of(info, (one for _, one in found), has_null=False, hierarchy=hierarchy)
    best = _narrowest(engine, released, info.name, values)
    return {text: best[own_text] for text, own_text in by_text.items() if best.get(own_text, text) != text}


def _narrowest(engine: Engine, released: Name, name: str, values: Values) -> dict[str, str]:
    label = engine.exact_text(column(name))
    known = exp.Not(this=exp.Is(this=column(name), expression=exp.Null()))
    query = exp.Select(expressions=[label, exp.Count(this=exp.Star())]).from_(released.table()).where(known)
    read = ((values.read_label(text), text, int(rows)) for text, rows in engine.fetch(query.group_by(label.copy())))
    known_ones = [
        (len(found.places), -rows, text, found.places) for found, text, rows in read if found and not found.suppressed
    ]
    best = np.full(len(values.texts), -1)
    ordered = sorted(known_ones, key=lambda one: one[:3], reverse=True)
    for number, (*_, places) in enumerate(ordered):  # the narrowest last: it stays
        best[index_of(places)] = number
    return {values.texts[place]: ordered[best[place]][2] for place in np.flatnonzero(best >= 0).tolist()}


def _load(engine: Engine, told: Mapping[str, str]) -> Name:
    import pyarrow as pa

    both = {_OLD: pa.array(told.keys(), pa.string()), _NEW: pa.array(told.values(), pa.string())}
    return engine.work.load("words", both)
