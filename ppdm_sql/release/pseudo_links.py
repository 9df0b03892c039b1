"""Pseudo-data and its model: pseudo-rows give the cuts and the shares of their tree back, so both leave."""

from __future__ import annotations

from ppdm_sql.catalog import releases
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.release.kinds.registry import kind_of


def pseudo_data_of(engine: Engine, model: ReleaseRecord) -> list[ReleaseRecord]:
    """The pseudo-data still out that was made from a model, or from one that is, to the byte, the same."""
    return [made for made in releases.pseudo_data_out(engine) if _is_made_from(made, model)]


def _is_made_from(made: ReleaseRecord, model: ReleaseRecord) -> bool:
    origin = made.pseudo_data
    return origin is not None and (model.release_id == origin.model_release or model.content_hash == origin.model_hash)


def models_of(engine: Engine, made: ReleaseRecord) -> list[ReleaseRecord]:
    """The models that pseudo-data gives back to whoever holds it."""
    model = None if made.pseudo_data is None else releases.by_id(engine, made.pseudo_data.model_release)
    known = [] if model is None else releases.history(engine, model.name)
    return [one for one in known if kind_of(one).keeps_model and one.state != "superseded" and _is_made_from(made, one)]
