"""Ordinary SQL of a policy on its way to the engine: it must not land in schema ppdm, and rights it gives are noted.

So are the tables that it makes by PIVOT: the names of their columns are values, which no message names.
"""

from __future__ import annotations

import re

from ppdm_sql.catalog import migrate
from ppdm_sql.engines.base import Engine, Table
from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.effects import effects_of
from ppdm_sql.release.readers import note_all_readers
from ppdm_sql.source.tables import makes_columns
from ppdm_sql.statements.names import SCHEMA

_RIGHTS = re.compile(r"\b(GRANT|REVOKE|OWNER|PRIVILEGES|DO|CALL)\b", re.IGNORECASE)
_MAKES = re.compile(r"\b(CREATE|ALTER)\b", re.IGNORECASE)
_PIVOTS = re.compile(r"\bPIVOT(_WIDER)?\b", re.IGNORECASE)
_PART = r'(?:"(?:[^"]|"")+"|[\w$]+)'
_MADE = re.compile(rf"\bTABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?(?:{_PART}\s*\.\s*)*({_PART})", re.IGNORECASE)
_LEAVES = re.compile(r"\s*(SET|RESET|USE)\b", re.IGNORECASE)


def pass_on(engine: Engine, text: str) -> Table | None:
    """Runs a statement of the user's own; what it returned, if it returns rows."""
    _refuse_own_path(engine, text)
    rights = engine.has_grants and _RIGHTS.search(text) is not None
    if rights:
        _look_at_rights(engine)  # a REVOKE of columns leaves no trace
    _note_pivoted(engine, text)
    found = engine.pass_through(text)
    if rights:
        _look_at_rights(engine)
    return found


def _refuse_own_path(engine: Engine, text: str) -> None:
    """With schema ppdm on the path its tables need no schema, and nothing would show that they are meant."""
    if SCHEMA in (schema.casefold() for schema in engine.path_schemas()) and not _LEAVES.match(text):
        raise PolicyError(
            f"schema {SCHEMA} is on the search path of this session, so names without a schema can mean the catalog: "
            "set another search path first"
        )


def _note_pivoted(engine: Engine, text: str) -> None:
    """Notes which relations the statement makes whose columns are values, or get their names from such a relation."""
    if _MAKES.search(text) is None:
        return
    effects, known = effects_of(text, engine.dialect), engine.facts.pivoted
    if effects.anything and _PIVOTS.search(text) is not None:  # the parser does not know every form of PIVOT
        known |= {word.strip('"').replace('""', '"').casefold() for word in _MADE.findall(text)}
    elif effects.relations & known or (effects.tree is not None and makes_columns(engine, effects.tree)):
        known |= effects.relations


def _look_at_rights(engine: Engine) -> None:
    if not engine.read_only and not engine.in_transaction and migrate.is_there(engine):
        note_all_readers(engine)
