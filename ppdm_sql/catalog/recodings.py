"""The recoding of a release: one JSON document that is written with it and never changed."""

from __future__ import annotations

from typing import Any

from ppdm_sql.catalog.json_record import JsonRecord
from ppdm_sql.catalog.store import append, ordered_json_text
from ppdm_sql.engines.base import Engine
from ppdm_sql.json_reader import read_json
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import SCHEMA, Name

_LARGEST = 1024 * 1024 * 1024  # bytes


def keep_recoding(engine: Engine, release_id: str, rules: JsonRecord) -> None:
    append(engine, "release_recoding", {"release_id": release_id, "body": ordered_json_text(rules.to_json())})


def find_recoding(engine: Engine, release_id: str) -> Any | None:
    """The document of a release; None for one that has none."""
    if engine.relation_kind(Name(SCHEMA, "release_recoding")) is None:  # a database of an earlier version
        return None
    found = engine.fetch(statement("catalog/release_recoding"), release_id=release_id)
    return read_json(found[0][0], "the recoding in the catalog", most=_LARGEST) if found else None
