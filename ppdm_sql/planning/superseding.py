"""What counts no longer once a statement has run: what SUPERSEDES names, and what nobody was ever given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ppdm_sql.catalog import migrate, releases, releases_out
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.planning.holders import was_handed_over
from ppdm_sql.policy.options import at
from ppdm_sql.policy.policy import Publish, Supersedes
from ppdm_sql.policy.words import nearest
from ppdm_sql.statements.names import Name


def superseded_by(
    engine: Engine, wanted: Supersedes | None, name: Name, tables: Sequence[str]
) -> dict[str, ReleaseRecord]:
    """The releases still out that a statement supersedes, by their ids; name, tables: of the statement."""
    if wanted is None:
        return {}
    names = [engine.name(words) for words in wanted.names] or [name]
    listed = {one.release_id for own in names for one in releases.history(engine, own)}
    found = {one.release_id: one for one in releases_out.out_now(engine) if one.release_id in listed}
    if wanted.everything:
        found |= {one.release_id: one for one in releases.live_from(engine, tables)}
    return found


def uncounted(
    engine: Engine, wanted: Supersedes | None, name: Name, tables: Sequence[str], former: ReleaseRecord | None
) -> frozenset[str]:
    """The ids of the releases that a new one is not judged together with."""
    found = set(superseded_by(engine, wanted, name, tables))
    if former is not None and not was_handed_over(engine, former):
        found.add(former.release_id)
    return frozenset(found)


def check_superseded(engine: Engine, statement: Publish, coming: Iterable[Name] = ()) -> None:
    """Refuses a list with a name that no release ever had; coming: names that earlier statements publish.

    A name that was withdrawn before is no mistake: the same statement runs every night.
    """
    wanted = statement.policy.supersedes
    if wanted is None or not wanted.names:
        return
    there = migrate.is_there(engine)
    published = [name.last for name in coming]
    known = [one.relation_name for one in releases.list_releases(engine, include_gone=True)] if there else []
    places = dict(zip(wanted.names, wanted.places, strict=False))
    mistakes = []
    for words in wanted.names:
        name = engine.name(words)
        if name.last in published or (there and releases.history(engine, name)):
            continue
        near = nearest(name.last, [*known, *published])
        hint = f"did you mean {near}?" if near else "ppdm list --all shows those there are"
        told = f'SUPERSEDES ({name}): there is no release "{name}" in this database; {hint}'
        mistakes.append(at(places.get(words, statement.place), told))
    if mistakes:
        raise PolicyError(*mistakes, file=statement.place.file)
