"""Takes away what a release shows and what lies behind it.  What is noted about it is the caller's to say."""

from __future__ import annotations

from ppdm_sql.catalog import models
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.planning.live_limits import is_live
from ppdm_sql.release import live
from ppdm_sql.statements.names import SCHEMA, Name


def withdraw(engine: Engine, record: ReleaseRecord) -> None:
    """Drops the relation or the model of a live release, its storage and its rules; in the caller's transaction."""
    if record.kind == "MODEL":
        _forget_model(engine, record)
    elif engine.relation_kind(record.name) == "view":
        engine.drop_view(record.name)
    else:
        engine.drop_table(record.name)
    if record.storage:
        engine.drop_table(Name(SCHEMA, record.storage))
    if is_live(record):
        live.drop_parts(engine, record.release_id)


def is_overlaid(engine: Engine, record: ReleaseRecord) -> bool:
    """Whether somebody put a relation of his own where a release was."""
    if record.kind == "MODEL" or engine.relation_kind(record.name) is None:
        return False
    return record.release_id not in (engine.comment_on(record.name) or "")


def _forget_model(engine: Engine, record: ReleaseRecord) -> None:
    found = models.find(engine, record.relation_name)
    if found is not None:
        models.add_event(engine, found.model_id, "dropped")
