"""Whether a release can be used at all: its record is JSON in a table that somebody may have edited."""

from __future__ import annotations

from ppdm_sql.catalog.releases import ReleaseRecord, damage_of
from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.stored_requirements import requirements


def is_damaged(record: ReleaseRecord) -> bool:
    """Whether its record cannot be read, or names a requirement that there is none of."""
    if record.is_damaged:
        return True
    if not record.requirements and record.pseudo_data is not None:  # only pseudo-data has none
        return False
    try:
        requirements(record.requirements)
    except PolicyError:
        return True
    return False


def refuse_damaged(record: ReleaseRecord) -> None:
    if is_damaged(record):
        raise damage_of(record)
