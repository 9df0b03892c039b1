"""A plan with the forms its statement asks for: the method gives labels, the stage makes ranges or numbers of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from ppdm_sql.engines.base import Engine, Kind
from ppdm_sql.engines.workspace import STAGE_LABELS
from ppdm_sql.forms.form_tables import FormedColumn, label_of_native_range, label_of_range
from ppdm_sql.methods.plan import TablePlan
from ppdm_sql.policy.forms import Form, form_columns
from ppdm_sql.policy.policy import CalendarLadder, HierarchyFile, HierarchyTable
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import Name, aliased, column


def with_forms(plan: TablePlan, source: Source, hierarchies: Mapping[str, Hierarchy]) -> TablePlan:
    """The same plan; its published columns are those of the forms."""
    forms = {
        name: FormedColumn(source.info(name), form, _words(source, hierarchies, name), _has_calendar(source, name))
        for name, form in source.forms.items()
        if name not in plan.stand_ins
    }
    notes = {column: note for one in forms.values() for column, note in one.notes.items()}
    return replace(plan, published=source.release_columns, forms=forms, notes={**plan.notes, **notes})


def with_treatments(plan: TablePlan, source: Source) -> TablePlan:
    """The same plan, and what is done to columns that are no quasi-identifiers."""
    notes = {name: treatment.effect() for name, treatment in source.treated.items()}
    steps = [f'publish "{name}" with {one.word}: {notes[name]}' for name, one in source.treated.items()]
    return replace(plan, steps=(*plan.steps, *steps), notes={**plan.notes, **notes})


def _words(source: Source, hierarchies: Mapping[str, Hierarchy], name: str) -> Hierarchy | None:
    """The hierarchy whose words are no intervals by themselves."""
    listed = isinstance((source.hierarchies or {}).get(name), HierarchyFile | HierarchyTable)
    return hierarchies[name] if listed else None


def _has_calendar(source: Source, name: str) -> bool:
    """Whether labels can be periods: without a hierarchy, full-domain recoding gives dates those of the calendar."""
    given = (source.hierarchies or {}).get(name)
    return isinstance(given, CalendarLadder) or (
        given is None and source.info(name).kind in (Kind.DATE, Kind.TIMESTAMP)
    )


def labels_of_stage(engine: Engine, plan: TablePlan, source: Source, released: Name) -> Name:
    """The labels of what is being released, which was staged: numbers do not show the ranges they stand for."""
    return STAGE_LABELS if plan.hides_labels else with_labels(engine, source, released)


def with_labels(engine: Engine, source: Source, released: Name) -> Name:
    """A release whose ranges stand as labels again, which say the same, for code that measures labels."""
    there = {info.name for info in engine.columns(released)}
    ranges = {
        name: form
        for name, form in source.forms.items()
        if form is not Form.MIDPOINT and form_columns(name, form)[0] in there
    }
    if not ranges:
        return released
    gone = {one for name, form in ranges.items() for one in form_columns(name, form)}
    query = exp.Select(expressions=[aliased(column(name, "s"), name) for name in sorted(there - gone)])
    for name, form in ranges.items():
        label = label_of_range if form is Form.RANGE else label_of_native_range
        query = query.select(aliased(label(engine, name, "s"), name))
    return engine.work.table("relabelled", query.from_(released.table("s")))
