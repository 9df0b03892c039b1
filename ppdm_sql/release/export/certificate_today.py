"""The certificate of a release as it stands, for readers of a page about it: nothing is exported for it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from sqlglot import exp

from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.policy.stored_requirements import requirements
from ppdm_sql.release.export.certificate import certificate
from ppdm_sql.release.export.open_file import RELEASE
from ppdm_sql.release.reverify import sensitive_columns
from ppdm_sql.statements.names import Name, column


def certificate_today(engine: Engine, record: ReleaseRecord, file: str) -> str | None:
    """What lies next to the release when it is exported as a DuckDB file; it names no value and no hierarchy."""
    told = [
        item
        for item in (requirements(record.requirements) if record.requirements else ())
        if not item.follows_hierarchy
    ]
    sensitive = sensitive_columns(record.roles.sensitive, {}, record.roles.null_value_columns)
    if any(record.roles.levels.values()):  # a distance along a hierarchy is known to the publisher only
        told = [item for item in told if not item.compares_with_table]
    with contextlib.closing(DuckDBEngine.open(":memory:")) as empty:
        if not load_empty(engine, record.name, record.columns, empty, RELEASE):
            return None
        return certificate(
            empty,
            record.manifest,
            form="duckdb",
            file=file,
            table=record.relation_name,
            asked=told,
            sensitive=sensitive,
        )


def load_empty(engine: Engine, relation: Name, columns: Mapping[str, str], empty: DuckDBEngine, made: Name) -> bool:
    """A table with the columns of a relation and no row; False where they cannot be read."""
    import pyarrow as pa

    picked = exp.Select(expressions=[column(name) for name in columns]).from_(relation.table())
    first = next(iter(engine.batches(picked.limit(1))), None)
    if first is None:
        return False
    empty.load(made, pa.Table.from_batches([], schema=first.schema))
    return True
