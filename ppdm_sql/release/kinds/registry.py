"""The kinds of releases there are, found by a statement or by a record.  A kind is imported when it is asked for."""

from __future__ import annotations

import importlib
from typing import cast

from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.errors import PpdmError
from ppdm_sql.release.kinds.base import Publication, ReleaseKind

# Each module has its KIND.  A kind that narrows another one stands before it.
MODULES = [
    "ppdm_sql.release.kinds.model",
    "ppdm_sql.release.kinds.pseudo_data",
    "ppdm_sql.release.kinds.projections",
    "ppdm_sql.release.kinds.live_view",
    "ppdm_sql.release.kinds.growing",
    "ppdm_sql.release.kinds.stored",
]


def release_kinds() -> list[ReleaseKind]:
    return [cast(ReleaseKind, importlib.import_module(name).KIND) for name in MODULES]


def kind_of_statement(statement: Publication) -> ReleaseKind:
    """The kind of release that a statement makes."""
    return next(kind for kind in release_kinds() if kind.takes(statement))


def kind_of(record: ReleaseRecord) -> ReleaseKind:
    """The kind of a release in the catalog."""
    for kind in release_kinds():
        if kind.describes(record):
            return kind
    raise PpdmError(f"release {record.name}: this version has no kind of release {record.kind}")
