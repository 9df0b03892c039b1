"""What was published, from which tables, with which measured result, and what became of it.

Nothing here opens a transaction: a release is recorded inside the one that publishes it, so that the
relation and its record appear together or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from itertools import groupby
from typing import Any, Literal, get_args

from sqlglot import exp

from ppdm_sql import __version__
from ppdm_sql.catalog import ledger
from ppdm_sql.catalog.salt import known_salt as known_salt
from ppdm_sql.catalog.salt import salt as salt
from ppdm_sql.catalog.store import check_texts, json_text, new_id, next_number, now, ordered_json_text, sha256_of
from ppdm_sql.engines.base import Engine, Row
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import PREFIX, SCHEMA, Name, aliased

Event = Literal["replaced", "superseded", "dropped", "exported", "verified", "tampered"]
State = Literal["live", "replaced", "superseded", "dropped"]

_JSON = frozenset({"options", "requirements", "roles", "key_columns", "columns", "manifest"})
_SHAPES: dict[str, type] = {"options": dict, "roles": dict, "manifest": dict, "key_columns": list}
_NAMES_AT_ONCE = 100


@dataclass(frozen=True)
class ReleaseRecord:
    """One publication.  JSON fields hold plain values: dict, list, str, int, float, bool, None."""

    release_id: str
    run_id: str
    schema_name: str | None  # None: the engine's current one; a record that was read has it by name
    relation_name: str
    kind: str
    algorithm: str
    options: dict[str, Any]
    seed: int
    requirements: Any
    roles: Any
    source_query: str
    policy_text: str
    storage: str | None
    key_columns: tuple[str, ...]
    k_promised: int | None
    rows: int | None
    classes: int | None
    suppressed_rows: int | None
    content_hash: str | None
    columns: Any
    manifest: dict[str, Any]
    manifest_sha256: str  # of json_text(manifest)
    version: str = __version__
    published_at: datetime = field(default_factory=now)
    state: State = "live"  # follows from the events; not stored
    sources: tuple[str, ...] = ()  # the tables it was made from, as the engine resolved them; in order of name
    unreadable: tuple[str, ...] = ()  # columns whose stored text is not what was written there; they are empty here

    @property
    def name(self) -> Name:
        return Name(self.relation_name) if self.schema_name is None else Name(self.schema_name, self.relation_name)

    @property
    def manifest_is_intact(self) -> bool:
        """Whether manifest and manifest_sha256 still belong together."""
        return sha256_of(json_text(self.manifest)) == self.manifest_sha256


@dataclass(frozen=True)
class Check:
    """One requirement, measured on the stored release for one sensitive column or for none."""

    requirement: str
    sensitive: str | None
    asked: str
    achieved: str | None
    achieved_value: float | None
    breaching_classes: int
    breaching_rows: int
    holds: bool
    statement_sha256: str


@dataclass(frozen=True)
class CheckRound:
    """The checks that were made together, when a release was published or verified."""

    event: str
    seq: int
    happened_at: datetime
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class ReleaseEvent:
    event_id: str
    event: str
    detail: str | None
    seq: int
    happened_at: datetime


@dataclass(frozen=True)
class ReleaseSummary:
    """A release in one line: what a list shows, without policy and manifest."""

    release_id: str
    schema_name: str
    relation_name: str
    kind: str
    algorithm: str
    requirements: Any
    k_promised: int | None
    rows: int | None
    classes: int | None
    suppressed_rows: int | None
    version: str
    published_at: datetime
    state: State
    verdict: Literal["verified", "tampered"] | None  # of the newest verification
    exports: int  # copies handed over, which stay outside
    is_out: bool  # counts when something new is to be made from the same tables
    readers: tuple[str, ...] = ()  # roles that could ever read it in this database; it counts as exported then

    @property
    def name(self) -> Name:
        return Name(self.schema_name, self.relation_name)


_DERIVED = ("state", "sources", "unreadable")
_STORED = tuple(f.name for f in fields(ReleaseRecord) if f.name not in _DERIVED)


# -- writing ---------------------------------------------------------------------------------------


def record(engine: Engine, release: ReleaseRecord, checks: Sequence[Check] = ()) -> None:
    """Notes a release, its sources and the checks made before it was let out, in the caller's lock of the ledger."""
    if not release.manifest_is_intact:
        raise ValueError("manifest_sha256 is not the sha256 of json_text(manifest)")
    row = {name: _stored(name, getattr(release, name)) for name in _STORED}
    check_texts("release", row)
    with ledger.locked(engine):
        if release.schema_name is None:
            (row["schema_name"],) = engine.fetch_one(statement("catalog/current_schema"))
        place = {f"{PREFIX}{name}": row[name] for name in ("schema_name", "relation_name")}
        (row["generation"],) = engine.fetch_one(statement("catalog/next_generation"), **place)
        parts = ledger.add_row(engine, "release", row)
        for source in sorted(set(release.sources)):
            parts |= ledger.add_row(engine, "release_source", {"release_id": release.release_id, "source": source})
        # Last, because without transactions this event is what makes the release one.
        parts |= _add_event(engine, release.release_id, "published", None, checks)
        ledger.add_entry(engine, release.release_id, parts, f"{row['schema_name']}.{row['relation_name']}")


