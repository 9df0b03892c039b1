"""The lock of the ledger, and the chain of hashes that shows what was edited in it later.

Whatever changes what is out (a publication, EXPORT, DROP RELEASE, VERIFY) does its work inside `lock_ledger`.  Nobody
else can then change the ledger between the reading and the writing.

Every event of a release and every reader adds an entry to ppdm.ledger_entry with the sha256 of the rows that belong to
it.  The entry of a publication also covers the release, its sources and its link table.  The hash of an entry is an
HMAC over the entry and the hash before it.  The chain begins with a seal, which covers what was there already.
It finds rows that were added, edited or deleted by anyone who does not know how the chain is made.  Anyone who can
write schema ppdm and read the salt can make a new chain (docs/catalog.md).
"""

from __future__ import annotations

import hashlib
import hmac
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlglot import exp

from ppdm_sql.catalog import migrate
from ppdm_sql.catalog.ledger_words import row_name
from ppdm_sql.catalog.salt import known_salt, note_salt, salt
from ppdm_sql.catalog.store import append, append_all, json_text, now, sha256_of
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import EngineError, PolicyError, Tampered
from ppdm_sql.json_reader import read_json
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import SCHEMA, Name, aliased, column
from ppdm_sql.statements.texts import share

_LOCK = Name(SCHEMA, "ledger")
OUT = Name(SCHEMA, "release_state")  # what is known of what is out, under the lock
LINK = "ppdm_link_"
COMBINATIONS = "ppdm_combinations_"
_SHOWN = 5  # problems that a refusal lists
_ADVICE = (
    "List the edits with ppdm catalog status.  After a review, ppdm catalog seal accepts the catalog in its "
    "present state"
)

# The tables that the chain covers, with the columns that count.
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "release": (
        "release_id", "run_id", "schema_name", "relation_name", "generation", "kind", "algorithm", "options", "seed",
        "requirements", "roles", "source_query", "policy_text", "storage", "key_columns", "k_promised", "rows",
        "classes", "suppressed_rows", "content_hash", "columns", "manifest", "manifest_sha256", "version",
        "published_at",
    ),
    "release_source": ("release_id", "source"),
    "release_event": ("event_id", "release_id", "seq", "event", "detail", "happened_at"),
    "release_check": (
        "event_id", "position", "release_id", "requirement", "sensitive", "asked", "achieved", "breaching_classes",
        "breaching_rows", "holds", "statement_sha256",
    ),
    "release_reader": ("release_id", "role_name", "seen_at"),
}  # fmt: skip
_EVERY_COLUMN = tuple(dict.fromkeys(name for names in _COLUMNS.values() for name in names))
_TYPES: Mapping[str, tuple[str, ...]] = {
    "BIGINT": (
        "generation", "k_promised", "rows", "classes", "suppressed_rows", "seq", "position", "breaching_classes",
        "breaching_rows",
    ),
    "TIMESTAMP": ("published_at", "happened_at", "seen_at"),
    "BOOLEAN": ("holds",),
}  # fmt: skip

Parts = dict[str, str]  # which row -> its sha256


# -- the lock ----------------------------------------------------------------------------------------------


@contextmanager
def lock_ledger(engine: Engine) -> Iterator[None]:
    """A transaction in which nobody else changes the ledger, and which sees all that was changed before.

    Where the caller has the lock already, this is a part of its transaction.
    """
    if engine.holds_lock:
        yield
        return
    migrate.ensure(engine)
    salt(engine)  # drawn outside the transaction
    with engine.lock(_LOCK):
        migrate.note_presence(engine)
        if _head(engine) == (0, None):
            _add_seal(engine, "the chain begins")
        yield


def link_name(release_id: str) -> Name:
    """The table that says which row is in which class of a release."""
    return Name(SCHEMA, f"{LINK}{release_id}")


def combinations_name(release_id: str) -> Name:
    """The table that says which groups of its parts a class of a release consists of, where it has several tables."""
    return Name(SCHEMA, f"{COMBINATIONS}{release_id}")


# -- writing -----------------------------------------------------------------------------------------------


def add_rows(engine: Engine, table: str, rows: Sequence[Mapping[str, Any]]) -> Parts:
    """More rows of a table that the chain covers; the caller hands what this gives to `add_entry`."""
    assert engine.holds_lock, "the ledger is written inside lock_ledger"
    _forget_read(engine)
    append_all(engine, table, rows)
    return {_key(table, row): _digest(table, row) for row in rows}


