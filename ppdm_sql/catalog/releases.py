"""What was published, from which tables, with which measured result, and what became of it.

Nothing here opens a transaction: a release is recorded inside the one that publishes it, so that the
relation and its record appear together or not at all.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from itertools import groupby
from typing import Any, Literal, get_args

from sqlglot import exp

from ppdm_sql import __version__
from ppdm_sql.catalog.store import append, json_text, new_id, next_number, now, ordered_json_text, sha256_of
from ppdm_sql.engines.base import Engine, Row
from ppdm_sql.errors import EngineError
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import Name, aliased

Event = Literal["replaced", "superseded", "dropped", "exported", "verified", "tampered"]
State = Literal["live", "replaced", "superseded", "dropped"]

_JSON = frozenset({"options", "requirements", "roles", "key_columns", "columns", "manifest"})
_SHAPES: dict[str, type] = {"options": dict, "roles": dict, "manifest": dict, "key_columns": list}
_SALT = "salt"


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

    @property
    def name(self) -> Name:
        return Name(self.schema_name, self.relation_name)


_DERIVED = ("state", "sources", "unreadable")
_STORED = tuple(f.name for f in fields(ReleaseRecord) if f.name not in _DERIVED)


# -- writing ---------------------------------------------------------------------------------------


def record(engine: Engine, release: ReleaseRecord, checks: Sequence[Check] = ()) -> None:
    """Notes a release, its sources and the checks made before it was let out, inside the caller's transaction."""
    if not release.manifest_is_intact:
        raise ValueError("manifest_sha256 is not the sha256 of json_text(manifest)")
    row = {name: _stored(name, getattr(release, name)) for name in _STORED}
    if release.schema_name is None:
        (row["schema_name"],) = engine.fetch_one(statement("catalog/current_schema"))
    append(engine, "release", row, generation=statement("catalog/next_generation"))
    for source in sorted(set(release.sources)):
        append(engine, "release_source", {"release_id": release.release_id, "source": source})
    # Last, because without transactions this event is what makes the release one.
    _add_event(engine, release.release_id, "published", None, checks)


def add_event(
    engine: Engine, release_id: str, event: Event, detail: str | None = None, checks: Sequence[Check] = ()
) -> None:
    """Notes what happened to a release, with the checks of a verification; in the caller's transaction if one is open.

    'replaced': its name shows another release now, but whoever copied it has it still.  'superseded':
    nobody holds it any more, or it says the same as its successor.  Neither these nor 'dropped' can be undone.
    """
    if event not in get_args(Event):
        raise ValueError(f"a release has no event {event!r}")
    _add_event(engine, release_id, event, detail, checks)


def _add_event(engine: Engine, release_id: str, event: str, detail: str | None, checks: Sequence[Check]) -> None:
    event_id = new_id()
    for position, check in enumerate(checks, start=1):
        place = {"event_id": event_id, "position": position, "release_id": release_id}
        append(engine, "release_check", place | vars(check))
    happened = {
        "event_id": event_id,
        "release_id": release_id,
        "event": event,
        "detail": detail,
        "happened_at": now(),
    }
    append(engine, "release_event", happened, seq=next_number("release_event"))


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
    """
    if not sources:
        return []
    given = {f"source_{position}": source for position, source in enumerate(sources)}
    wanted = [exp.select(aliased(exp.cast(exp.Placeholder(this=key), "TEXT"), "source")) for key in given]
    chosen = statement("catalog/releases_from", {"wanted": _all_of(wanted), "naming": _naming()})
    return _releases(engine, chosen, out=not include_gone, **given)


def pseudo_data_out(engine: Engine) -> list[ReleaseRecord]:
    """The pseudo-data that somebody may hold, newest first; the ledger knows no table it was made from."""
    found = _releases(engine, statement("catalog/releases_of_no_query"))
    return [record for record in found if "pseudo_data" in record.manifest]


def listed(engine: Engine, include_gone: bool = False) -> list[ReleaseSummary]:
    """The releases in one line each, newest first; include_gone: also those no name shows any more."""
    rows = engine.fetch(statement("catalog/releases_listed"), live=not include_gone)
    names = [f.name for f in fields(ReleaseSummary)]
    return [_summary({name: _read(name, value)[0] for name, value in zip(names, row, strict=True)}) for row in rows]


def _summary(values: dict[str, Any]) -> ReleaseSummary:
    asked = values.pop("requirements")
    texts = [str(item) for item in asked] if isinstance(asked, list) else []  # somebody may have edited them
    return ReleaseSummary(**values, requirements=texts)


def events(engine: Engine, release_id: str) -> list[ReleaseEvent]:
    """What happened to a release, oldest first."""
    return [ReleaseEvent(*row) for row in engine.fetch(statement("catalog/release_events"), release_id=release_id)]


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


# -- the database as a whole -----------------------------------------------------------------------


def salt(engine: Engine) -> str:
    """The random key of this database's link tables, 64 hexadecimal digits, drawn at the first call.

    Call it before a transaction is opened: if two processes draw it at once, one of them is refused by
    the key of ppdm.setting and takes what the other drew.
    """
    known = _setting(engine, _SALT)
    if known is not None:
        return known
    try:
        append(engine, "setting", {"name": _SALT, "value": secrets.token_hex(32), "set_at": now()})
    except EngineError:
        if _setting(engine, _SALT) is None:
            raise
    drawn = _setting(engine, _SALT)
    assert drawn is not None
    return drawn


def known_salt(engine: Engine) -> str | None:
    """The salt, where it was drawn already."""
    return _setting(engine, _SALT)


def _setting(engine: Engine, name: str) -> str | None:
    rows = engine.fetch(statement("catalog/setting"), name=name)
    return rows[0][0] if rows else None
