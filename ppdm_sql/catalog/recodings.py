"""The recoding of a release: one JSON document that is written with it and never changed.

The roles of the release have its hash, and the chain of the ledger covers the roles.
"""

from __future__ import annotations

from typing import Any

from ppdm_sql.catalog.json_record import JsonRecord
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.catalog.store import append, ordered_json_text, sha256_of
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import Tampered
from ppdm_sql.json_reader import read_json
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import SCHEMA, Name

_LARGEST = 1024 * 1024 * 1024  # bytes


def recoding_text(rules: JsonRecord | None) -> str | None:
    return None if rules is None else ordered_json_text(rules.to_json())


def keep_recoding(engine: Engine, record: ReleaseRecord, text: str) -> None:
    """Keeps the text whose hash the roles have."""
    append(engine, "release_recoding", {"release_id": record.release_id, "body": text})


def find_recoding(engine: Engine, record: ReleaseRecord) -> Any | None:
    """The document of a release; None for one that has none.  Refused where it is not the one that was written.

    Every night of a growing release has the recoding of the first one.
    """
    found, growing = [], record.roles.growing
    first = record.release_id if growing is None else growing.growth_id
    if engine.relation_kind(Name(SCHEMA, "release_recoding")) is not None:  # not in a database of an earlier version
        found = engine.fetch(statement("catalog/release_recoding"), release_id=first)
    expected = record.roles.recoding_sha256  # None: an earlier version did not keep it, or there is no recoding
    if expected is not None and [sha256_of(text) for (text,) in found] != [expected]:
        raise Tampered(
            f"the recoding of {record.name} in the catalog (ppdm.release_recoding) is not the one that was published; "
            "publish the release again"
        )
    return read_json(found[0][0], "the recoding in the catalog", most=_LARGEST) if found else None
