"""Rows outside of a release, with the labels that its own rules have for them.

The rules are those of the method (methods/recoding.py), a tree of tests.  A row goes down as far as the tests let it,
and then back to the next node whose labels the release prints: rows of the release went the same way.  So a learner
finds in the test what it has seen.  Counts and labels come to Python, the rows stay in the database.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from sqlglot import exp

from ppdm_sql.cells.aggregate import aggregate
from ppdm_sql.cells.apply import load_labels, narrow_rows
from ppdm_sql.cells.parts import Parts
from ppdm_sql.engines.base import Engine
from ppdm_sql.methods.plan import LabelTable, TablePlan
from ppdm_sql.methods.recoding import Recoding
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.lines import Ints
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import Name, column


def recode_rows(
    engine: Engine,
    source: Source,
    released: Name,
    into: Name,
    *,
    recoding: Recoding,
    hierarchies: Mapping[str, Hierarchy],
) -> None:
    """Stores the published columns of a source in a working table, quasi-identifiers as the release prints them."""
    cells = aggregate(engine, source, recoding.names)
    nodes = printed_nodes(engine, released, recoding)[recoding.place(cells, hierarchies)]
    labels = load_labels(engine, recoding.labels(np.arange(recoding.size)), recoding.size)
    plan = TablePlan(
        query=narrow_rows(engine, source, cells, Parts(nodes, recoding.size), {}, seed=0),
        published=source.published,
        classes=recoding.size,
        rows=cells.total,
        labels=LabelTable(*labels),
    )
    engine.create_table(into, plan.wide(), temporary=True)
    engine.analyze(into)


def printed_nodes(engine: Engine, released: Name, recoding: Recoding) -> Ints:
    """Per node the next one, itself or a coarser one, whose labels stand in the release; the coarsest where none is."""
    names = recoding.names
    query = exp.Select(expressions=[column(name) for name in names]).from_(released.table()).distinct()
    printed = {tuple(row) for row in engine.fetch(query)}
    labels = recoding.labels(np.arange(recoding.size))
    found = np.arange(recoding.size)
    for node, texts in enumerate(zip(*(labels[name] for name in names), strict=True)):
        coarser = int(recoding.coarser[node])
        if texts not in printed and coarser >= 0:
            found[node] = found[coarser]  # it comes before the node
    return found
