"""What a growing release keeps: its recoding in the catalog, and its rows with their cohorts in a table of its own."""

from __future__ import annotations

from typing import Any

from ppdm_sql.catalog.manifest import GrowthRecord
from ppdm_sql.catalog.store import append, json_text, now, sha256_of
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import Tampered
from ppdm_sql.json_reader import read_json
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import SCHEMA, Name

STORAGE = "ppdm_release_"
WAITING = "ppdm_waiting_"
_LARGEST_RECODING = 1 << 30


def rows_name(growth_id: str) -> Name:
    """The table of every row that was ever published."""
    return Name(SCHEMA, f"{STORAGE}{growth_id}")


def waiting_name(growth_id: str) -> Name:
    """The table of the keys of rows that wait."""
    return Name(SCHEMA, f"{WAITING}{growth_id}")


def keep_recoding(engine: Engine, growth_id: str, recoding: dict[str, Any]) -> str:
    """Keeps the recoding of the first night; gives its hash."""
    text = json_text(recoding)
    append(engine, "growth", {"growth_id": growth_id, "recoding": text, "created_at": now()})
    return sha256_of(text)


def read_kept_recoding(engine: Engine, growth: GrowthRecord) -> object:
    """The recoding as it was written; refused where it is not."""
    found = engine.fetch(statement("catalog/growth_recoding"), growth=growth.growth_id)
    if not found or sha256_of(found[0][0]) != growth.recoding_sha256:
        raise Tampered("the recoding of the growing release was edited in the catalog; publish the release again")
    return read_json(found[0][0], "the recoding", most=_LARGEST_RECODING)
