"""That a statement ran, and how it ended, stays in the catalog, whatever becomes of what it was to publish."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from ppdm_sql.catalog import migrate, runs
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError, PpdmError, RequirementBreached, SchemaDrifted
from ppdm_sql.policy.policy import PseudoData, Publish
from ppdm_sql.release.swap import sweep_leftovers
from ppdm_sql.watching import Progress


def recorded(
    engine: Engine, statement: Publish | PseudoData, work: Callable[[str], ReleaseRecord], progress: Progress
) -> ReleaseRecord:
    """Does the work of a statement, which is given the id of its run."""
    engine.check_writable()
    migrate.ensure(engine)
    sweep_leftovers(engine)
    run_id = runs.start_run(engine, statement.text, statement.place.file)
    try:
        record = work(run_id)
    except BaseException as error:
        _note_failure(engine, run_id, error)
        raise
    finally:
        progress("done", 1, 1)
    runs.finish_run(engine, run_id, "published", 0)
    return record


def _note_failure(engine: Engine, run_id: str, error: BaseException) -> None:
    """A refused publication leaves its record, although its own transaction is gone."""
    refused = isinstance(error, RequirementBreached | SchemaDrifted | PolicyError)
    code = error.exit_code if isinstance(error, PpdmError) else 3
    message = str(error) if isinstance(error, PpdmError) else type(error).__name__
    with suppress(PpdmError):  # a full disk or a lost connection: the first error is the one to tell
        runs.finish_run(engine, run_id, "refused" if refused else "failed", code, message)
