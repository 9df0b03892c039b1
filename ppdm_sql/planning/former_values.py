"""What was published of rows before they changed.

A row that is published again (changed = again) has had other sensitive values, and recipients hold them.  Anyone who
can link its versions, by an INSENSITIVE column that differs in nearly every row, divides the rows of a former cohort by
where they are now.  So a requirement about sensitive values counts for every version of the rows of a cohort, and for
every part of it that leaves.

The former values stay in the table of rows while the row is out under other ones, and are overwritten when it leaves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlglot import exp

from ppdm_sql.catalog.growth import rows_name
from ppdm_sql.catalog.manifest import GrowthRecord
from ppdm_sql.cells.cells import CellColumn, Cells
from ppdm_sql.engines.base import ColumnInfo, Engine
from ppdm_sql.methods.late_rows import FormerColumn
from ppdm_sql.methods.shared.limits import Secret
from ppdm_sql.planning.cohorts import COHORT, ROW
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import Name, aliased, column

VERSION = "ppdm_version"  # of a row that is out: -1 as it is now; else the part in which an earlier one left
NUMBER = "ppdm_number"
_NOW = -1


def every_version(parts: Name, growth: GrowthRecord, kept: Sequence[str], sensitive: Sequence[str]) -> exp.Query:
    """The rows of parts (with the columns `kept` of those), once for each time that they were published."""

    def picked(version: exp.Expr, alias: str) -> exp.Select:
        told = [*(column(name, "p") for name in kept), aliased(exp.cast(version, "BIGINT"), VERSION)]
        return exp.Select(expressions=[*told, *(column(name, alias) for name in sensitive)]).from_(parts.table("p"))

    same = [exp.EQ(this=column(name, "g"), expression=column(name, "p")) for name in ROW]
    left = exp.Not(this=exp.Is(this=column("ppdm_until", "g"), expression=exp.Null()))
    before = picked(column(COHORT, "g"), "g").join(rows_name(growth.growth_id).table("g"), on=exp.and_(*same, left))
    return exp.Union(this=picked(exp.Literal.number(_NOW), "p"), expression=before, distinct=False)


@dataclass(frozen=True)
class FormerVersions:
    """The former versions of rows that could be published again, as further columns of the late rows."""

    rows: Name | None  # as growing_former.sql gives them
    sensitive: tuple[str, ...]
    versions: Mapping[int, int]  # part that leaves -> how often its rows were published

    @classmethod
    def find(cls, engine: Engine, leaving: Name, growth: GrowthRecord, sensitive: Sequence[str]) -> FormerVersions:
        tables = {"leaving": leaving.table(), "grown": rows_name(growth.growth_id).table()}
        rows = engine.work.table("former", statement("release/growing_former", tables), analyze=True)
        most = exp.Select(expressions=[column(NUMBER), exp.Max(this=column(VERSION))]).from_(rows.table())
        counted = engine.fetch(most.group_by(column(NUMBER)))
        return cls(rows, tuple(sensitive), {int(number): int(times) for number, times in counted})

    @classmethod
    def none(cls) -> FormerVersions:
        return cls(None, (), {})

    @property
    def columns(self) -> dict[str, tuple[int, str]]:
        """Name of a column -> the version that it is of, and the sensitive column."""
        most = max(self.versions.values(), default=0)
        pairs = [(version, place) for version in range(1, most + 1) for place in range(len(self.sensitive))]
        return {f"ppdm_was{version}_{place}": (version, self.sensitive[place]) for version, place in pairs}

    def joined_to(self, query: exp.Select) -> exp.Select:
        """The rows "p" of a query (by their keys) with these columns."""
        if self.rows is None:
            return query
        for version in sorted({version for version, _ in self.columns.values()}):
            alias = f"w{version}"
            same = [exp.EQ(this=column(name, alias), expression=column(name, "p")) for name in ROW]
            same.append(exp.EQ(this=column(NUMBER, alias), expression=column("ppdm_history", "p")))
            same.append(exp.EQ(this=column(VERSION, alias), expression=exp.Literal.number(version)))
            query = query.join(self.rows.table(alias), on=exp.and_(*same), join_type="left")
        values = [aliased(column(of, f"w{version}"), name) for name, (version, of) in self.columns.items()]
        return query.select(*values)

    def infos(self, source: Source) -> dict[str, ColumnInfo]:
        """The columns as those of a source."""
        found = {name: source.info(of) for name, (_, of) in self.columns.items()}
        return {name: replace(info, name=name) for name, info in found.items()}

    def read(self, cells: Cells, source: Source, secrets: Sequence[Secret]) -> tuple[FormerColumn, ...]:
        """The former values of every cell, with what is required of them."""
        by_name = {secret.name: secret for secret in secrets}
        return tuple(
            FormerColumn(
                _as_before(by_name[of], cells[name], counts_null=of in source.nulls_as_value),
                cells[name].codes.astype(np.int64),
                frozenset(number for number, times in self.versions.items() if times >= version),
            )
            for name, (version, of) in self.columns.items()
        )


def _as_before(secret: Secret, values: CellColumn, *, counts_null: bool) -> Secret:
    """The same requirements on the values that a column had."""
    known = len(values.values) + (counts_null and values.null_code is not None)
    return Secret(secret.name, secret.requirements, np.ones(known, dtype=np.int64))
