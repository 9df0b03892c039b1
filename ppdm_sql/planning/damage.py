"""Whether the record of a release can be read at all: its columns are JSON that somebody may have edited."""

from __future__ import annotations

from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError, Tampered
from ppdm_sql.planning.manifest import typed
from ppdm_sql.policy.stored_requirements import requirements

_FINDING = ("requirement", "column", "achieved", "holds", "breaching_classes", "breaching_rows")
DAMAGED = "its rows in the catalog are damaged"


def is_damaged(record: ReleaseRecord) -> bool:
    """Whether something is missing in it that every later use of the release needs."""
    if record.unreadable:
        return True
    try:
        _read(record)
    except (LookupError, TypeError, ValueError, AttributeError, PolicyError):
        return True
    return False


def refuse_damaged(record: ReleaseRecord) -> None:
    if is_damaged(record):
        raise Tampered(f"release {record.name}: {DAMAGED}; publish it anew, or withdraw it with DROP RELEASE")


def _read(record: ReleaseRecord) -> None:
    """Reads what verifying, exporting and joint measures read; raises where that is not there."""
    manifest, roles = record.manifest, record.roles
    _ = manifest["release"]["name"], [finding[word] for finding in manifest["findings"] for word in _FINDING]
    _ = list(roles["quasi"]), roles["entity"], roles["levels"].keys()
    made = manifest.get("pseudo_data")
    if made is not None:
        _ = made["model"]
    if record.requirements or made is None:  # only pseudo-data has none
        requirements(record.requirements)
    for kind in roles["sensitive"].values():
        Kind(kind)
    typed(record.columns)
