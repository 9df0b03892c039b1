"""How the catalog writes: one row more, never a change.  Ids, times, numbers and JSON are made here."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import PREFIX, SCHEMA, Name, identifier
from ppdm_sql.statements.texts import share

_AS_JSON: dict[str, Any] = {"ensure_ascii": False, "allow_nan": False}  # a DBA reads it, and NaN is no JSON


def append(engine: Engine, table: str, row: Mapping[str, Any], **numbers: exp.Query) -> None:
    """One more row of ppdm.<table>; a number is a column whose value a query gives.

    INSERT ... SELECT rather than VALUES, in which not every engine allows the subquery of a number.
    """
    check_texts(table, row)
    held = {PREFIX + name: value for name, value in row.items()}  # prefixed: a column may be called "statement"
    engine.execute(_insert(table, row, numbers) if numbers else _plain_insert(table, tuple(row)), **held)


def append_all(engine: Engine, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """More rows of ppdm.<table>, all with the same columns, in one statement."""
    if len(rows) == 1:
        append(engine, table, rows[0])
    if len(rows) < 2:
        return
    for row in rows:
        check_texts(table, row)
    columns = exp.Schema(this=Name(SCHEMA, table).table(), expressions=[identifier(name) for name in rows[0]])
    holes = [[exp.Placeholder(this=_hole(name, place)) for name in rows[0]] for place in range(len(rows))]
    values = exp.Values(expressions=[exp.Tuple(expressions=one) for one in holes])
    held = {_hole(name, place): row[name] for place, row in enumerate(rows) for name in rows[0]}
    engine.execute(exp.Insert(this=columns, expression=values), **held)


def _hole(name: str, place: int) -> str:
    return f"{PREFIX}{name}_{place}"


def _insert(table: str, row: Iterable[str], numbers: Mapping[str, exp.Query]) -> exp.Insert:
    values: dict[str, exp.Expr] = {name: exp.Placeholder(this=PREFIX + name) for name in row}
    values |= {name: query.subquery() for name, query in numbers.items()}
    query = exp.Select(expressions=list(values.values()))
    columns = exp.Schema(this=Name(SCHEMA, table).table(), expressions=[identifier(name) for name in values])
    return exp.Insert(this=columns, expression=query)


@cache
def _plain_insert(table: str, columns: tuple[str, ...]) -> exp.Insert:
    """One tree for everybody: it is read, never changed."""
    insert = _insert(table, columns, {})
    share(insert)
    return insert


def next_number(table: str) -> exp.Query:
    """The seq of the next row of ppdm.<table>."""
    return statement("catalog/next_number", {"events": Name(SCHEMA, table).table()})


def check_texts(table: str, row: Mapping[str, Any]) -> None:
    for name, value in row.items():
        _check_text(f"{SCHEMA}.{table}.{name}", value)


def _check_text(place: str, value: object) -> None:
    """Refuses, on every engine alike, the two texts that some engine cannot store."""
    if not isinstance(value, str):
        return
    if "\0" in value:
        raise PolicyError(f"{place} cannot hold a NUL character")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        # The cause would carry the text itself.
        raise PolicyError(f"{place} cannot hold half of a surrogate pair: the text is not valid Unicode") from None


def new_id() -> str:
    """An id that no other process draws, fit to be part of a table's name."""
    return uuid.uuid4().hex


def now() -> datetime:
    """The time in UTC, without time zone: what every engine stores and gives back unchanged."""
    return datetime.now(UTC).replace(tzinfo=None)


def json_text(value: object) -> str:
    """The one text of a JSON value, so that its sha256 means something.

    >>> json_text({"b": [1, None], "a": "é"})
    '{"a": "é", "b": [1, null]}'
    """
    return json.dumps(value, sort_keys=True, **_AS_JSON)


def ordered_json_text(value: object) -> str:
    """The text of a JSON value whose order says something, such as that of columns."""
    return json.dumps(value, **_AS_JSON)


def sha256_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
