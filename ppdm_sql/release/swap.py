"""What makes room for a release, in the transaction that puts it there; and what a killed run left behind."""

from __future__ import annotations

from ppdm_sql.catalog import ledger, releases
from ppdm_sql.catalog.growth import STORAGE
from ppdm_sql.engines.base import Engine
from ppdm_sql.planning.target import Target
from ppdm_sql.release.kinds.registry import kind_of
from ppdm_sql.statements.names import SCHEMA, Name


def clear_name(engine: Engine, target: Target) -> None:
    """Takes the former release away; inside the transaction that puts the new one there."""
    if target.former is None:
        return
    kind = engine.relation_kind(target.name)
    if kind == "view" and not (target.is_view and not engine.has_transactions):
        engine.drop_view(target.name)
    elif kind == "table":
        engine.drop_table(target.name)


def clear_storage(engine: Engine, target: Target) -> None:
    """The table behind a former view, or the rules of a live one, once nothing shows them."""
    if target.former is not None:
        kind_of(target.former).clear_behind(engine, target.former)


def sweep_leftovers(engine: Engine) -> None:
    """Drops what a killed run left behind; only an engine without transactions can leave anything."""
    if engine.has_transactions:
        return
    known = {record.release_id for record in releases.list_releases(engine, include_gone=True)}
    for relation in engine.relations(SCHEMA):
        for prefix in (STORAGE, ledger.LINK, ledger.COMBINATIONS):
            release_id = relation.removeprefix(prefix).partition("_")[0]  # a part has its number behind it
            if relation.startswith(prefix) and release_id not in known:
                engine.drop_table(Name(SCHEMA, relation))