def add_event(
    engine: Engine, release_id: str, event: Event, detail: str | None = None, checks: Sequence[Check] = ()
) -> None:
    """Notes what happened to a release, with the checks of a verification; in the caller's lock if it has one.

    'replaced': its name shows another release now, but whoever copied it has it still.  'superseded':
    nobody holds it any more, or it says the same as its successor.  Neither these nor 'dropped' can be undone.
    """
    if event not in get_args(Event):
        raise ValueError(f"a release has no event {event!r}")
    with ledger.locked(engine):
        ledger.add_entry(engine, release_id, _add_event(engine, release_id, event, detail, checks))


def _add_event(
    engine: Engine, release_id: str, event: str, detail: str | None, checks: Sequence[Check]
) -> ledger.Parts:
    event_id = new_id()
    parts: ledger.Parts = {}
    for position, check in enumerate(checks, start=1):
        place = {"event_id": event_id, "position": position, "release_id": release_id}
        parts |= ledger.add_row(engine, "release_check", place | vars(check))
    (seq,) = engine.fetch_one(next_number("release_event"))
    happened = {
        "event_id": event_id,
        "release_id": release_id,
        "seq": seq,
        "event": event,
        "detail": detail,
        "happened_at": now(),
    }
    return parts | ledger.add_row(engine, "release_event", happened)


def add_readers(engine: Engine, release_id: str, roles: Sequence[str]) -> None:
    """Notes roles that could read a release; those that are noted already stay as they are."""
    with ledger.locked(engine):
        known = readers(engine, release_id)
        new = [role for role in dict.fromkeys(roles) if role not in known]
        parts: ledger.Parts = {}
        for role in new:
            row = {"release_id": release_id, "role_name": role, "seen_at": now()}
            parts |= ledger.add_row(engine, "release_reader", row)
        if parts:
            ledger.add_entry(engine, release_id, parts)


def _stored(name: str, value: Any) -> Any:
    if name in _JSON:
        return ordered_json_text(value) if name == "columns" else json_text(value)
    return str(value) if name == "seed" else value


# -- reading ---------------------------------------------------------------------------------------


def by_id(engine: Engine, release_id: str) -> ReleaseRecord | None:
    found = _releases(engine, statement("catalog/release_by_id"), release_id=release_id)
    return found[0] if found else None


def current(engine: Engine, name: Name) -> ReleaseRecord | None:
    """The newest live release of this name."""
    found = _named(engine, name, live=True)
    return found[0] if found else None


def of_model(engine: Engine, name: str) -> ReleaseRecord | None:
    """The live release of a model; models have no schema, so it is the one of any schema."""
    found = next((one for one in listed(engine) if one.kind == "MODEL" and one.relation_name == name), None)
    return None if found is None else current(engine, found.name)


def history(engine: Engine, name: Name) -> list[ReleaseRecord]:
    """Every release this name ever had, newest first."""
    return _named(engine, name, live=False)


def live_from(engine: Engine, sources: Sequence[str], *, include_gone: bool = False) -> list[ReleaseRecord]:
    """The releases still out that were made from any of these tables, newest first.

    Out is what somebody may hold: live or replaced, or dropped after it was exported.  include_gone adds the others.
    Of partitioned tables any part will do: the ledger may name one that was attached or detached since.
    """
    names = engine.family(sources) if sources else []
    found: dict[str, ReleaseRecord] = {}
    for start in range(0, len(names), _NAMES_AT_ONCE):  # a table can have thousands of partitions
        for record in _made_from(engine, names[start : start + _NAMES_AT_ONCE], out=not include_gone):
            found.setdefault(record.release_id, record)
    if len(names) <= _NAMES_AT_ONCE:
        return list(found.values())
    return sorted(found.values(), key=lambda record: record.published_at, reverse=True)


def _made_from(engine: Engine, sources: Sequence[str], *, out: bool) -> list[ReleaseRecord]:
    given = {f"source_{position}": source for position, source in enumerate(sources)}
    wanted = [exp.select(aliased(exp.cast(exp.Placeholder(this=key), "TEXT"), "source")) for key in given]
    chosen = statement("catalog/releases_from", {"wanted": _all_of(wanted), "naming": _naming()})
    return _releases(engine, chosen, out=out, **given)


