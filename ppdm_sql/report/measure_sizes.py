"""How large the classes are, in the release and in its source as it is today.

Of a model, and where k counts persons, the rows that left do not tell it: there the link table does, which the catalog
keeps of every release for the joint check.  A class of it is a number, a person a salted hash.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from sqlglot import exp

from ppdm_sql.catalog.ledger import link_name
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.checks.measure import Measures, Sensitive, measure
from ppdm_sql.checks.outcome import Outcome
from ppdm_sql.checks.size import Sizes, sizes_by_columns
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PpdmError
from ppdm_sql.methods.plan import PART, PERSON
from ppdm_sql.planning import joint
from ppdm_sql.planning.planner import Planner
from ppdm_sql.policy import grammar
from ppdm_sql.policy.policy import Publish
from ppdm_sql.release.kinds.registry import kind_of
from ppdm_sql.requirements import Requirement
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import aliased, column

Counted = Literal["rows", "persons"]
_ROWS, _PERSONS = "ppdm_rows_of_class", "ppdm_persons"


@dataclass(frozen=True)
class ClassSizes:
    """The sizes of the classes, in rows or in persons."""

    sizes: Sizes
    counted: Counted


@dataclass(frozen=True)
class Before:
    """The source as it is today."""

    measures: Measures
    statement: Publish
    source: Source

    def of(self, requirement: str, name: str | None) -> Outcome | None:
        """How the source stands against one of the requirements."""
        asked = ((item.asked, item.column) for item in self.measures.outcomes)
        return dict(zip(asked, self.measures.outcomes, strict=True)).get((requirement, name))


# -- the release -------------------------------------------------------------------------------------------


def classes_of(engine: Engine, record: ReleaseRecord, *, unchanged: bool) -> ClassSizes | None:
    """The classes of a release; None where they can no longer be found out."""
    by_person = record.roles.counts_entities
    kind = kind_of(record)
    stays = unchanged and kind.rows_stay  # a live view moves on from what was linked
    if stays and (by_person or not kind.has_rows):
        linked = _linked_classes(engine, record, by_person=by_person)
        if linked is not None:
            return linked
    if not kind.has_rows:
        return None
    infos = {info.name: info for info in engine.columns(record.name)}
    quasi = record.roles.published_quasi
    if not infos or not set(quasi) <= set(infos):
        return None
    sizes, _ = sizes_by_columns(engine, record.name, [infos[name] for name in quasi])
    return ClassSizes(sizes, "rows")


def _linked_classes(engine: Engine, record: ReleaseRecord, *, by_person: bool) -> ClassSizes | None:
    link = link_name(record.release_id)
    if engine.relation_kind(link) is None:
        return None
    found = engine.arrays(_sizes_query(engine, record, by_person=by_person))
    rows, persons, classes = (found[name].astype(np.int64) for name in (_ROWS, _PERSONS, "ppdm_classes"))
    sizes = Sizes(rows, persons if by_person else rows, classes)
    # Parts that read alike are one class to a reader; then the parts are not what was judged.
    alike = (sizes.total_rows, sizes.total_classes) == (record.rows, record.classes)
    return ClassSizes(sizes, "persons" if by_person else "rows") if alike else None


def _sizes_query(engine: Engine, record: ReleaseRecord, *, by_person: bool) -> exp.Select:
    """How many parts have so many rows and so many persons."""
    rows = exp.Sum(this=column(joint.ROWS))
    people: exp.Expr = exp.Literal.number(0)
    if by_person:  # rows of nobody count for nobody
        person = exp.Nullif(this=column(PERSON), expression=joint.nobody(engine))
        people = exp.Count(this=exp.Distinct(expressions=[person]))
    parts = exp.Select(expressions=[aliased(rows, _ROWS), aliased(people, _PERSONS)])
    parts = parts.from_(link_name(record.release_id).table()).group_by(column(PART))
    counted = aliased(exp.Count(this=exp.Star()), "ppdm_classes")
    whole = exp.Select(expressions=[column(_ROWS), column(_PERSONS), counted])
    return whole.from_(parts.subquery("ppdm_parts")).group_by(column(_ROWS), column(_PERSONS))


# -- the source --------------------------------------------------------------------------------------------


def source_today(engine: Engine, record: ReleaseRecord, counted: Counted) -> Before | None:
    """The source of a release measured as it stands; None when it cannot be read as the statement reads it."""
    try:
        statement = publishing_statement(engine, record)
        source = Planner(engine).source(statement)
        entity = source.info(source.entity) if counted == "persons" and source.entity else None
        found = measure(
            engine,
            source.relation,
            quasi=[source.info(name) for name in source.quasi],
            sensitive=[
                Sensitive(source.info(name), nulls_as_value=name in record.roles.null_value_columns)
                for name in source.sensitive
            ],
            requirements=_comparable(statement, source.hierarchies or {}),
            entity=entity,
            weight=source.info(source.weight) if source.weight else None,
        )
    except PpdmError:  # dropped, renamed, without a column, or no longer ours to read
        return None
    return Before(found, statement, source)


def publishing_statement(engine: Engine, record: ReleaseRecord) -> Publish:
    """The statement a release was made by, with the folder its files are looked for in."""
    first = grammar.parse(record.policy_text, dialect=engine.dialect)[0]
    assert isinstance(first, Publish)
    return replace(first, place=replace(first.place, file=record.roles.file))


def _comparable(statement: Publish, hierarchies: Mapping[str, object]) -> list[Requirement]:
    """What can be asked of the source without its hierarchies: a distance along one would be another distance."""
    asked = statement.policy.requirements
    if not hierarchies:
        return list(asked)
    return [item for item in asked if not item.compares_with_table]
