"""Opening a DuckDB file: only one of ours, and once its lock is free."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import duckdb
from sqlglot import exp

from ppdm_sql.errors import DatabaseUnavailable
from ppdm_sql.statements.names import identifier

Opened = TypeVar("Opened")

_MAGIC = b"DUCK"  # bytes 8..12 of every DuckDB file


def is_unwritable(path: str) -> bool:
    return path != ":memory:" and os.path.exists(path) and not os.access(path, os.W_OK)


def check_file(path: str, *, create: bool) -> None:
    """Refuses what is not ours to open, before DuckDB could touch it."""
    if path == ":memory:":
        return
    file = Path(path)
    try:
        if file.is_dir():
            raise DatabaseUnavailable(f"{path} is a folder, not a database file")
        if not file.exists():
            if create:
                _check_folder(file)
                return
            raise DatabaseUnavailable(f"database {path} does not exist (--create creates it)")
        with file.open("rb") as handle:
            head = handle.read(12)
    except OSError as cause:
        raise DatabaseUnavailable(f"{path} cannot be read: {cause.strerror or type(cause).__name__}") from cause
    if head[8:12] != _MAGIC:
        raise DatabaseUnavailable(f"{path} is not a DuckDB database; it was not changed")


def _check_folder(file: Path) -> None:
    """Refuses to make a database where no file can be made."""
    if not file.parent.is_dir():
        raise DatabaseUnavailable(f"folder {file.parent} for the new database does not exist")
    if not os.access(file.parent, os.W_OK | os.X_OK):
        raise DatabaseUnavailable(f"{file} cannot be created: the folder is not writable")


def connect(
    path: str, read_only: bool, deadline: float, storage_version: str | None = None
) -> duckdb.DuckDBPyConnection:
    """A connection to a file; storage_version: the least DuckDB that can read a file which is made here."""
    config: dict[str, Any] = {"python_enable_replacements": "false"}
    if storage_version is not None:
        config["storage_compatibility_version"] = storage_version
    return open_in_time(path, deadline, lambda: duckdb.connect(path, read_only=read_only, config=config))


def open_in_time(path: str, deadline: float, opening: Callable[[], Opened]) -> Opened:
    """What opening a file gives, once its lock is free."""
    while True:
        try:
            return opening()
        except duckdb.Error as cause:
            lock = re.search(r"lock", str(cause).replace(path, ""), re.IGNORECASE)
            if not lock:
                raise DatabaseUnavailable(
                    f"{path} cannot be opened ({type(cause).__name__}): damaged, or written by a newer DuckDB?"
                ) from cause
            if time.monotonic() >= deadline:
                holder = re.search(r"PID (\d+)", str(cause))
                who = f" by process {holder.group(1)}" if holder else ""
                raise DatabaseUnavailable(
                    f"{path} is locked{who}; gave up waiting (--lock-timeout). Nothing was changed"
                ) from cause
            time.sleep(0.1)


def attachment(path: str, name: str) -> exp.Attach:
    """The statement that opens a file, read-only, next to the database that is open."""
    called = exp.Alias(this=exp.Literal.string(path), alias=identifier(name))
    return exp.Attach(this=called, expressions=[exp.AttachOption(this=exp.Var(this="READ_ONLY"))])
