"""Everything that is found out about a relation before it has a policy: its columns, their sets, and its risk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from ppdm_sql.checks.population import PopulationRisk, check_fraction, population_risk
from ppdm_sql.checks.risk import Risk, risk
from ppdm_sql.checks.size import Bucket, histogram, sizes_by_columns
from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.profile.column_sets import (
    SAMPLE,
    ColumnSet,
    Determined,
    columns_to_combine,
    determinations,
    equal_groups,
    hash_rows,
    riskiest_sets,
)
from ppdm_sql.profile.columns import ColumnProfile, profile_column
from ppdm_sql.profile.roles import DraftedRole, Role, draft_roles
from ppdm_sql.source.given import columns_named
from ppdm_sql.statements.names import Name
from ppdm_sql.watching import Progress


@dataclass(frozen=True)
class TableProfile:
    """The figures of a relation; nothing in it is a value of the data."""

    name: str
    rows: int
    columns: tuple[ColumnProfile, ...]
    roles: tuple[DraftedRole, ...]
    unmeasured: tuple[str, ...]  # columns of nested types
    sampled: int | None  # rows that column sets were searched on; None: all
    combined: tuple[str, ...]  # the columns that sets were made of
    determined: tuple[Determined, ...]
    sets: dict[int, tuple[ColumnSet, ...]]
    quasi: tuple[str, ...]  # the columns that the risk is measured by
    classes: int
    risk: Risk
    histogram: tuple[Bucket, ...]
    population: PopulationRisk | None

    @property
    def same(self) -> tuple[tuple[str, ...], ...]:
        """Columns that say the same under several names."""
        return tuple(equal_groups(self.determined))

    def as_json(self) -> dict[str, Any]:
        roles = {one.name: one for one in self.roles}
        return {
            "table": self.name,
            "rows": self.rows,
            "columns": [
                {**one.as_json(), "role": roles[one.name].role.value, "reason": roles[one.name].reason}
                for one in self.columns
            ],
            "unmeasured": list(self.unmeasured),
            "determined": [{"by": one.by, "columns": list(one.columns)} for one in self.determined],
            "same": [list(group) for group in self.same],
            "sampled": self.sampled,
            "combined": list(self.combined),
            "sets": {str(size): [one.as_json() for one in found] for size, found in self.sets.items()},
            "quasi": list(self.quasi),
            "classes": self.classes,
            "risk": self.risk.as_json(),
            "histogram": [asdict(bucket) for bucket in self.histogram],
            "population": None if self.population is None else self.population.as_json(),
        }


def profile_columns(
    engine: Engine, relation: Name, progress: Progress
) -> tuple[list[ColumnProfile], list[ColumnInfo]]:  # fmt: skip
    """The figures of every column that can be grouped by, and the columns that cannot."""
    there = engine.columns(relation)
    if not there:
        raise PolicyError(f"{relation} has no columns, or does not exist")
    usable = [info for info in there if info.kind is not Kind.UNSUPPORTED]
    found = []
    for place, info in enumerate(usable):
        progress("columns", place, len(usable))
        found.append(profile_column(engine, relation, info))
    return found, [info for info in there if info.kind is Kind.UNSUPPORTED]


def profile_table(
    engine: Engine, relation: Name, name: str, *, quasi: Sequence[str] = (), fraction: Fraction | None = None,
    sample: int = SAMPLE, progress: Progress,
) -> TableProfile:  # fmt: skip
    """Profiles a relation; quasi: the columns an attacker may know; without any, those that a draft would take."""
    if fraction is not None:
        check_fraction(fraction)
    named = columns_named(engine.columns(relation), "--quasi", quasi)
    columns, unmeasured = profile_columns(engine, relation, progress)
    infos = [one.info for one in columns]
    rows = columns[0].rows if columns else 0
    roles = draft_roles(columns)
    known = named or [one.column.info for one in roles if one.role is Role.QUASI]
    hashed = hash_rows(engine, relation, infos, rows, sample)
    combined = columns_to_combine(columns)
    determined = determinations(engine, relation, hashed, columns, progress)
    sets = riskiest_sets(engine, relation, hashed, infos, combined, rows, progress)
    progress("risk", 0, None)
    sizes, _ = sizes_by_columns(engine, relation, known)
    return TableProfile(
        name, rows, tuple(columns), roles, tuple(info.name for info in unmeasured),
        hashed.rows if hashed.sampled else None, tuple(combined), determined, sets, tuple(info.name for info in known),
        sizes.total_classes, risk(sizes), histogram(sizes),
        population_risk(sizes, fraction) if fraction is not None else None,
    )  # fmt: skip
