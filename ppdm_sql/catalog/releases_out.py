"""The releases that a recipient may hold, whatever tables they were made from."""

from __future__ import annotations

from ppdm_sql.catalog import ledger
from ppdm_sql.catalog.releases import ReleaseRecord, read_releases, records_of, releases_query
from ppdm_sql.engines.base import Engine
from ppdm_sql.statements.names import Name


def out_now(engine: Engine) -> list[ReleaseRecord]:
    """Every release that a recipient may hold, newest first, whatever tables it was made from."""
    known: list[ReleaseRecord] | None = engine.facts.recall("out", ledger.OUT) if engine.holds_lock else None
    return _out(engine, None)[0] if known is None else known


def current_under_lock(engine: Engine, name: Name) -> ReleaseRecord | None:
    """As `current`, in one statement with what `out_now` gives until something is written under the lock."""
    everything, found = _out(engine, name)
    engine.facts.note("out", ledger.OUT, everything)
    return found


def _out(engine: Engine, name: Name | None) -> tuple[list[ReleaseRecord], ReleaseRecord | None]:
    """What is out, and which of it is the newest live release of a name."""
    place = {"schema": None, "relation": None} if name is None else {"schema": name.schema, "relation": name.last}
    rows = engine.fetch(releases_query("catalog/releases_out"), **place)
    named = next((row[0] for row in rows if row[-2]), None)
    found = records_of(rows)
    return found, next((one for one in found if one.release_id == named), None)


def pseudo_data_out(engine: Engine) -> list[ReleaseRecord]:
    """The pseudo-data that a recipient may hold, newest first; the ledger knows no table it was made from."""
    found = read_releases(engine, releases_query("catalog/releases_of_no_query"))
    return [record for record in found if record.pseudo_data is not None]
