"""What a new release does to those before it: replaced, superseded and withdrawn, or standing for the same rows."""

from __future__ import annotations

from collections.abc import Sequence

from ppdm_sql.catalog import migrate, releases
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.planning import joint
from ppdm_sql.planning.holders import was_handed_over
from ppdm_sql.planning.superseding import superseded_by
from ppdm_sql.policy.policy import Publish, Supersedes
from ppdm_sql.release.kinds.registry import kind_of
from ppdm_sql.source.relation import Source
from ppdm_sql.source.tables import relations_read
from ppdm_sql.statements.names import Name


def refuse_superseding(engine: Engine, publish: Publish, source: Source, former: ReleaseRecord | None) -> None:
    """Refuses, before anything is recorded, a SUPERSEDES that would take away what is not its own, or what it reads."""
    if publish.policy.supersedes is None:
        return
    read = relations_read(engine, publish.query)
    name = engine.name(publish.name)
    for other in withdrawn_by(engine, publish.policy.supersedes, name, source.tables, former):
        # Only a live view passes its tables on to who reads it; what lies behind it has its id.
        if any(relation.endswith(other.release_id) for relation in read):
            raise PolicyError(
                f'SUPERSEDES would drop "{other.name}", which the query reads: read the tables behind it instead'
            )
        if kind_of(other).is_overlaid(engine, other):
            raise PolicyError(
                f'SUPERSEDES would drop "{other.name}", but the relation of that name is not the release: rename it, '
                "or drop "
                "both with DROP RELEASE"
            )


def withdrawn_by(
    engine: Engine,
    wanted: Supersedes | None,
    name: Name,
    tables: Sequence[str],
    former: ReleaseRecord | None,
    content_hash: str | None = None,
) -> list[ReleaseRecord]:
    """What SUPERSEDES takes away under other names: the current releases it speaks of, and their pseudo-data.

    content_hash: of the new release, where that is known; pseudo-data of the same model stays.
    """
    if not migrate.is_there(engine):
        return []
    own = None if former is None else former.release_id
    found = superseded_by(engine, wanted, name, tables).values()
    others = [one for one in found if content_hash is None or one.content_hash != content_hash]
    made = [copy for one in others for copy in kind_of(one).copies(engine, one)]
    there = {one.release_id: one for one in (*found, *made) if one.state == "live" and one.release_id != own}
    # A release of the same name is one that another session publishes at the same time: one of the two will win.
    return [one for one in there.values() if one.name.last != name.last or name.schema not in (None, one.name.schema)]


# -- retiring --------------------------------------------------------------------------------------------


def retire(engine: Engine, record: ReleaseRecord, former: ReleaseRecord | None, wanted: Supersedes | None) -> None:
    """What the new release does to those before it.

    What is superseded no longer counts, so nothing shows it now.  Otherwise the former one of this name is
    replaced, and stays in the ledger if a recipient may have a copy of it that says something else of the people.
    """
    found = superseded_by(engine, wanted, record.name, record.sources)
    found.pop(record.release_id, None)
    for other in found.values():
        _supersede(engine, other, record, is_former=former is not None and other.release_id == former.release_id)
    if former is None or former.release_id in found:
        return
    if _says_the_same(engine, former, record):
        _hand_on(engine, former, record)
        joint.drop_link(engine, former)
    elif was_handed_over(engine, former):
        releases.add_event(engine, former.release_id, "replaced", f"by {record.release_id}")
    else:
        _forget(engine, former, record)


def _forget(engine: Engine, former: ReleaseRecord, record: ReleaseRecord) -> None:
    """A former state that nobody was given counts no longer."""
    told = f"never handed over, replaced by {record.release_id}"
    releases.add_event(engine, former.release_id, "superseded", told)
    joint.drop_link(engine, former)


def _hand_on(engine: Engine, former: ReleaseRecord, record: ReleaseRecord) -> None:
    """The new release stands for the former one, which said the same: a copy of that is a copy of this."""
    for event in releases.events(engine, former.release_id):
        if event.event == "exported":
            releases.add_event(engine, record.release_id, "exported", event.detail)
    releases.add_readers(engine, record.release_id, releases.readers(engine, former.release_id))
    releases.add_event(engine, former.release_id, "superseded", f"same rows as {record.release_id}")


def hand_on_growth(engine: Engine, former: ReleaseRecord, record: ReleaseRecord) -> None:
    """The night before of a growing release: the new one has all of its rows that are out, and knows those that left.

    So a copy of any night before counts as a copy of this one.
    """
    given = [event for event in releases.events(engine, former.release_id) if event.event == "exported"]
    if given:
        releases.add_event(engine, record.release_id, "exported", given[-1].detail)
    releases.add_readers(engine, record.release_id, releases.readers(engine, former.release_id))
    releases.add_event(engine, former.release_id, "superseded", f"grew into {record.release_id}")
    joint.drop_link(engine, former)


def _supersede(engine: Engine, other: ReleaseRecord, record: ReleaseRecord, *, is_former: bool) -> None:
    """Takes another release away for good; what had the name of the new one makes room for it by itself."""
    if other.content_hash != record.content_hash:
        for copy in kind_of(other).copies(engine, other):
            _take_away(engine, copy, record)
    if is_former:
        releases.add_event(engine, other.release_id, "superseded", f"by {record.release_id}")
    else:
        _take_away(engine, other, record)
    joint.drop_link(engine, other)


def _take_away(engine: Engine, other: ReleaseRecord, record: ReleaseRecord) -> None:
    if other.state == "live":
        # Before the event: without transactions, what is noted as gone must no longer exist.
        kind_of(other).withdraw(engine, other)
    releases.add_event(engine, other.release_id, "superseded", f"by {record.release_id}")


def _says_the_same(engine: Engine, former: ReleaseRecord, record: ReleaseRecord) -> bool:
    if former.content_hash != record.content_hash:
        return False
    return joint.say_the_same(engine, former, record)


def retire_pseudo(engine: Engine, record: ReleaseRecord, former: ReleaseRecord | None) -> None:
    """What new pseudo-data does to the release that had its name; the same rows made again reveal nothing new."""
    if former is None:
        return
    models = {one.pseudo_data.model_hash if one.pseudo_data else None for one in (former, record)}
    if len(models) == 1 and former.content_hash == record.content_hash:
        _hand_on(engine, former, record)
    elif was_handed_over(engine, former):
        releases.add_event(engine, former.release_id, "replaced", f"by {record.release_id}")
    else:
        _forget(engine, former, record)
