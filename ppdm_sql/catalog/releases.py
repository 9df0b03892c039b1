"""What was published, from which tables, with which measured result, and what became of it.

Nothing here opens a transaction: a release is recorded inside the one that publishes it, so that the
relation and its record appear together or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import cache
from itertools import groupby
from typing import Any, Literal, NoReturn, get_args

from sqlglot import exp

from ppdm_sql import __version__
from ppdm_sql.catalog import ledger
from ppdm_sql.catalog.json_record import Columns, DamagedRecordError, JsonRecord
from ppdm_sql.catalog.manifest import Manifest, PseudoRecord, RolesRecord
from ppdm_sql.catalog.salt import known_salt as known_salt
from ppdm_sql.catalog.salt import salt as salt
from ppdm_sql.catalog.store import check_texts, json_text, new_id, next_number, now, ordered_json_text, sha256_of
from ppdm_sql.engines.base import Engine, Row, Rows
from ppdm_sql.errors import PolicyError, Tampered
from ppdm_sql.json_reader import read_json
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import SCHEMA, Name, aliased
from ppdm_sql.statements.texts import share

Event = Literal["replaced", "superseded", "dropped", "exported", "verified", "tampered"]
State = Literal["live", "replaced", "superseded", "dropped"]

DAMAGED = "its rows in the catalog are damaged"
_NAMES_AT_ONCE = 100


@dataclass(frozen=True)
class _JsonColumns(JsonRecord):
    """The columns of ppdm.release that hold JSON."""

    options: Mapping[str, Any]
    requirements: tuple[str, ...]
    roles: RolesRecord
    key_columns: tuple[str, ...]
    columns: Columns
    manifest: Manifest


@dataclass(frozen=True)
class ReleaseRecord:
    """One publication."""

    release_id: str
    run_id: str
    schema_name: str | None  # None: the engine's current one; a record that was read has it by name
    relation_name: str
    kind: str
    algorithm: str
    options: Mapping[str, Any]
    seed: int
    requirements: tuple[str, ...]
    roles: RolesRecord
    source_query: str
    policy_text: str
    storage: str | None
    key_columns: tuple[str, ...]
    k_promised: int | None
    rows: int | None
    classes: int | None
    suppressed_rows: int | None
    content_hash: str | None
    columns: Mapping[str, str]  # with their types, in the order of the relation
    manifest: Manifest
    manifest_sha256: str
    version: str = __version__
    published_at: datetime = field(default_factory=now)
    state: State = "live"  # follows from the events; not stored
    sources: tuple[str, ...] = ()  # the tables it was made from, as the engine resolved them; in order of name

    @property
    def name(self) -> Name:
        return Name(self.relation_name) if self.schema_name is None else Name(self.schema_name, self.relation_name)

    @property
    def stated_name(self) -> str:
        """The name that its statement gave it."""
        return self.manifest.release.name

    @property
    def is_live(self) -> bool:
        """Whether it is a view that measures its rows at query time."""
        return self.manifest.live

    @property
    def pseudo_data(self) -> PseudoRecord | None:
        """What pseudo-rows were made from; None for everything else."""
        return self.manifest.pseudo_data

    @property
    def is_damaged(self) -> bool:
        """Whether its JSON columns cannot be read; then they can be asked for by nobody."""
        return False

    @property
    def manifest_is_intact(self) -> bool:
        """Whether manifest and manifest_sha256 still belong together."""
        return self.manifest.sha256 == self.manifest_sha256


class DamagedRelease(ReleaseRecord):
    """A release whose JSON columns are not what was written there.

    It can be listed, verified (it does not hold) and withdrawn.  Whatever asks for a JSON column is refused here.
    """

    def __init__(self, manifest_is_intact: bool, readable: Mapping[str, Any]) -> None:
        for name, value in (dict(readable) | {"_manifest_is_intact": manifest_is_intact}).items():
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> NoReturn:
        if name in _JSON:
            raise damage_of(self)
        raise AttributeError(name)

    def __repr__(self) -> str:
        return f"DamagedRelease({self.name})"

    @property
    def stated_name(self) -> str:
        return str(self.name)

    @property
    def is_live(self) -> bool:
        return self.kind == "VIEW" and self.storage is None

    @property
    def pseudo_data(self) -> PseudoRecord | None:
        return None

    @property
    def is_damaged(self) -> bool:
        return True

    @property
    def manifest_is_intact(self) -> bool:
        return bool(vars(self)["_manifest_is_intact"])


def damage_of(release: ReleaseRecord) -> Tampered:
    """The refusal to use a damaged release."""
    return Tampered(f"release {release.name}: {DAMAGED}; publish it again, or withdraw it with DROP RELEASE")


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
    requirements: tuple[str, ...]
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


_DERIVED = ("state", "sources")
_STORED = tuple(f.name for f in fields(ReleaseRecord) if f.name not in _DERIVED)
_JSON = frozenset(f.name for f in fields(_JsonColumns) if f.name != "others")


# -- writing ---------------------------------------------------------------------------------------


def record(engine: Engine, release: ReleaseRecord, checks: Sequence[Check] = ()) -> None:
    """Notes a release, its sources and the checks made before it was let out, in the caller's lock of the ledger."""
    if not release.manifest_is_intact:
        raise ValueError("manifest_sha256 is not the sha256 of the manifest")
    row = {name: getattr(release, name) for name in _STORED} | json_columns(release)
    row["seed"] = str(release.seed)
    check_texts("release", row)
    with ledger.lock_ledger(engine):
        place, generation, seq = ledger.next_numbers(engine, release.schema_name, release.relation_name)
        row |= {"schema_name": place, "generation": generation}
        parts = ledger.add_rows(engine, "release", [row])
        sources = [{"release_id": release.release_id, "source": source} for source in sorted(set(release.sources))]
        parts |= ledger.add_rows(engine, "release_source", sources)
        # Last, because without transactions this event is what makes the release one.
        parts |= _add_event(engine, release.release_id, "published", None, checks, seq)
        ledger.add_entry(engine, release.release_id, parts, f"{row['schema_name']}.{row['relation_name']}")