def add_entry(engine: Engine, release_id: str, parts: Parts, name: str | None = None) -> None:
    """The entry for rows of a release; name: of a publication, which the entry covers with its link table."""
    told: dict[str, Any] = dict(parts)
    if name is not None:
        told |= {"name": name, "link": _link_figures(engine, release_id)}
    _append_entry(engine, release_id, told, None)


def seal(engine: Engine, reason: str) -> None:
    """Accepts the catalog as it is now: a new seal covers it, and says why."""
    with lock_ledger(engine):
        _add_seal(engine, reason)


def next_numbers(engine: Engine, schema: str | None, relation: str) -> tuple[str, int, int]:
    """Schema, generation and number of the event of the next release; read already where the chain was judged."""
    chain: _Chain | None = engine.facts.recall("chain", _LOCK)
    generations: dict[tuple[str, str], int] | None = engine.facts.recall("generations", _LOCK)
    if chain is None or generations is None or not engine.holds_lock:
        row = engine.fetch_one(statement("catalog/next_release"), schema=schema, relation=relation)
        return row[0], row[1], row[2]
    place = schema or chain.schema
    return place, generations.get((place, relation), 0) + 1, chain.event


def _forget_read(engine: Engine) -> None:
    """What was read of the chain and its rows is no longer all there is."""
    engine.facts.discard("chain", _LOCK)
    engine.facts.discard("generations", _LOCK)
    engine.facts.discard("out", OUT)


def _add_seal(engine: Engine, reason: str) -> None:
    present, names = _present(engine)
    links = {name.removeprefix(LINK) for name in engine.relations(SCHEMA) if name.startswith(LINK)}
    covered = {
        release_id: {
            "name": names.get(release_id, release_id),
            "rows": _together(parts),
            "link": _link_figures(engine, release_id) if release_id in links else None,
        }
        for release_id, parts in present.items()
    }
    _append_entry(engine, None, covered, reason)


def _append_entry(engine: Engine, release_id: str | None, rows: Mapping[str, Any], reason: str | None) -> None:
    count, head = _head(engine)
    entry = _Entry(count + 1, release_id, json_text(rows), reason, head, "", now())
    row = vars(entry) | {"hash": entry.expected_hash(_salt(engine))}
    _forget_read(engine)
    append(engine, "ledger_entry", row)
    if engine.updates_in_place:
        written = {"entries": row["number"], "head": row["hash"]}
        changes = [exp.EQ(this=column(key), expression=exp.convert(value)) for key, value in written.items()]
        engine.execute(exp.Update(this=_LOCK.table(), expressions=changes))
    engine.facts.note("head", _LOCK, (row["number"], row["hash"]))


def _head(engine: Engine) -> tuple[int, str | None]:
    """Where the chain goes on: after the last entry that was written, even if it was deleted."""
    return engine.facts.find("head", _LOCK, lambda: _read_head(engine))


def _read_head(engine: Engine) -> tuple[int, str | None]:
    if not engine.updates_in_place:
        newest = engine.fetch(statement("catalog/ledger_newest"))
        return (int(newest[0][0]), newest[0][1]) if newest else (0, None)
    return _read_chain(engine).head


def _salt(engine: Engine) -> str:
    known = known_salt(engine)
    if known is None:
        raise Tampered(f"the salt is missing in {SCHEMA}.setting, so it was deleted; nothing was changed")
    return known


# -- reading -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Entry:
    number: int
    release_id: str | None
    rows: str
    reason: str | None
    previous: str | None
    hash: str
    written_at: datetime

    def expected_hash(self, key: str) -> str:
        told = [self.number, self.release_id, self.rows, self.reason, self.previous, _plain(self.written_at)]
        return hmac.new(key.encode(), json_text(told).encode(), hashlib.sha256).hexdigest()


@dataclass(frozen=True)
class ChainState:
    """The chain for people: how long it is, since when, and what does not fit it."""

    entries: int
    sealed_at: datetime | None
    reason: str | None
    problems: tuple[str, ...]


def is_there(engine: Engine) -> bool:
    return engine.holds_lock or engine.relation_kind(Name(SCHEMA, "ledger_entry")) is not None


