"""Opening a connection without telling the password, and PostgreSQL's errors without telling values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import psycopg

from ppdm_sql.engines.base import Row
from ppdm_sql.errors import DatabaseUnavailable, EngineError

_CONNECT_TIMEOUT = 10  # seconds; the url may say otherwise

# -- errors ----------------------------------------------------------------------------------------------

_SAID = {
    "53100": "the server's disk is full; the transaction was rolled back",
    "53200": "the server ran out of memory; the transaction was rolled back",
    "53300": "the server takes no more connections",
    "55P03": "a relation is locked by another session; waited as long as --lock-timeout says, nothing was done",
    "40001": "the transaction was refused: another one changed the same rows",
    "40P01": "the transaction was refused: it and another one waited for each other",
    "25006": "the database is open read-only",
    "57P01": "the server is shutting down",
    "57P02": "the server crashed; the transaction was rolled back",
    "57P03": "the server is starting up or shutting down",
}


def explanation(cause: psycopg.Error, sql: str) -> EngineError:
    """The error in our words.  PostgreSQL's text is quoted only where it speaks of names, never of values.

    Classes 42 (syntax and names), 3F (schemas) and 2B (others depend on it) speak of the statement;
    DETAIL, HINT and CONTEXT can quote rows and are never shown.
    """
    state = cause.sqlstate or ""
    said = cause.diag.message_primary or ""
    if state in _SAID:
        return DatabaseUnavailable(_SAID[state], sql=sql)
    if state.startswith("08") or (not state and isinstance(cause, psycopg.OperationalError)):
        return DatabaseUnavailable("the connection to the server was lost; the transaction was rolled back", sql=sql)
    if state == "42501":
        return EngineError(f"the database role is not allowed to do this: {said}", sql=sql)
    if state == "57014":
        return EngineError("the statement was cancelled, or took longer than statement_timeout", sql=sql)
    if state == "XX000" and "concurrently" in said:
        return DatabaseUnavailable("the transaction was refused: another one changed the same relation", sql=sql)
    if state.startswith(("42", "3F", "2B")):
        return EngineError(said, sql=sql)
    return EngineError(f"PostgreSQL refused a statement ({type(cause).__name__}, {state or 'before sending'})", sql=sql)


# -- connecting ------------------------------------------------------------------------------------------


def connected(url: str) -> psycopg.Connection[Row]:
    try:
        wanted = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        raise DatabaseUnavailable(_UNREADABLE) from None  # libpq's text quotes pieces of the url
    wanted.setdefault("connect_timeout", _CONNECT_TIMEOUT)
    wanted.setdefault("application_name", "ppdm_sql")
    wanted["client_encoding"] = "UTF8"
    try:
        connection = psycopg.connect(psycopg.conninfo.make_conninfo("", **wanted), autocommit=True)
    except psycopg.Error as cause:
        raise DatabaseUnavailable(f"{_place(wanted)} cannot be opened: {_reason(str(cause))}") from None
    return connection


_UNREADABLE = "the PostgreSQL url cannot be read: @ : / ? # % in a password are written %40 %3A %2F %3F %23 %25"
_REASONS = {
    "password authentication failed": "the password is wrong",
    "no password supplied": "it asks for a password",
    "pg_hba.conf": "the server does not let this user in from here",
    "database .* does not exist": "there is no such database",
    "role .* does not exist": "there is no such role",
    "refused": "nothing answers at this host and port",
    "No such file": "nothing answers at this host and port",
    "resolve host|translate host": "the host is not known",
    "timeout": "it did not answer in time",
    "starting up|shutting down": "the server is starting up or shutting down",
    "too many": "the server takes no more connections",
}


def _reason(text: str) -> str:
    return next((said for pattern, said in _REASONS.items() if re.search(pattern, text)), "the connection failed")


def _place(wanted: Mapping[str, Any]) -> str:
    """Host and database of a url, and nothing at all when a password's @ or / may have slipped into them.

    >>> _place({"host": "db", "user": "u", "password": "secret", "dbname": "clinic"})
    'postgresql://db/clinic'
    >>> _place({"host": "cret@db", "user": "u", "password": "se"})
    'the PostgreSQL url (@ : / ? # % in a password are written %40 %3A %2F %3F %23 %25)'
    """
    host, port, database = (str(wanted.get(key) or "") for key in ("host", "port", "dbname"))
    if "@" in f"{host}{database}{wanted.get('user')}" or re.search(r"[^\d,]", port):
        return "the PostgreSQL url (" + _UNREADABLE.split(": ", 1)[1] + ")"
    return f"postgresql://{host}{':' + port if port else ''}/{database}"
