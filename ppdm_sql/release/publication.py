"""One publication from its statement to its record: that it was tried stays in the catalog, however it ended."""

from __future__ import annotations

from ppdm_sql.catalog import migrate
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.catalog.runs import recorded_run
from ppdm_sql.planning.planner import Planner
from ppdm_sql.release.kinds.base import Publication
from ppdm_sql.release.kinds.registry import kind_of_statement
from ppdm_sql.release.swap import sweep_leftovers


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
