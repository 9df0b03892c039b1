"""What ppdm_sql was asked to do and how it went, in transactions of its own.

A publication that is refused rolls back everything it wrote; that it was tried must outlive it.
Therefore what writes here opens a transaction, and refuses to run inside one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from ppdm_sql import __version__
from ppdm_sql.catalog.store import append, new_id, next_number, now
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError, PpdmError, RequirementBreached, SchemaDrifted
from ppdm_sql.statements.load import statement

RunEnd = Literal["published", "done", "refused", "failed"]


@dataclass(frozen=True)
class RunRecord:
    """A run and its newest event; 'started' means that it still runs, or was killed."""

    run_id: str
    statement: str
    file: str | None
    version: str
    started_at: datetime
    state: Literal["started"] | RunEnd
    exit_code: int | None
    message: str | None
    changed_at: datetime


def start_run(engine: Engine, text: str, file: str | None = None) -> str:
    """Notes that a statement is about to be run, and gives the id of the run."""
    run_id, started_at = new_id(), now()
    run = {"run_id": run_id, "statement": text, "file": file, "version": __version__, "started_at": started_at}
    with engine.transaction():
        append(engine, "run", run)
        _add_event(engine, run_id, "started", None, None, started_at)
    return run_id


def finish_run(engine: Engine, run_id: str, state: RunEnd, exit_code: int, message: str | None = None) -> None:
    """Notes how a run ended: 'done' is one that had nothing to publish, such as a VERIFY."""
    if state not in get_args(RunEnd):
        raise ValueError(f"a run cannot end as {state!r}")
    with engine.transaction():
        _add_event(engine, run_id, state, exit_code, message, now())


@contextmanager
def recorded_run(engine: Engine, text: str, file: str | None = None) -> Iterator[str]:
    """Notes a run and, when the block ends, how it went; gives the id of the run.

    That a publication was refused stays on record, although its own transaction is gone.
    """
    run_id = start_run(engine, text, file)
    try:
        yield run_id
    except BaseException as error:
        refused = isinstance(error, RequirementBreached | SchemaDrifted | PolicyError)
        code = error.exit_code if isinstance(error, PpdmError) else PpdmError.exit_code
        message = str(error) if isinstance(error, PpdmError) else type(error).__name__
        if isinstance(error, PpdmError):
            error.run_id = run_id
        with suppress(PpdmError):  # a full disk or a lost connection: the first error is the one that counts
            finish_run(engine, run_id, "refused" if refused else "failed", code, message)
        raise
    finish_run(engine, run_id, "published", 0)


def recent(engine: Engine, limit: int = 20) -> list[RunRecord]:
    """The runs that were started last, newest first."""
    return [RunRecord(*row) for row in engine.fetch(statement("catalog/runs_recent"), limit=limit)]


def _add_event(
    engine: Engine, run_id: str, state: str, exit_code: int | None, message: str | None, happened_at: datetime
) -> None:
    event = {
        "run_id": run_id,
        "state": state,
        "exit_code": exit_code,
        "message": message,
        "happened_at": happened_at,
    }
    append(engine, "run_event", event, seq=next_number("run_event"))
