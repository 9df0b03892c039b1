"""Notices that a source is no longer what it was when its release was published."""

from __future__ import annotations

from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.columns import without_labels
from ppdm_sql.errors import SchemaDrifted
from ppdm_sql.source.relation import Source


def check_drift(former: ReleaseRecord | None, source: Source) -> None:
    """Refuses a column whose type changed since the former release; a statement that says so is needed.

    New and missing columns show before this: every column needs a role, every role a column.
    """
    if former is None or former.is_damaged:
        return
    before = former.roles.source_columns
    changed = [
        f'column "{name}" was {without_labels(before[name])} and is {info.shape}'
        for name, info in source.query_columns.items()
        if name in before and before[name] != info.declared
    ]
    if changed:
        raise SchemaDrifted(
            f"the source of {former.name} changed since it was published: {'; '.join(changed)}; nothing was "
            "published.  Cast it back in the SELECT, or DROP RELEASE and publish again"
        )
