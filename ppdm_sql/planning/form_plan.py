"""A plan with the forms its statement asks for: the method gives labels, the stage makes ranges or numbers of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ppdm_sql.forms.form_tables import FormedColumn
from ppdm_sql.methods.plan import TablePlan
from ppdm_sql.policy.policy import HierarchyFile, HierarchyTable
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.relation import Source


def with_forms(plan: TablePlan, source: Source, hierarchies: Mapping[str, Hierarchy]) -> TablePlan:
    """The same plan; its published columns are those of the forms."""
    forms = {
        name: FormedColumn(source.info(name), form, _words(source, hierarchies, name))
        for name, form in source.forms.items()
        if name not in plan.stand_ins
    }
    notes = {column: note for one in forms.values() for column, note in one.notes.items()}
    return replace(plan, published=source.release_columns, forms=forms, notes={**plan.notes, **notes})


def _words(source: Source, hierarchies: Mapping[str, Hierarchy], name: str) -> Hierarchy | None:
    """The hierarchy whose words are no intervals by themselves."""
    listed = isinstance((source.hierarchies or {}).get(name), HierarchyFile | HierarchyTable)
    return hierarchies[name] if listed else None