def state(engine: Engine) -> ChainState:
    """Reads only.  A catalog that was not yet written by a version with a chain has none."""
    entries = _entries(engine) if is_there(engine) else []
    if not entries and (not is_there(engine) or _head(engine) == (0, None)):
        return ChainState(0, None, None, ())
    first = entries[0] if entries and entries[0].release_id is None else None
    found = (*_chain_problems(engine, entries), *_row_problems(engine, entries))
    last = entries[-1].number if entries else 0
    sealed_at, reason = (None, None) if first is None else (first.written_at, first.reason)
    return ChainState(last, sealed_at, reason, found)


def problems(engine: Engine) -> tuple[str, ...]:
    """What was edited in the ledger since it was written; each in one sentence."""
    return state(engine).problems


def refuse_edited(engine: Engine, what: str) -> None:
    """Refuses to decide anything from a ledger that was edited; what: was to be done ("published")."""
    found = problems(engine)
    if found:
        more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise Tampered(f"the catalog was edited: {'; '.join(found[:_SHOWN])}{more}; nothing was {what}.  {_ADVICE}")


def edited_links(engine: Engine, release_ids: Collection[str]) -> list[str]:
    """Those of the releases whose link table is not as it was written.

    A link table that is gone is not listed: without it a release cannot be compared, and is refused for that.
    """
    if not release_ids or not is_there(engine):
        return []
    written: dict[str, Any] = {}
    for entry in _entries(engine):
        rows = _rows(entry)
        told = rows if entry.release_id is None else {entry.release_id: rows}
        written |= {key: told[key].get("link") or written.get(key) for key in told if key in release_ids}
    there = {key: _link_figures(engine, key) for key, figures in written.items() if figures is not None}
    return [key for key, figures in there.items() if figures is not None and figures != written[key]]


def _entries(engine: Engine) -> list[_Entry]:
    if not engine.updates_in_place:
        return [_Entry(*row) for row in engine.fetch(statement("catalog/ledger_entries"))]
    return engine.facts.find("chain", _LOCK, lambda: _read_chain(engine)).entries


@dataclass(frozen=True)
class _Chain:
    head: tuple[int, str | None]
    entries: list[_Entry]
    schema: str
    event: int


def _read_chain(engine: Engine) -> _Chain:
    """The chain in one statement."""
    rows = engine.fetch(statement("catalog/ledger_chain"))
    ledgers = rows[0][3] if rows else 0
    if ledgers != 1:
        raise Tampered(f"table {_LOCK} has {ledgers} rows instead of one, so it was edited; nothing was changed")
    count, head, known, _, schema, event, *_ = rows[0]
    note_salt(engine, known)
    entries = [_Entry(*row[6:]) for row in rows if row[6] is not None]
    newest = entries[-1].number if entries else 0
    found = _Chain((max(int(count), newest), head), entries, schema, event)
    engine.facts.note("chain", _LOCK, found)
    return found


def _chain_problems(engine: Engine, entries: list[_Entry]) -> Iterator[str]:
    """Entries that are missing or were edited."""
    key = _salt(engine)
    for before, entry in zip([None, *entries], entries, strict=False):
        if before is not None and entry.number != before.number + 1:
            yield f"entries {before.number + 1} to {entry.number - 1} of the ledger are missing"
        elif before is not None and entry.previous != before.hash:
            yield f"entry {entry.number} of the ledger does not follow the one before it"
        if entry.expected_hash(key) != entry.hash:
            yield f"entry {entry.number} of the ledger was edited, or the salt was"
    if not entries or entries[0].release_id is not None:
        yield "the seal at the start of the ledger is missing"
    if engine.updates_in_place:
        count, head = _head(engine)
        last = entries[-1] if entries else None
        if last is None or last.number < count:
            yield f"the newest entries of the ledger are missing: {count} were written"
        elif last.hash != head:
            yield "the newest entry of the ledger is not the one that was written last"


def _row_problems(engine: Engine, entries: list[_Entry]) -> Iterator[str]:
    """Rows that are missing, were edited or were added, release by release."""
    present, named = _present(engine)
    sealed = _rows(entries[0]) if entries and entries[0].release_id is None else {}
    written: dict[str, Parts] = defaultdict(dict)
    for entry in entries:
        if entry.release_id is not None:
            written[entry.release_id] |= _rows(entry)
    for release_id in sorted(present.keys() | sealed.keys() | written.keys()):
        parts, before = present.get(release_id, {}), sealed.get(release_id)
        later = written.get(release_id, {})
        name = later.pop("name", None) or (before or {}).get("name") or named.get(release_id) or release_id
        later.pop("link", None)
        for what in _differences(parts, later):
            yield f'release "{name}": {what}'
        rest = {key: value for key, value in parts.items() if key not in later}
        if before is not None:
            if _together(rest) != before["rows"]:
                yield f'release "{name}": rows from before the seal of the ledger were edited, added or deleted'
        elif rest and (engine.has_transactions or not later):
            # Without transactions a run that was killed leaves a row without its entry.
            yield from (f'release "{name}": {row_name(key)} was not written by ppdm_sql' for key in sorted(rest))


