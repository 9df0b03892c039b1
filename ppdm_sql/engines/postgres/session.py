"""Opening a connection without telling the password, and PostgreSQL's errors without telling values.

Names.  A function or operator in any schema of the search path that another role can write into is
code that runs as the DBA (CVE-2018-1058, CVE-2026-2360).  The session therefore works with
search_path = pg_catalog, pg_temp: nothing but PostgreSQL's own functions and operators can be found.
Relations the user names without a schema are looked up along the user's own path, as PostgreSQL would,
and written into the statement with their schema.  Only text the user wrote (pass_through, view_of_text)
runs under the user's path, and a SET search_path in it lasts.

Settings.  What a statement means and how a value is written is pinned (PINNED): when a connection is
taken over, after every text of the user, when a transaction begins, and once more before it commits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

import psycopg

from ppdm_sql.engines.base import Row
from ppdm_sql.errors import DatabaseUnavailable, EngineError, Fault

_CONNECT_TIMEOUT = 10  # seconds; the url may say otherwise

# -- settings --------------------------------------------------------------------------------------------

OWN_PATH = "pg_catalog, pg_temp"
# What the meaning of a statement or the text of a value depends on.  A database, a role, a statement in a policy or a
# function can set each of them otherwise, so they are set and read back at the start and after every text of the user.
PINNED = {
    "search_path": OWN_PATH,
    "standard_conforming_strings": "on",  # off: a backslash in a value would end a literal early
    "backslash_quote": "safe_encoding",
    "client_encoding": "UTF8",
    "transform_null_equals": "off",
    "row_security": "on",
    "session_replication_role": "origin",  # replica: the keys and checks of the catalog would not be enforced
    "quote_all_identifiers": "off",  # on: the text of a view would differ from the one that was noted
    "array_nulls": "on",
    "xmloption": "content",
    "TimeZone": "UTC",
    "DateStyle": "ISO",  # the order of day and month in texts stays the user's
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",  # the shortest text that reads back as the same number
    "bytea_output": "hex",
    "client_min_messages": "warning",
}


def differing_settings(found: Mapping[str, str | None]) -> dict[str, str]:
    """The settings that are not as they must be, with what they must be; one that the server lacks is none.

    >>> differing_settings({"DateStyle": "ISO, DMY", "xmloption": None, "standard_conforming_strings": "off"})
    {'standard_conforming_strings': 'on'}
    """

    def is_as_wanted(name: str, value: str) -> bool:
        return (value.split(",")[0] if name == "DateStyle" else value) == PINNED[name]

    return {name: PINNED[name] for name, value in found.items() if value is not None and not is_as_wanted(name, value)}


# -- errors ----------------------------------------------------------------------------------------------

_SAID = {
    "53200": "the server ran out of memory; the transaction was rolled back",
    "53300": "the server accepts no more connections",
    "55P03": "a relation is locked by another session; gave up waiting (--lock-timeout). Nothing was changed",
    "40001": "the transaction was refused: another one changed the same rows",
    "40P01": "the transaction was refused: it deadlocked with another one",
    "25006": "the database is open read-only",
    "57P01": "the server ended this session (pg_terminate_backend, or a shutdown); the transaction was rolled back",
    "57P02": "the server crashed; the transaction was rolled back",
    "57P03": "the server is starting up or shutting down",
}


def explanation(cause: psycopg.Error, sql: str) -> EngineError:
    """The error in our words.  PostgreSQL's text is quoted only where it speaks of names, never of values.

    Classes 42 (syntax and names), 3F (schemas) and 2B (others depend on it) speak of the statement, unless a function
    raised the error; DETAIL, HINT and CONTEXT can quote rows and are never shown, but for the DETAIL of 2BP01, which
    lists what depends on a relation.
    """
    state = cause.sqlstate or ""
    said = cause.diag.message_primary or ""
    if state == "53100":
        return DatabaseUnavailable(_full_disk(said), sql=sql)
    if state in _SAID:
        return DatabaseUnavailable(_SAID[state], sql=sql)
    if state.startswith("08") or (not state and isinstance(cause, psycopg.OperationalError)):
        return DatabaseUnavailable("the connection to the server was lost; the transaction was rolled back", sql=sql)
    if state.startswith(_OF_NAMES) and not _speaks_of_the_statement(cause, said, sql):
        kind = f"{type(cause).__name__}, {state}"
        return EngineError(
            f"a function that the statement calls failed ({kind}); its message is not shown because it can quote "
            "values",
            sql=sql,
        )
    if state == "42501":
        return EngineError(f"the database role is not allowed to do this: {said}", sql=sql)
    if state == "57014":
        return EngineError("the statement was cancelled, or took longer than statement_timeout", sql=sql)
    if state == "XX000" and "concurrently" in said:
        return DatabaseUnavailable("the transaction was refused: another one changed the same relation", sql=sql)
    if state == "2BP01":
        return EngineError(f"{said}: {_dependents(cause)}. Drop that first, and create it again afterwards", sql=sql)
    if state.startswith(_OF_NAMES):
        return EngineError(said, sql=sql, fault=_fault_of_names(cause, said))
    told = _ABOUT_VALUES.get(state) or (_ABOUT_VALUES["23"] if state.startswith("23") else None)
    told = told or f"PostgreSQL refused a statement ({type(cause).__name__}, {state or 'before sending'})"
    return EngineError(told, sql=sql, fault=_fault_of_values(cause, state, said))


def _dependents(cause: psycopg.Error, most: int = 5) -> str:
    lines = (cause.diag.message_detail or "").splitlines()
    more = [f"and {len(lines) - most:,} more"] if len(lines) > most else []
    return ", ".join([*lines[:most], *more])


_ABOUT_VALUES = {
    "22P02": "a value cannot be converted to the type it is cast to",
    "22007": "a value cannot be converted to the type it is cast to",
    "22008": "a date or time is out of the range of its type",
    "22003": "a number is out of the range of its type",
    "22001": "a text is too long for its type",
    "22012": "division by zero",
    "23": "a constraint of the table is violated",
}
_NAMED = re.compile(r'(?:column|relation) (?:"(?P<quoted>[^"]+)"|(?P<bare>\S+))')


def _fault_of_names(cause: psycopg.Error, said: str) -> Fault:
    """What PostgreSQL says about a name, and where; a place inside a function is none of the statement's."""
    at = cause.diag.statement_position
    offset = int(at) - 1 if at and not cause.diag.internal_query else None
    kind = _KINDS.get(cause.sqlstate or "")
    if kind == "syntax":
        near = re.search(r'at or near "(.+)"$', said)
        return Fault("syntax", near[1] if near else None, offset)
    named = _NAMED.search(said)
    name = (named["quoted"] or named["bare"].rpartition(".")[2]) if named else None
    return Fault(kind or "other", name, offset)


