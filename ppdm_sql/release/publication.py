"""One publication from its statement to its record: that it was tried stays in the catalog, however it ended."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ppdm_sql.catalog import migrate
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.catalog.runs import recorded_run
from ppdm_sql.engines.base import Engine
from ppdm_sql.planning.planner import Planner
from ppdm_sql.policy import grammar
from ppdm_sql.policy.policy import PseudoData, Publish
from ppdm_sql.release.kinds.base import Publication
from ppdm_sql.release.kinds.registry import kind_of, kind_of_statement
from ppdm_sql.release.swap import sweep_leftovers

if TYPE_CHECKING:
    from ppdm_sql.release.results import Planned


def refreshing_statement(engine: Engine, record: ReleaseRecord) -> Publication:
    """The statement that published a release, as REFRESH runs it."""
    first = grammar.parse(record.policy_text, dialect=engine.dialect)[0]
    assert isinstance(first, Publish | PseudoData)  # nothing else was recorded
    place = replace(first.place, file=record.roles.file)
    if isinstance(first, PseudoData):
        return replace(first, replace=True, place=place)
    statement = replace(first, replace=True, refresh=True, place=place)
    return statement if record.is_damaged else kind_of(record).refresh_statement(statement, record)


def plan_refresh(planner: Planner, record: ReleaseRecord) -> Planned | None:
    """What REFRESH would publish tonight; None where it publishes the whole release again."""
    if record.is_damaged:
        return None
    return kind_of(record).plan_refresh(planner, refreshing_statement(planner.engine, record), record)


def run_publication(planner: Planner, statement: Publication) -> ReleaseRecord:
    """Publishes what a statement asks for, or raises and leaves nothing but the record of the run."""
    engine = planner.engine
    engine.check_writable()
    migrate.ensure(engine)
    sweep_leftovers(engine)
    with recorded_run(engine, statement.text, statement.place.file) as run_id:
        try:
            return kind_of_statement(statement).publish(planner, statement, run_id)
        finally:
            planner.progress("done", 1, 1)
