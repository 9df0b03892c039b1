"""What a statement would publish: made and measured on working tables, with every SQL statement that ran for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from sqlglot import exp

from ppdm_sql.engines.base import Engine, Row
from ppdm_sql.planning.joint import shown_name
from ppdm_sql.planning.measure_model import measure_model
from ppdm_sql.planning.measure_table import Measured, preview
from ppdm_sql.planning.planner import Planner
from ppdm_sql.planning.request import ModelRequest, Request
from ppdm_sql.policy.policy import Publish
from ppdm_sql.release.results import Planned
from ppdm_sql.release.supersede import refuse_superseding, withdrawn_by
from ppdm_sql.statements.names import column
from ppdm_sql.watching import Progress

Measure = Callable[[Engine, Request, Progress], Measured]


def preview_table(planner: Planner, statement: Publish, measure: Measure = preview) -> Planned:
    """A table or view as it would be, and what was run to know it."""
    with _statements_run(planner.engine) as statements:
        request = planner.table(statement, run_id="")
        measured = measure(planner.engine, request, planner.progress)
        found = Planned.of(request, measured)
        withdraws = _withdraws(planner.engine, statement, request, measured.content_hash)
        sample = _sample(planner, measured) if found.holds else ()
    planner.progress("done", 1, 1)
    return replace(found, withdraws=withdraws, sample=sample, statements=tuple(statements))


def _sample(planner: Planner, measured: Measured) -> tuple[Row, ...]:
    """Rows as they would be published; of what would be refused there are none."""
    picked = exp.Select(expressions=[column(name) for name in measured.columns])
    wanted = planner.preview_rows
    return tuple(planner.engine.fetch(picked.from_(measured.stored.table()).limit(wanted))) if wanted else ()


def preview_model(planner: Planner, statement: Publish) -> Planned:
    """The same for a model."""
    with _statements_run(planner.engine) as statements:
        request = planner.model(statement, run_id="")
        measured = measure_model(planner.engine, request, planner.progress)
        found = Planned.of(request, measured)
        withdraws = _withdraws(planner.engine, statement, request, measured.content_hash)
    planner.progress("done", 1, 1)
    return replace(found, withdraws=withdraws, statements=tuple(statements))


def _withdraws(
    engine: Engine, statement: Publish, request: Request | ModelRequest, content_hash: str
) -> tuple[str, ...]:
    """What SUPERSEDES would take away; refuses what it could not."""
    wanted = statement.policy.supersedes
    if wanted is None:
        return ()
    refuse_superseding(engine, statement, request.source, request.former)
    gone = withdrawn_by(
        engine, wanted, engine.name(statement.name), request.source.tables, request.former, content_hash
    )
    return tuple(shown_name(one) for one in gone)


@contextmanager
def _statements_run(engine: Engine) -> Iterator[list[str]]:
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
