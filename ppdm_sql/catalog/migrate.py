"""Brings schema ppdm up to date: numbered files, forward only, each with its record in one transaction.

The record is the lock.  Of two processes that migrate at once, the second is stopped by the first
one's relation or row, loses its own transaction, looks again and finds the work done.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Literal

import sqlglot
from sqlglot import exp

from ppdm_sql import __version__, resources
from ppdm_sql.catalog.salt import note_salt
from ppdm_sql.catalog.store import append, now
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import DatabaseUnavailable, EngineError
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import SCHEMA, Name
from ppdm_sql.statements.texts import share, without_places

_FILE = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")
_PATIENCE = 5.0  # seconds for another process to finish the migration it has begun, or to give it up
_PAUSE = 0.05
MIGRATIONS = Name(SCHEMA, "migration")

Comparison = Literal["applied", "pending", "changed", "unknown"]


@dataclass(frozen=True)
class MigrationState:
    """A migration of this version or of this database, and how the two compare."""

    number: int
    name: str
    state: Comparison
    applied_at: datetime | None = None
    version: str | None = None


@dataclass(frozen=True)
class _File:
    number: int
    name: str
    sha256: str
    text: str


@dataclass(frozen=True)
class _Record:
    number: int
    name: str
    sha256: str
    applied_at: datetime
    version: str


def is_there(engine: Engine) -> bool:
    """Whether this database has a catalog at all."""
    return engine.relation_kind(MIGRATIONS) is not None


def status(engine: Engine) -> list[MigrationState]:
    """Every migration known here or there, in order.  Reads only."""
    files = {file.number: file for file in _files()}
    records = _known_records(engine) if is_there(engine) else {}
    return [_state(files.get(number), records.get(number)) for number in sorted(files.keys() | records.keys())]


def migrate(engine: Engine) -> list[int]:
    """Runs what is pending and gives the numbers of what this process ran."""
    return _migrate(engine, _files(), _records(engine) if is_there(engine) else {})


def _migrate(engine: Engine, files: Sequence[_File], records: Mapping[int, _Record]) -> list[int]:
    done = []
    while pending := _pending(files, records):
        engine.check_writable()
        if _apply(engine, pending[0]):
            done.append(pending[0].number)
        records = _records(engine)  # each time: another process may be at the same work
    return done


def ensure(engine: Engine) -> None:
    """Migrates if need be; one query when there is nothing to do, and none after it in the same call."""
    engine.facts.find("current", MIGRATIONS, lambda: _ensure(engine))


def _ensure(engine: Engine) -> None:
    try:
        records = _known_records(engine)
    except EngineError:
        if is_there(engine):
            raise
        records = {}
    files = _files()
    if _pending(files, records):
        _migrate(engine, files, records)
        engine.facts.forget(MIGRATIONS)
    note_presence(engine)


def note_presence(engine: Engine) -> None:
    """Code that has read or locked a table of the catalog need not ask whether there is one."""
    engine.facts.note("kind", MIGRATIONS, "table")


# -- the two sides ---------------------------------------------------------------------------------


def _files() -> list[_File]:
    found = sorted(path for path in _folder().iterdir() if path.suffix == ".sql")
    files = [_read(path) for path in found]
    if [file.number for file in files] != list(range(1, len(files) + 1)):
        raise EngineError(f"the files of {_folder()} are not numbered 0001, 0002, ... without a gap")
    return files


def _folder() -> Path:
    return resources.folder("migrations")


def _read(path: Path) -> _File:
    named = _FILE.fullmatch(path.name)
    if named is None:
        raise EngineError(f"{path} is not named like a migration (0001_what_it_does.sql)")
    # A checkout on Windows has other line ends, but the same migrations.
    content = path.read_bytes().replace(b"\r\n", b"\n")
    return _File(int(named[1]), path.name, hashlib.sha256(content).hexdigest(), content.decode("utf-8"))


def _known_records(engine: Engine) -> dict[int, _Record]:
    return engine.facts.find("records", MIGRATIONS, lambda: _records(engine))


def _records(engine: Engine) -> dict[int, _Record]:
    rows = engine.fetch(statement("catalog/migrations_applied"))
    if engine.has_constraints:  # elsewhere two processes can have drawn a salt, and the first counts
        for salt in {row[-1] for row in rows}:
            note_salt(engine, salt)
    return {row[0]: _Record(*row[:-1]) for row in rows}


def _state(file: _File | None, record: _Record | None) -> MigrationState:
    if record is None:
        assert file is not None
        return MigrationState(file.number, file.name, "pending")
    known: Comparison = "unknown" if file is None else "applied" if file.sha256 == record.sha256 else "changed"
    return MigrationState(record.number, record.name, known, record.applied_at, record.version)


def _pending(files: Sequence[_File], records: Mapping[int, _Record]) -> list[_File]:
    """What is still to run, unless files and database contradict each other: then nothing may run."""
    for record in records.values():
        if record.number > len(files):
            raise DatabaseUnavailable(
                f"this database was migrated by ppdm_sql {record.version} ({record.name}), which is newer than"
                f" {__version__}: upgrade ppdm_sql; nothing was changed"
            )
        if files[record.number - 1].sha256 != record.sha256:
            raise EngineError(
                f"migration {files[record.number - 1].name} was changed after it was applied to this database "
                f"({record.applied_at:%Y-%m-%d}): restore the file and put the change into a new migration"
            )
    pending = [file for file in files if file.number not in records]
    if pending and pending[0].number <= max(records, default=0):
        raise EngineError(
            f"migration {pending[0].name} is missing in {SCHEMA}.migration although later ones are recorded there"
        )
    return pending


# -- running one -----------------------------------------------------------------------------------


def _apply(engine: Engine, file: _File) -> bool:
    """Runs a migration; False when another process got there first."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            _run(engine, file)
        except EngineError as cause:
            if is_there(engine) and file.number in _records(engine):
                return False
            # Refused because of a transaction that is still open, or was until now: it may be given up.
            if not isinstance(cause, DatabaseUnavailable) or time.monotonic() >= deadline:
                raise EngineError(f"migration {file.name} failed: {cause}", sql=cause.sql) from cause
            time.sleep(_PAUSE)
        else:
            return True


