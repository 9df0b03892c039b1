"""Takes a release back: its relation, what lies behind it, and its place among what is live."""

from __future__ import annotations

from ppdm_sql.catalog import models, releases
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.release import live
from ppdm_sql.release.joint import link_name, shown_name
from ppdm_sql.release.results import Dropped
from ppdm_sql.statements.names import SCHEMA, Name


def drop(engine: Engine, record: ReleaseRecord) -> Dropped:
    """Drops a release.  One that was exported stays in the ledger: copies outside cannot be taken back."""
    exports = sum(event.event == "exported" for event in releases.events(engine, record.release_id))
    with engine.transaction():
        if record.kind == "MODEL":
            _drop_model(engine, record)
        elif engine.relation_kind(record.name) == "view":
            engine.drop_view(record.name)
        else:
            engine.drop_table(record.name)
        if record.storage:
            engine.drop_table(Name(SCHEMA, record.storage))
        if live.is_live(record):
            live.drop_parts(engine, record.release_id)
        if not exports:
            engine.drop_table(link_name(record.release_id))
        releases.add_event(engine, record.release_id, "dropped")
    return Dropped(shown_name(record), exports)


def _drop_model(engine: Engine, record: ReleaseRecord) -> None:
    found = models.find(engine, record.relation_name)
    if found is not None:
        models.add_event(engine, found.model_id, "dropped")