def add_event(
    engine: Engine, release_id: str, event: Event, detail: str | None = None, checks: Sequence[Check] = ()
) -> None:
    """Notes what happened to a release, with the checks of a verification; in the caller's lock if it has one.

    'replaced': its name shows another release now, but copies of it remain.  'superseded':
    no copy of it is left, or it says the same as its successor.  Neither these nor 'dropped' can be undone.
    """
    if event not in get_args(Event):
        raise ValueError(f"a release has no event {event!r}")
    with ledger.lock_ledger(engine):
        (seq,) = engine.fetch_one(next_number("release_event"))
        ledger.add_entry(engine, release_id, _add_event(engine, release_id, event, detail, checks, seq))


def _add_event(
    engine: Engine, release_id: str, event: str, detail: str | None, checks: Sequence[Check], seq: int
) -> ledger.Parts:
    event_id = new_id()
    places = [{"event_id": event_id, "position": 1 + place, "release_id": release_id} for place in range(len(checks))]
    parts = ledger.add_rows(
        engine, "release_check", [place | vars(check) for place, check in zip(places, checks, strict=True)]
    )
    happened = {
        "event_id": event_id,
        "release_id": release_id,
        "seq": seq,
        "event": event,
        "detail": detail,
        "happened_at": now(),
    }
    return parts | ledger.add_rows(engine, "release_event", [happened])


def add_readers(engine: Engine, release_id: str, roles: Sequence[str]) -> None:
    """Notes roles that could read a release; those that are noted already stay as they are."""
    with ledger.lock_ledger(engine):
        known = readers(engine, release_id)
        new = [role for role in dict.fromkeys(roles) if role not in known]
        seen = [{"release_id": release_id, "role_name": role, "seen_at": now()} for role in new]
        parts = ledger.add_rows(engine, "release_reader", seen)
        if parts:
            ledger.add_entry(engine, release_id, parts)


def json_columns(release: ReleaseRecord) -> dict[str, str]:
    """The JSON columns of a release as the catalog stores them."""
    values = _JsonColumns(**{name: getattr(release, name) for name in _JSON}).to_json()
    return {name: ordered_json_text(one) if name == "columns" else json_text(one) for name, one in values.items()}


# -- reading ---------------------------------------------------------------------------------------


def by_id(engine: Engine, release_id: str) -> ReleaseRecord | None:
    found = read_releases(engine, releases_query("catalog/release_by_id"), release_id=release_id)
    return found[0] if found else None


