"""The settings of a DuckDB connection: all of one that the program opens, the time zone of one that it is given.

A session of DuckDB has the time zone of the machine, and the text of a TIMESTAMPTZ is in that zone.  A release must
not depend on the machine, so every piece of work runs in UTC.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import duckdb
from sqlglot import exp

from ppdm_sql.errors import DatabaseUnavailable

_MEMORY = "50%"  # of the machine's, where no limit is given
_UTC = "UTC"

Given = TypeVar("Given")


def lock_down(
    connection: duckdb.DuckDBPyConnection,
    temp: Path,
    memory_limit: str | None,
    threads: int | None,
    allow: Sequence[str],
) -> None:
    """Sets what a connection of our own may use and read; nothing can be set afterwards."""
    settings: dict[str, Any] = {
        "enable_progress_bar": False,  # it prints to stdout, even into a pipe
        "TimeZone": _UTC,
        "perfect_ht_threshold": 22,  # counting by small codes becomes an array index
        "write_buffer_row_group_count": 1,  # what is stored is written as it comes: five parts of it would be held
        "temp_directory": str(temp),
        "allowed_directories": [str(Path(folder).resolve()) for folder in allow],
        "enable_external_access": False,
        "autoinstall_known_extensions": False,
        "lock_configuration": True,
    }
    limits = {"memory_limit": memory_limit or _MEMORY, "threads": threads}
    for name, value in ({name: limit for name, limit in limits.items() if limit is not None} | settings).items():
        _set(connection, name, value)


@contextmanager
def in_utc(connection: duckdb.DuckDBPyConnection, work: AbstractContextManager[Given]) -> Iterator[Given]:
    """A piece of work in UTC; afterwards the connection has its own time zone again, unless the work set another."""
    before = _zone(connection)
    if before is None or before == _UTC:
        with work as given:
            yield given
        return
    try:
        _set(connection, "TimeZone", _UTC)
    except duckdb.Error as cause:
        raise DatabaseUnavailable(
            f"the time zone of the connection is {before} and cannot be set: SET TimeZone = 'UTC' before its "
            "configuration is locked"
        ) from cause
    try:
        with work as given:
            yield given
    finally:
        if _zone(connection) == _UTC:
            with suppress(duckdb.Error):
                _set(connection, "TimeZone", before)


def _zone(connection: duckdb.DuckDBPyConnection) -> str | None:
    """The time zone; None where it cannot be asked for: there is none, or the transaction has failed."""
    with suppress(duckdb.Error):
        asked = exp.Select(expressions=[exp.func("current_setting", exp.Literal.string("TimeZone"))])
        found = connection.execute(asked.sql("duckdb")).fetchone()
        return None if found is None else str(found[0])
    return None


def _set(connection: duckdb.DuckDBPyConnection, name: str, value: object) -> None:
    setting = exp.SetItem(this=exp.EQ(this=exp.Var(this=name), expression=exp.convert(value)))
    connection.execute(exp.Set(expressions=[setting]).sql("duckdb"))
