"""What VERIFY found, together with what was edited in the catalog, noted with the release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ppdm_sql.catalog import ledger, releases
from ppdm_sql.catalog.releases import Check, ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.release.readers import note_readers
from ppdm_sql.release.results import Verified


def note_verdict(engine: Engine, record: ReleaseRecord, outcome: Verified, checks: Sequence[Check] = ()) -> Verified:
    """What a verification found, with what was edited in the ledger; noted where the database can be written."""
    if engine.read_only:
        return _with_edits(engine, record, outcome)
    with ledger.lock_ledger(engine):
        outcome = _with_edits(engine, record, outcome)
        note_readers(engine, record)
        event: releases.Event = "verified" if outcome.holds else "tampered"
        releases.add_event(
            engine, record.release_id, event, "; ".join([*outcome.problems, *outcome.notes]) or None, checks
        )
    return outcome


def _with_edits(engine: Engine, record: ReleaseRecord, outcome: Verified) -> Verified:
    # An edit of another live release shows when that is verified; what no live release answers for shows everywhere.
    others = [one.name for one in releases.list_releases(engine) if one.release_id != record.release_id]
    elsewhere = tuple(f'release "{name}": ' for name in others)
    found = [problem for problem in ledger.problems(engine) if not problem.startswith(elsewhere)]
    edits = [f"the catalog was edited: {problem}" for problem in found]
    if ledger.edited_links(engine, {record.release_id}):
        edits.append("its link table was edited in the catalog")
    return replace(outcome, problems=(*outcome.problems, *edits))
