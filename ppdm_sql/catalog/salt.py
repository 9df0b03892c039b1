"""The random key of a database: it keys the hashes in the link tables and the chain of the ledger."""

from __future__ import annotations

import secrets

from ppdm_sql.catalog.store import append, now
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import EngineError
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import SCHEMA, Name

_SALT = "salt"
_SETTINGS = Name(SCHEMA, "setting")


def salt(engine: Engine) -> str:
    """The random key of this database, 64 hexadecimal digits, drawn at the first call.

    Call it before a transaction is opened: if two processes draw it at once, one of them is refused by
    the key of ppdm.setting and takes what the other drew.
    """
    known = known_salt(engine)
    if known is not None:
        return known
    try:
        append(engine, "setting", {"name": _SALT, "value": secrets.token_hex(32), "set_at": now()})
    except EngineError:
        if known_salt(engine) is None:
            raise
    drawn = known_salt(engine)
    assert drawn is not None
    return drawn


def known_salt(engine: Engine) -> str | None:
    """The salt, where it was drawn already."""
    known = engine.facts.find("salt", _SETTINGS, lambda: _read_salt(engine))
    if known is None:
        engine.facts.forget(_SETTINGS)  # it may be drawn now
        return None
    engine.hide(known)  # it becomes part of statements, which are shown and logged
    return known


def note_salt(engine: Engine, value: str | None) -> None:
    """Keeps the salt where another statement has read it."""
    if value is not None:
        engine.facts.note("salt", _SETTINGS, str(value))


def _read_salt(engine: Engine) -> str | None:
    rows = engine.fetch(statement("catalog/setting"), name=_SALT)
    return str(rows[0][0]) if rows else None
