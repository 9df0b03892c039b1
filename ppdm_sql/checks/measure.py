"""How a relation stands against its requirements: every figure from as few passes over it as possible.

For k alone: one GROUP BY.  With sensitive columns: look-up tables, one aggregation to cells per sensitive
column, one from cells to classes; everything else reads those two.  Nothing but counts leaves the database.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from ppdm_sql.checks.class_table import Cells, Coded, coded, make_cells, make_classes
from ppdm_sql.checks.closeness import closeness_outcomes, distance_of, make_reference
from ppdm_sql.checks.diversity import diversity_outcome, profile
from ppdm_sql.checks.nulls import smallest_match
from ppdm_sql.checks.outcome import Outcome
from ppdm_sql.checks.risk import Risk, risk
from ppdm_sql.checks.size import Bucket, Sizes, histogram, k_outcome, sizes_by_columns, sizes_of_classes
from ppdm_sql.engines.base import ColumnInfo, Engine
from ppdm_sql.engines.workspace import renumbered
from ppdm_sql.errors import PolicyError
from ppdm_sql.requirements import Closeness, EntropyDiversity, KAnonymity, Requirement
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.statements.names import Name

__all__ = ["Measures", "Outcome", "Sensitive", "measure"]


@dataclass(frozen=True)
class Sensitive:
    """A column whose value must not be learned; with a hierarchy, closeness is measured along it.

    nulls_as_value: NULL counts as a value of its own; else only known values count.
    """

    info: ColumnInfo
    hierarchy: Hierarchy | None = None
    nulls_as_value: bool = False


@dataclass(frozen=True)
class Measures:
    """Everything that was measured.  k counts persons where an entity was named, else rows.

    k_null_matches_all: the same where NULL may be any value; None where it was not measured (an empty
    relation, persons, or too many combinations of NULLs).  statements: SHA-256 of the statements that ran.
    """

    rows: int
    classes: int
    outcomes: tuple[Outcome, ...]
    k: int | None
    k_null_matches_all: int | None
    risk: Risk
    histogram: tuple[Bucket, ...]
    statements: str

    @property
    def holds(self) -> bool:
        return all(outcome.holds for outcome in self.outcomes)

    def as_json(self) -> dict[str, Any]:
        """Plain numbers, texts, lists and dicts."""
        return {
            "rows": self.rows,
            "classes": self.classes,
            "holds": self.holds,
            "requirements": [outcome.as_json() for outcome in self.outcomes],
            "k": self.k,
            "k_null_matches_all": self.k_null_matches_all,
            "risk": self.risk.as_json(),
            "histogram": [asdict(bucket) for bucket in self.histogram],
            "statements": self.statements,
        }


def measure(
    engine: Engine,
    relation: Name,
    *,
    quasi: Sequence[ColumnInfo],
    sensitive: Sequence[Sensitive],
    requirements: Sequence[Requirement],
    entity: ColumnInfo | None = None,
) -> Measures:
    """Measures a relation as it stands; it changes nothing but its own working tables, which it drops."""
    asked = _resolved(sensitive, requirements)
    with engine.workspace(), _statements_of(engine) as statements:
        work = _Work(engine, relation, quasi, entity)
        found = {item.info.name: work.about(item, asked[item.info.name]) for item in sensitive}
        sizes, k_null = work.sizes()
        outcomes = _in_order(requirements, sensitive, found, sizes)
    return Measures(
        rows=sizes.total_rows,
        classes=sizes.total_classes,
        outcomes=outcomes,
        k=sizes.k,
        k_null_matches_all=k_null,
        risk=risk(sizes),
        histogram=histogram(sizes),
        statements=hashlib.sha256(renumbered("\n".join(statements)).encode()).hexdigest(),
    )


@contextmanager
def _statements_of(engine: Engine) -> Iterator[list[str]]:
    """The statements that the engine runs inside; whoever listens to them goes on listening."""
    statements: list[str] = []
    before = engine.on_statement

    def hear(sql: str) -> None:
        statements.append(sql)
        if before is not None:
            before(sql)

    engine.on_statement = hear
    try:
        yield statements
    finally:
        engine.on_statement = before


def _resolved(sensitive: Sequence[Sensitive], requirements: Sequence[Requirement]) -> dict[str, list[Requirement]]:
    """Per sensitive column what is asked of it, distances settled; mistakes come before any work."""
    about_values = [item for item in requirements if not isinstance(item, KAnonymity)]
    if about_values and not sensitive:
        raise PolicyError(f"{about_values[0]} needs a SENSITIVE column")
    return {
        item.info.name: [
            replace(asked, distance=distance_of(asked, item.info, item.hierarchy))
            if isinstance(asked, Closeness)
            else asked
            for asked in about_values
        ]
        for item in sensitive
    }


class _Work:
    """One measurement: look-up tables and classes are made when first needed."""

    def __init__(self, engine: Engine, relation: Name, quasi: Sequence[ColumnInfo], entity: ColumnInfo | None) -> None:
        self._engine, self._relation, self._quasi, self._entity = engine, relation, quasi, entity
        self._coded: Coded | None = None
        self._sizes: Sizes | None = None
        self._k_null: int | None = None

    def about(self, item: Sensitive, asked: Sequence[Requirement]) -> list[Outcome]:
        """The outcomes for one sensitive column."""
        if not asked:
            return []
        engine = self._engine
        entropies = list(dict.fromkeys(each.l for each in asked if isinstance(each, EntropyDiversity)))
        cells = make_cells(
            self._engine, self._codes(), item.info, nulls_as_value=item.nulls_as_value, entropy=bool(entropies)
        )
        if self._entity is None and self._sizes is None:
            self._take_sizes(sizes_of_classes(engine, cells.classes), cells.classes)
        kinds = profile(engine, cells, entropies)
        about_t = self._closeness([each for each in asked if isinstance(each, Closeness)], cells, item.hierarchy)
        return [
            about_t[each] if isinstance(each, Closeness) else diversity_outcome(engine, each, cells, kinds)
            for each in asked
            if not isinstance(each, KAnonymity)
        ]

    def _closeness(
        self, asked: Sequence[Closeness], cells: Cells, hierarchy: Hierarchy | None
    ) -> dict[Closeness, Outcome]:
        """The outcomes by requirement; distances are measured once, whatever number of t is asked."""
        found: dict[Closeness, Outcome] = {}
        for distance in dict.fromkeys(each.distance or "equal" for each in asked):
            alike = [each for each in asked if each.distance == distance]
            rows = self.sizes()[0].total_rows
            reference = make_reference(self._engine, cells, rows, distance, hierarchy)
            outcomes = closeness_outcomes(self._engine, distance, alike, cells, reference)
            found.update(zip(alike, outcomes, strict=True))
        return found

    def sizes(self) -> tuple[Sizes, int | None]:
        """The class sizes, and k where NULL may be any value."""
        if self._sizes is None:
            self._measure_sizes()
        assert self._sizes is not None
        return self._sizes, self._k_null

    def _measure_sizes(self) -> None:
        engine = self._engine
        if self._entity is not None:
            classes = make_classes(self._engine, self._codes(), self._entity)
            self._sizes = sizes_of_classes(engine, classes, by_entity=True)
            return
        sizes, has_nulls = sizes_by_columns(engine, self._relation, self._quasi)
        self._take_sizes(sizes, make_classes(self._engine, self._codes()) if has_nulls else None)

    def _take_sizes(self, sizes: Sizes, classes: Name | None) -> None:
        self._sizes, self._k_null = sizes, sizes.k
        holes = classes is not None and any(d.lookup.null_code is not None for d in self._codes().key.digits)
        if holes and classes is not None:
            self._k_null = smallest_match(self._engine, self._codes().key, classes, sizes.total_classes)

    def _codes(self) -> Coded:
        if self._coded is None:
            self._coded = coded(self._engine, self._relation, self._quasi)
        return self._coded


def _in_order(
    requirements: Sequence[Requirement],
    sensitive: Sequence[Sensitive],
    found: dict[str, list[Outcome]],
    sizes: Sizes,
) -> tuple[Outcome, ...]:
    """Outcomes in the order of the requirements, each for every sensitive column it is about."""
    waiting = {name: iter(outcomes) for name, outcomes in found.items()}
    outcomes: list[Outcome] = []
    for requirement in requirements:
        if isinstance(requirement, KAnonymity):
            outcomes.append(k_outcome(requirement, sizes))
        else:
            outcomes.extend(next(waiting[item.info.name]) for item in sensitive)
    return tuple(outcomes)
