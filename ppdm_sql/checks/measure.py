"""How a relation stands against its requirements: every figure from as few passes over it as possible.

For k alone: one GROUP BY.  With sensitive columns: look-up tables, one aggregation to cells per sensitive
column, one from cells to classes; everything else reads those two.  Nothing but counts leaves the database.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from ppdm_sql.checks.diversity import (
    confidence_outcome,
    distinct_outcome,
    entropy_outcome,
    recursive_outcome,
    simple_outcome,
)
from ppdm_sql.checks.likeness import check_beta, check_delta, check_enhanced_beta
from ppdm_sql.checks.measurement import Measurement, Sensitive
from ppdm_sql.checks.membership import check_k_map, check_presence
from ppdm_sql.checks.outcome import Outcome, merged_outcome
from ppdm_sql.checks.risk import Risk, risk
from ppdm_sql.checks.size import Bucket, histogram, k_outcome, table_outcome
from ppdm_sql.checks.table_tests import average_of, unique_of
from ppdm_sql.checks.weighted_risk import WeightedRisk, weighted_risk
from ppdm_sql.engines.base import ColumnInfo, Engine
from ppdm_sql.engines.workspace import renumber
from ppdm_sql.errors import PolicyError
from ppdm_sql.requirements import (
    About,
    AlphaShare,
    AverageRisk,
    BetaLikeness,
    Closeness,
    ConfidenceLimit,
    DeltaDisclosure,
    DeltaPresence,
    DistinctDiversity,
    EnhancedLikeness,
    EntropyDiversity,
    EveryAnonymity,
    HookTable,
    KAnonymity,
    MapAnonymity,
    RecursiveDiversity,
    Requirement,
    SetAnonymity,
    SimpleDiversity,
    UniqueShare,
    requirements_about,
)
from ppdm_sql.statements.names import Name

__all__ = ["CHECKS", "Measures", "Outcome", "Sensitive", "measure"]

Check = Callable[[Any, Measurement, Sensitive | None], Outcome]  # a column for a requirement about values, else None
CHECKS: HookTable[Check] = HookTable("checked")


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
    weighted: WeightedRisk | None = None  # with sampling weights, where a column has them

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
            "weighted_risk": None if self.weighted is None else self.weighted.to_record().to_numbers(),
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
    weight: ColumnInfo | None = None,
) -> Measures:
    """Measures a relation as it stands; it changes nothing but its own working tables, which it drops."""
    about_values = requirements_about(requirements, About.VALUES)
    if about_values and not sensitive:
        raise PolicyError(f"{about_values[0]} needs a SENSITIVE column")
    # Mistakes come before any work: what a column cannot have, and what has no check.
    asked = {item.info.name: [_for_column(each, item) for each in about_values] for item in sensitive}
    checks = {each: CHECKS.of(each) for each in requirements}
    with engine.workspace(), _statements_of(engine) as statements:
        work = Measurement(engine, relation, quasi, entity, asked)
        # Column by column: the requirements on one column read the same tables.
        by_column = [
            {each: checks[each](_for_column(each, item), work, item) for each in about_values} for item in sensitive
        ]
        outcomes = tuple(
            outcome
            for each in requirements
            for outcome in (
                [found[each] for found in by_column] if each.about is About.VALUES else [checks[each](each, work, None)]
            )
        )
        sizes, k_null = work.sizes(), work.k_null_matches_all()
        weighted = None if weight is None else weighted_risk(engine, relation, quasi, weight)
    return Measures(
        rows=sizes.total_rows,
        classes=sizes.total_classes,
        outcomes=outcomes,
        k=sizes.k,
        k_null_matches_all=k_null,
        risk=risk(sizes),
        histogram=histogram(sizes),
        statements=hashlib.sha256(renumber("\n".join(statements)).encode()).hexdigest(),
        weighted=weighted,
    )


@contextmanager
def _statements_of(engine: Engine) -> Iterator[list[str]]:
    """The statements that the engine runs inside; a listener keeps listening to them."""
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


def _for_column(requirement: Requirement, item: Sensitive) -> Requirement:
    return requirement.for_column(item.info, has_hierarchy=item.hierarchy is not None)


# -- one check per requirement -----------------------------------------------------------------------


def _column(item: Sensitive | None) -> Sensitive:
    assert item is not None  # measure() gives a requirement about values its column
    return item


def _check_k(requirement: KAnonymity, work: Measurement, item: Sensitive | None) -> Outcome:
    return k_outcome(requirement, work.sizes())


def _check_set(requirement: SetAnonymity, work: Measurement, item: Sensitive | None) -> Outcome:
    """K over some of the columns: a measurement of its own."""
    named = requirement.columns(info.name for info in work.quasi)
    some = [info for info in work.quasi if info.name in named]
    return k_outcome(requirement, Measurement(work.engine, work.relation, some, work.entity, {}).sizes())


def _check_every(requirement: EveryAnonymity, work: Measurement, item: Sensitive | None) -> Outcome:
    """K over every m columns: as many measurements as there are sets."""
    infos = {info.name: info for info in work.quasi}
    found = [
        k_outcome(requirement, Measurement(work.engine, work.relation, columns, work.entity, {}).sizes())
        for columns in ([infos[name] for name in names] for names in requirement.sets(infos))
    ]
    return merged_outcome(found)


def _check_average(requirement: AverageRisk, work: Measurement, item: Sensitive | None) -> Outcome:
    return table_outcome(requirement, work.sizes(), average_of(work.sizes()), requirement.limit)


def _check_unique(requirement: UniqueShare, work: Measurement, item: Sensitive | None) -> Outcome:
    achieved = unique_of(work.sizes(), requirement.fraction)
    return table_outcome(requirement, work.sizes(), achieved, requirement.limit, alone=True)


def _check_k_map(requirement: MapAnonymity, work: Measurement, item: Sensitive | None) -> Outcome:
    return check_k_map(requirement, work)


def _check_presence(requirement: DeltaPresence, work: Measurement, item: Sensitive | None) -> Outcome:
    return check_presence(requirement, work)


def _check_distinct(requirement: DistinctDiversity, work: Measurement, item: Sensitive | None) -> Outcome:
    return distinct_outcome(requirement, work.cells(_column(item)), work.profile(_column(item)))


def _check_simple(requirement: SimpleDiversity, work: Measurement, item: Sensitive | None) -> Outcome:
    return simple_outcome(requirement, work.cells(_column(item)), work.profile(_column(item)))


def _check_confidence(requirement: ConfidenceLimit | AlphaShare, work: Measurement, item: Sensitive | None) -> Outcome:
    return confidence_outcome(requirement, work.cells(_column(item)), work.profile(_column(item)))


def _check_recursive(requirement: RecursiveDiversity, work: Measurement, item: Sensitive | None) -> Outcome:
    return recursive_outcome(work.engine, requirement, work.cells(_column(item)), work.profile(_column(item)))


def _check_entropy(requirement: EntropyDiversity, work: Measurement, item: Sensitive | None) -> Outcome:
    return entropy_outcome(work.engine, requirement, work.cells(_column(item)), work.profile(_column(item)))


def _check_closeness(requirement: Closeness, work: Measurement, item: Sensitive | None) -> Outcome:
    return work.closeness(_column(item), requirement)


def _check_beta(requirement: BetaLikeness, work: Measurement, item: Sensitive | None) -> Outcome:
    return check_beta(requirement, work, _column(item))


def _check_enhanced_beta(requirement: EnhancedLikeness, work: Measurement, item: Sensitive | None) -> Outcome:
    return check_enhanced_beta(requirement, work, _column(item))


def _check_delta(requirement: DeltaDisclosure, work: Measurement, item: Sensitive | None) -> Outcome:
    return check_delta(requirement, work, _column(item))


CHECKS.add(KAnonymity, _check_k)
CHECKS.add(SetAnonymity, _check_set)
CHECKS.add(EveryAnonymity, _check_every)
CHECKS.add(AverageRisk, _check_average)
CHECKS.add(UniqueShare, _check_unique)
CHECKS.add(MapAnonymity, _check_k_map)
CHECKS.add(DeltaPresence, _check_presence)
CHECKS.add(DistinctDiversity, _check_distinct)
CHECKS.add(SimpleDiversity, _check_simple)
CHECKS.add(ConfidenceLimit, _check_confidence)
CHECKS.add(RecursiveDiversity, _check_recursive)
CHECKS.add(EntropyDiversity, _check_entropy)
CHECKS.add(Closeness, _check_closeness)
CHECKS.add(AlphaShare, _check_confidence)
CHECKS.add(BetaLikeness, _check_beta)
CHECKS.add(EnhancedLikeness, _check_enhanced_beta)
CHECKS.add(DeltaDisclosure, _check_delta)