def current(engine: Engine, name: Name) -> ReleaseRecord | None:
    """The newest live release of this name."""
    found = _find_by_name(engine, name, live=True)
    return found[0] if found else None


def of_model(engine: Engine, name: str) -> ReleaseRecord | None:
    """The live release of a model; models have no schema, so it is the one of any schema."""
    found = next((one for one in list_releases(engine) if one.kind == "MODEL" and one.relation_name == name), None)
    return None if found is None else current(engine, found.name)


def history(engine: Engine, name: Name) -> list[ReleaseRecord]:
    """Every release this name ever had, newest first."""
    return _find_by_name(engine, name, live=False)


def live_from(engine: Engine, sources: Sequence[str], *, include_gone: bool = False) -> list[ReleaseRecord]:
    """The releases still out that were made from any of these tables, newest first.

    Out is what a recipient may hold: live or replaced, or dropped after it was exported.  include_gone adds the others.
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
    return read_releases(engine, releases_query("catalog/releases_from", wanted=len(given)), out=out, **given)


def list_releases(engine: Engine, include_gone: bool = False) -> list[ReleaseSummary]:
    """The releases in one line each, newest first; include_gone: also those that no name shows now."""
    rows = engine.fetch(statement("catalog/releases_listed"), live=not include_gone)
    names = [f.name for f in fields(ReleaseSummary) if f.name != "readers"]
    readers_of = _readers_by_release(engine) if engine.has_grants else {}
    found = [dict(zip(names, row, strict=True)) for row in rows]
    return [_summary(one | {"readers": tuple(readers_of.get(one["release_id"], ()))}) for one in found]


def _summary(values: dict[str, Any]) -> ReleaseSummary:
    asked = _json_value(values.pop("requirements"))
    texts = tuple(map(str, asked)) if isinstance(asked, list) else ()  # they may have been edited
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


def _find_by_name(engine: Engine, name: Name, *, live: bool) -> list[ReleaseRecord]:
    return read_releases(
        engine, releases_query("catalog/releases_named"), schema=name.schema, relation=name.last, live=live
    )


@cache
def releases_query(chosen: str, wanted: int = 1) -> exp.Query:
    """The releases that a statement chooses, which may take so many tables; one tree for everybody: never changed."""
    standins = {"naming": statement("catalog/naming").subquery(), "wanted": _wanted(wanted)}
    query = statement("catalog/releases", {"chosen": statement(chosen, standins).subquery()})
    share(query)
    return query


def _wanted(count: int) -> exp.Subquery:
    holes = [exp.cast(exp.Placeholder(this=f"source_{position}"), "TEXT") for position in range(count)]
    queries = [exp.select(aliased(hole, "source")) for hole in holes]
    return (exp.union(*queries, distinct=False) if count > 1 else queries[0]).subquery()


def read_releases(engine: Engine, query: exp.Query, **params: Any) -> list[ReleaseRecord]:
    return records_of(engine.fetch(query, **params))


def records_of(rows: Rows) -> list[ReleaseRecord]:
    return [_release(list(same)) for _, same in groupby(rows, key=lambda row: row[0])]


def _release(rows: Sequence[Row]) -> ReleaseRecord:
    """A release of its rows, which differ in their last column, the source; one bad row must not hide the others."""
    *stored, state, _, _ = rows[0]
    row = dict(zip(_STORED, stored, strict=True))
    texts = {name: row.pop(name) for name in _JSON}
    row |= {"state": state, "sources": tuple(one[-1] for one in rows if one[-1] is not None)}
    values = {name: _json_value(text) for name, text in texts.items()}
    try:
        row["seed"] = int(row["seed"])
        typed = _JsonColumns.from_json(values)
    except (DamagedRecordError, ValueError, TypeError):
        intact = sha256_of(json_text(values["manifest"])) == row["manifest_sha256"]
        return DamagedRelease(intact, row)
    return ReleaseRecord(**row, **{name: getattr(typed, name) for name in _JSON})


def _json_value(text: Any) -> Any:
    """What a stored text says; None, which no column holds, where it is no JSON."""
    try:
        return read_json(text, "the catalog")
    except (PolicyError, TypeError, AttributeError):
        return None
