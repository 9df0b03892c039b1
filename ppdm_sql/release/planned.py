"""What a statement would publish: made and measured on working tables, every SQL statement of it told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from ppdm_sql.engines.base import Engine
from ppdm_sql.planning.joint import shown_name
from ppdm_sql.planning.measure_model import measure_model
from ppdm_sql.planning.measure_table import preview
from ppdm_sql.planning.planner import Planner
from ppdm_sql.planning.request import ModelRequest, Request
from ppdm_sql.policy.policy import Publish
from ppdm_sql.release.results import Planned
from ppdm_sql.release.supersede import refuse_superseding, withdrawn_by


def planned(planner: Planner, statement: Publish) -> Planned:
    """A table, view or model as it would be, and what was run to know it."""
    with _heard(planner.engine) as statements:
        found, request = _model(planner, statement) if statement.kind == "MODEL" else _table(planner, statement)
        withdraws = _withdrawn(planner.engine, statement, request)
    planner.progress("done", 1, 1)
    return replace(found, withdraws=withdraws, statements=tuple(statements))


def _table(planner: Planner, statement: Publish) -> tuple[Planned, Request]:
    request = planner.table(statement, run_id="")
    return Planned.of(request, preview(planner.engine, request, planner.progress)), request


def _model(planner: Planner, statement: Publish) -> tuple[Planned, ModelRequest]:
    request = planner.model(statement, run_id="")
    return Planned.of_model(request, measure_model(planner.engine, request, planner.progress)), request


def _withdrawn(engine: Engine, statement: Publish, request: Request | ModelRequest) -> tuple[str, ...]:
    """What SUPERSEDES would take away; refuses what it could not."""
    if not statement.policy.supersedes:
        return ()
    former = request.former if isinstance(request, ModelRequest) else request.target.former
    refuse_superseding(engine, statement, request.source, former)
    gone = withdrawn_by(engine, engine.name(statement.name), request.source.tables, former)
    return tuple(shown_name(one) for one in gone)


@contextmanager
def _heard(engine: Engine) -> Iterator[list[str]]:
    """The statements that run meanwhile; who listened before still does."""
    before, heard = engine.on_statement, list[str]()

    def both(sql: str) -> None:
        heard.append(sql)
        if before is not None:
            before(sql)

    engine.on_statement = both
    try:
        yield heard
    finally:
        engine.on_statement = before
