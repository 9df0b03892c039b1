"""Takes a release back: its relation, what lies behind it, and its place among what is live."""

from __future__ import annotations

from ppdm_sql.catalog import ledger, releases
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.planning.joint import drop_link, shown_name
from ppdm_sql.release.kinds.registry import kind_of
from ppdm_sql.release.ledger_lock import still_current
from ppdm_sql.release.readers import note_readers
from ppdm_sql.release.results import Dropped


def drop(engine: Engine, record: ReleaseRecord) -> Dropped:
    """Drops a release.  One that was exported, or that a role could read, stays in the ledger: copies stay outside."""
    with ledger.lock_ledger(engine):
        record = still_current(engine, record)
        note_readers(engine, record)
        readers = releases.readers(engine, record.release_id) if engine.has_grants else []
        exports = sum(event.event == "exported" for event in releases.events(engine, record.release_id))
        made = kind_of(record).copies(engine, record)
        _refuse_orphans(record, made)
        kind_of(record).withdraw(engine, record)
        if made and not exports:  # replaced, or dropped after it was exported: a recipient may have it
            detail = f"as pseudo-data {', '.join(shown_name(one) for one in made)}"
            releases.add_event(engine, record.release_id, "exported", detail)
            exports = 1
        if not exports and not readers:
            drop_link(engine, record)
        releases.add_event(engine, record.release_id, "dropped")
    return Dropped(shown_name(record), exports, tuple(readers))


def _refuse_orphans(record: ReleaseRecord, made: list[ReleaseRecord]) -> None:
    """Who reads pseudo-data reads its model: a model cannot go before what was made from it."""
    there = [f'"{shown_name(one)}"' for one in made if one.state == "live"]
    if there:
        raise PolicyError(
            f'pseudo-data made from model "{shown_name(record)}" still exists: drop {", ".join(there)} first'
        )
