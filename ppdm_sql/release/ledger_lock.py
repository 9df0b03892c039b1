"""What is decided about releases is decided in turn: under the lock of the ledger, from what is there then.

A statement is planned before it has the lock, because planning takes long.  What it found out about other releases is
read again here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ppdm_sql.catalog import ledger, releases
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError, PpdmError
from ppdm_sql.statements.names import Name


@contextmanager
def publishing(engine: Engine) -> Iterator[None]:
    """The lock for a publication; refused where the ledger it would be judged by was edited."""
    with ledger.lock_ledger(engine):
        engine.check_builtins()  # again: another session may have defined something since the statement began
        ledger.refuse_edited(engine, "published")
        yield


@contextmanager
def explained_race(name: Name) -> Iterator[None]:
    """A name that could be published under when the statement was planned, and cannot be under the lock."""
    try:
        yield
    except PolicyError as refused:
        raise PpdmError(
            f'another session published or created "{name}" while this statement ran ({refused}); nothing was '
            "published.  Run it again"
        ) from refused


def refuse_vanished(planned: ReleaseRecord | None, former: ReleaseRecord | None) -> None:
    """Refuses to replace a release that another session withdrew in the meantime."""
    if planned is not None and former is None:
        raise PpdmError(
            f'another session withdrew release "{planned.name}" while this statement ran; nothing was published.  '
            "Run it again"
        )


def still_current(engine: Engine, record: ReleaseRecord) -> ReleaseRecord:
    """The release as it is now, under the lock; refused when its name does not show it any longer."""
    found = releases.by_id(engine, record.release_id)
    if found is None or found.state != "live":
        raise PolicyError(
            f'another session withdrew or replaced release "{record.name}" while this statement ran; '
            "nothing was changed"
        )
    return found