_KINDS: Mapping[str, Literal["syntax", "table", "column"]] = {"42601": "syntax", "42P01": "table", "42703": "column"}


def _fault_of_values(cause: psycopg.Error, state: str, said: str) -> Fault:
    """PostgreSQL names the table and column of a broken constraint apart from its text, which quotes the value."""
    if not state.startswith("23"):
        return Fault("value", detail=said)
    diag = cause.diag
    named = [name for name in (diag.table_name, diag.column_name) if name]
    told = ".".join(named) + (f" ({diag.constraint_name})" if diag.constraint_name else "")
    return Fault("constraint", told or None, detail="; ".join(filter(None, (said, diag.message_detail))))


def _full_disk(said: str) -> str:
    """The file is the server's own, named by numbers.

    >>> _full_disk('could not extend file "base/16384/2619": No space left on device')[:62]
    "the server's disk is full (base/16384/2619 in its data folder)"
    """
    file = re.search(r'"([a-z_]+/[\w./]+)"', said)
    where = f" ({file[1]} in its data folder)" if file else ""
    rolled = "The transaction was rolled back; the database is unchanged"
    return f"the server's disk is full{where}.  {rolled}"


_OF_NAMES = ("42", "3F", "2B")


def _speaks_of_the_statement(cause: psycopg.Error, said: str, sql: str) -> bool:
    """Whether an error of a class that speaks of names was found in the text of the statement, not in a value.

    RAISE in a function can have any code, and dynamic SQL, to_tsquery(x) or x::regclass find mistakes in values.
    PostgreSQL says where in a statement a mistake is; where it does not, the names it quotes must be in the statement.
    """
    diag = cause.diag
    if diag.context or diag.internal_query:
        return False
    if diag.statement_position:
        return True
    if isinstance(cause, psycopg.errors.UndefinedFunction):  # x::regoperator quotes its value without quotes
        return False
    return all(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sql) for name in re.findall(r'"([^"]*)"', said))


# -- connecting ------------------------------------------------------------------------------------------


def open_connection(url: str) -> psycopg.Connection[Row]:
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


_UNREADABLE = "the PostgreSQL URL cannot be parsed: write @ : / ? # % in a password as %40 %3A %2F %3F %23 %25"
_REASONS = {
    "password authentication failed": "the password is wrong",
    "no password supplied": "the server requires a password",
    "pg_hba.conf": "the server does not accept connections of this user from here",
    "database .* does not exist": "the database does not exist",
    "role .* does not exist": "the role does not exist",
    "refused": "no server answers at this host and port",
    "No such file": "no server answers at this host and port",
    "resolve host|translate host": "the host name cannot be resolved",
    "timeout": "the server did not answer in time",
    "starting up|shutting down": "the server is starting up or shutting down",
    "too many": "the server accepts no more connections",
}


def _reason(text: str) -> str:
    return next((said for pattern, said in _REASONS.items() if re.search(pattern, text)), "the connection failed")


def _place(wanted: Mapping[str, Any]) -> str:
    """Host and database of a url, and nothing at all when a password's @ or / may have slipped into them.

    >>> _place({"host": "db", "user": "u", "password": "secret", "dbname": "clinic"})
    'postgresql://db/clinic'
    >>> _place({"host": "cret@db", "user": "u", "password": "se"})
    'the PostgreSQL URL (write @ : / ? # % in a password as %40 %3A %2F %3F %23 %25)'
    """
    host, port, database = (str(wanted.get(key) or "") for key in ("host", "port", "dbname"))
    if "@" in f"{host}{database}{wanted.get('user')}" or re.search(r"[^\d,]", port):
        return "the PostgreSQL URL (" + _UNREADABLE.split(": ", 1)[1] + ")"
    return f"postgresql://{host}{':' + port if port else ''}/{database}"