def _run(engine: Engine, file: _File) -> None:
    with engine.transaction():
        for tree in _statements(engine, file):
            if not _makes_known_schema(engine, tree):
                engine.execute(tree)
        append(engine, "migration", vars(_Record(file.number, file.name, file.sha256, now(), __version__)))


def _makes_known_schema(engine: Engine, tree: exp.Expr) -> bool:
    """Whether it would make a schema that a DBA made: IF NOT EXISTS, too, needs CREATE on the database."""
    if not engine.has_grants or not isinstance(tree, exp.Create) or tree.args.get("kind") != "SCHEMA":
        return False
    return bool(engine.fetch(statement("catalog/schema_there"), schema=SCHEMA))


def _statements(engine: Engine, file: _File) -> Sequence[exp.Expr]:
    return _trees(file.text, engine.has_transactions, engine.has_constraints)


@cache
def _trees(text: str, has_transactions: bool, has_constraints: bool) -> Sequence[exp.Expr]:
    """The statements of a migration for engines of this kind, the same trees for everybody: read, never changed."""
    trees = [without_places(tree) for tree in sqlglot.parse(text, dialect="duckdb") if tree is not None]
    for tree in trees:
        if not has_transactions and isinstance(tree, exp.Create) and not tree.args.get("replace"):
            tree.set("exists", True)  # the first half may be there, left by a run that was killed
        if not has_constraints:
            _strip_constraints(tree)
        share(tree)
    return trees


def _strip_constraints(tree: exp.Expr) -> None:
    """Leaves names and types: an engine that does not hold a constraint should not pretend to."""
    for schema in list(tree.find_all(exp.Schema)):
        schema.set("expressions", [part for part in schema.expressions if isinstance(part, exp.ColumnDef)])
    for column in tree.find_all(exp.ColumnDef):
        column.set("constraints", [])
