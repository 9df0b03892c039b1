"""Who may hold a release: the recipients of an export, the roles that could read it, the holders of its pseudo-data.

A release that nobody but its maker can hold does not stand against its own successor.
"""

from __future__ import annotations

from ppdm_sql.catalog import releases, releases_out
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine


def was_handed_over(engine: Engine, record: ReleaseRecord) -> bool:
    """Whether a copy of a release can be outside, as far as the ledger and the engine know; True where they do not."""
    if not engine.knows_readers or _exports(engine, record) or releases.readers(engine, record.release_id):
        return True
    # During a publication the name shows the new release already; who could read the former one is noted by then.
    is_shown = record.release_id in (engine.comment_on(record.name) or "")
    readers = engine.past_readers(record.name if is_shown else None, record.release_id)
    return bool(readers or pseudo_data_of(engine, record))


def _exports(engine: Engine, record: ReleaseRecord) -> int:
    return sum(event.event == "exported" for event in releases.events(engine, record.release_id))


def pseudo_data_of(engine: Engine, model: ReleaseRecord) -> list[ReleaseRecord]:
    """The pseudo-data still out that was made from a model, or from one that is, to the byte, the same."""
    return [made for made in releases_out.pseudo_data_out(engine) if is_made_from(made, model)]


def is_made_from(made: ReleaseRecord, model: ReleaseRecord) -> bool:
    """Whether pseudo-data gives this model back."""
    origin = made.pseudo_data
    return origin is not None and (model.release_id == origin.model_release or model.content_hash == origin.model_hash)