def _differences(parts: Parts, written: Parts) -> Iterator[str]:
    for key, digest in written.items():
        if key not in parts:
            yield f"{row_name(key)} was deleted"
        elif parts[key] != digest:
            yield f"{row_name(key)} was edited"


def _rows(entry: _Entry) -> dict[str, Any]:
    try:
        found = read_json(entry.rows, "the ledger")
    except PolicyError:
        return {}
    return found if isinstance(found, dict) else {}


def _present(engine: Engine) -> tuple[dict[str, Parts], dict[str, str]]:
    """The rows of every release that are there now, and the names of the releases."""
    found: dict[str, Parts] = defaultdict(dict)
    names: dict[str, str] = {}
    generations: dict[tuple[str, str], int] = {}
    for table, row in _every_row(engine):
        found[row["release_id"]][_key(table, row)] = _digest(table, row)
        if table == "release":
            name = (row["schema_name"], row["relation_name"])
            names[row["release_id"]] = f"{name[0]}.{name[1]}"
            generations[name] = max(row["generation"] or 0, generations.get(name, 0))
    engine.facts.note("generations", _LOCK, generations)
    if not engine.has_transactions:  # a release without its event was never finished
        found = {key: parts for key, parts in found.items() if any(word.startswith(_FINISHED) for word in parts)}
    return found, names


_FINISHED = "release_event published "


def _every_row(engine: Engine) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of all tables that the chain covers: in one statement, or table by table."""
    if engine.updates_in_place:
        for table, *values in engine.fetch(_all_rows()):
            yield table, dict(zip(_EVERY_COLUMN, values, strict=True))
        return
    for table, names in _COLUMNS.items():  # a NULL cast to TIMESTAMP would change the type of the moments there
        query = exp.Select(expressions=[column(name) for name in names]).from_(Name(SCHEMA, table).table())
        for read in engine.fetch(query):
            yield table, dict(zip(names, read, strict=True))


@cache
def _all_rows() -> exp.Query:
    """The rows of all tables that the chain covers, in one statement; one tree for everybody: never changed."""
    queries = []
    for table, names in _COLUMNS.items():
        picked = [column(name) if name in names else exp.cast(exp.Null(), _type(name)) for name in _EVERY_COLUMN]
        word = aliased(exp.Literal.string(table), "ppdm_table")
        listed = [aliased(one, name) for one, name in zip(picked, _EVERY_COLUMN, strict=True)]
        queries.append(exp.Select(expressions=[word, *listed]).from_(Name(SCHEMA, table).table()))
    query: exp.Query = exp.union(*queries, distinct=False)
    share(query)
    return query


def _type(name: str) -> str:
    return next((kind for kind, names in _TYPES.items() if name in names), "TEXT")


# -- hashes ------------------------------------------------------------------------------------------------


def _key(table: str, row: Mapping[str, Any]) -> str:
    words = {
        "release": (),
        "release_source": ("source",),
        "release_event": ("event", "event_id"),
        "release_check": ("event_id", "position"),
        "release_reader": ("role_name",),
    }[table]
    return " ".join([table, *(str(row[word]) for word in words)])


def _digest(table: str, row: Mapping[str, Any]) -> str:
    return sha256_of(json_text([_plain(row[name]) for name in _COLUMNS[table]]))


def _plain(value: Any) -> Any:
    return value.isoformat(timespec="microseconds") if isinstance(value, datetime) else value


def _together(parts: Parts) -> str:
    return sha256_of(json_text(parts))


def _link_figures(engine: Engine, release_id: str) -> list[str] | None:
    """What a link table adds up to; None when there is none."""
    link = link_name(release_id)
    if engine.relation_kind(link) is None:
        return None
    try:
        rows = engine.fetch(statement("catalog/link_figures", {"link": link.table()}))
    except EngineError:
        return ["unreadable"]  # its columns are not those of a link table
    return [str(int(value or 0)) for value in rows[0]]