def out_now(engine: Engine) -> list[ReleaseRecord]:
    """Every release that somebody may hold, newest first, whatever tables it was made from."""
    return _releases(engine, statement("catalog/releases_out"))


def pseudo_data_out(engine: Engine) -> list[ReleaseRecord]:
    """The pseudo-data that somebody may hold, newest first; the ledger knows no table it was made from."""
    found = _releases(engine, statement("catalog/releases_of_no_query"))
    return [record for record in found if "pseudo_data" in record.manifest]


def listed(engine: Engine, include_gone: bool = False) -> list[ReleaseSummary]:
    """The releases in one line each, newest first; include_gone: also those no name shows any more."""
    rows = engine.fetch(statement("catalog/releases_listed"), live=not include_gone)
    names = [f.name for f in fields(ReleaseSummary) if f.name != "readers"]
    readers_of = _readers_by_release(engine) if engine.has_grants else {}
    found = [{name: _read(name, value)[0] for name, value in zip(names, row, strict=True)} for row in rows]
    return [_summary(one | {"readers": tuple(readers_of.get(one["release_id"], ()))}) for one in found]


def _summary(values: dict[str, Any]) -> ReleaseSummary:
    asked = values.pop("requirements")
    texts = [str(item) for item in asked] if isinstance(asked, list) else []  # somebody may have edited them
    return ReleaseSummary(**values, requirements=texts)


def events(engine: Engine, release_id: str) -> list[ReleaseEvent]:
    """What happened to a release, oldest first."""
    return [ReleaseEvent(*row) for row in engine.fetch(statement("catalog/release_events"), release_id=release_id)]


def readers(engine: Engine, release_id: str) -> list[str]:
    """The roles that could ever read a release in this database, as far as that was seen."""
    return _readers_by_release(engine, release_id).get(release_id, [])


def _readers_by_release(engine: Engine, release_id: str | None = None) -> dict[str, list[str]]:
    if engine.relation_kind(Name(SCHEMA, "release_reader")) is None:  # not migrated yet
        return {}
    rows = engine.fetch(statement("catalog/release_readers"), release_id=release_id)
    return {key: [str(role) for _, role in found] for key, found in groupby(rows, key=lambda row: row[0])}


def superseded_by(engine: Engine, release_id: str) -> list[str]:
    """The names of what a release superseded."""
    rows = engine.fetch(statement("catalog/superseded_by"), detail=f"by {release_id}")
    return [str(name) for (name,) in rows]


def checks(engine: Engine, release_id: str) -> list[CheckRound]:
    """The checks made on a release, round by round: the first from its publication, the last the newest."""
    rows = engine.fetch(statement("catalog/release_checks"), release_id=release_id)
    return [
        CheckRound(event, seq, happened_at, tuple(Check(*row[4:]) for row in together))
        for (_, event, seq, happened_at), together in groupby(rows, key=lambda row: row[:4])
    ]


def _named(engine: Engine, name: Name, *, live: bool) -> list[ReleaseRecord]:
    chosen = statement("catalog/releases_named", {"naming": _naming()})
    return _releases(engine, chosen, schema=name.schema, relation=name.last, live=live)


def _naming() -> exp.Subquery:
    return statement("catalog/naming").subquery()


def _all_of(queries: Sequence[exp.Select]) -> exp.Subquery:
    return (exp.union(*queries, distinct=False) if len(queries) > 1 else queries[0]).subquery()


def _releases(engine: Engine, chosen: exp.Query, **params: Any) -> list[ReleaseRecord]:
    rows = engine.fetch(statement("catalog/releases", {"chosen": chosen.subquery()}), **params)
    return [_release(list(same)) for _, same in groupby(rows, key=lambda row: row[0])]


def _release(rows: Sequence[Row]) -> ReleaseRecord:
    """A release of its rows, which differ in their last column, the source."""
    *stored, state, _ = rows[0]
    values, unreadable = {}, []
    for name, value in zip(_STORED, stored, strict=True):
        values[name], is_readable = _read(name, value)
        if not is_readable:
            unreadable.append(name)
    sources = tuple(row[-1] for row in rows if row[-1] is not None)
    return ReleaseRecord(**values, state=state, sources=sources, unreadable=tuple(unreadable))


def _read(name: str, value: Any) -> tuple[Any, bool]:
    """A stored value, and whether it could be read; one bad row must not hide the others."""
    shape: Any = _SHAPES.get(name, object)
    empty: Any = 0 if name == "seed" else {} if shape is dict else ()
    try:
        found: Any = json.loads(value) if name in _JSON else int(value) if name == "seed" else value
    except (ValueError, TypeError):
        return empty, False
    if not isinstance(found, shape):
        return empty, False
    return (tuple(found) if name == "key_columns" else found), True
