"""Who could read a release inside the database.  A role that could read it may have a copy: it counts as exported."""

from __future__ import annotations

from ppdm_sql.catalog import releases
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.release.kinds.registry import kind_of


def note_readers(engine: Engine, record: ReleaseRecord) -> None:
    """Notes every role that can read a release now, or could since it was looked at last."""
    if not engine.has_grants:
        return
    kind = kind_of(record)
    seen = engine.past_readers(kind.relation(record), record.release_id)
    if seen:
        releases.add_readers(engine, record.release_id, seen)
        for original in kind.originals(engine, record):
            releases.add_readers(engine, original.release_id, seen)


def note_all_readers(engine: Engine) -> None:
    """The same for every live release, after a statement that may have given or taken rights."""
    for summary in releases.list_releases(engine) if engine.has_grants else []:
        record = releases.by_id(engine, summary.release_id)
        if record is not None:
            note_readers(engine, record)
