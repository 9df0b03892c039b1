"""The models that pseudo-data gives back: pseudo-rows give the cuts and the shares of their tree, so both leave."""

from __future__ import annotations

from ppdm_sql.catalog import releases
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.planning.holders import is_made_from
from ppdm_sql.release.kinds.registry import kind_of


def models_of(engine: Engine, made: ReleaseRecord) -> list[ReleaseRecord]:
    """The models that pseudo-data reveals to its recipients."""
    model = None if made.pseudo_data is None else releases.by_id(engine, made.pseudo_data.model_release)
    known = [] if model is None else releases.history(engine, model.name)
    return [one for one in known if kind_of(one).keeps_model and one.state != "superseded" and is_made_from(made, one)]
