"""Risk with sampling weights: a row is one of the people for whom the rows of its class stand.

The weights of a class add up to an estimate of its size in the population.  A journalist, who does not know who is in
the sample, then finds a row with a probability of 1 / that sum.  These figures decide nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from ppdm_sql.catalog.manifest import WeightedRiskRecord
from ppdm_sql.checks.class_table import printed_column, subquery
from ppdm_sql.engines.base import ColumnInfo, Engine
from ppdm_sql.source.encode import canonical
from ppdm_sql.source.weights import exact_weight
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import Name, aliased

_WEIGHT = "ppdm_weight"


@dataclass(frozen=True)
class WeightedRisk:
    """People for whom the rows stand; the highest risk of a row and the mean over rows, with weights and without."""

    population: Fraction
    highest: Fraction
    average: float
    unweighted_highest: Fraction
    unweighted_average: Fraction

    def to_record(self) -> WeightedRiskRecord:
        """What a manifest says of it."""
        return WeightedRiskRecord(
            population=f"{float(self.population):.10g}",
            highest=_text(self.highest),
            average=_text(self.average),
            unweighted_highest=_text(self.unweighted_highest),
            unweighted_average=_text(self.unweighted_average),
        )


def weighted_risk(
    engine: Engine, relation: Name, quasi: Sequence[ColumnInfo], weight: ColumnInfo
) -> WeightedRisk | None:
    """The risk of a relation whose rows have weights; None for one without rows."""
    names = [f"ppdm_q{number}" for number in range(len(quasi))]
    picked = [
        aliased(canonical(engine, printed_column(info), "r"), name) for info, name in zip(quasi, names, strict=True)
    ]
    rows = exp.Select(expressions=[*picked, aliased(exact_weight(weight, "r"), _WEIGHT)]).from_(relation.table("r"))
    source = subquery(rows, "ppdm_rows")
    query = statement("release/weighted_risk", {"source": source}, {"quasi": names})
    count, classes, smallest, fewest, people, found = engine.fetch_one(query)
    if not count:
        return None
    return WeightedRisk(
        population=Fraction(people),
        highest=1 / Fraction(fewest),
        average=float(found) / int(count),
        unweighted_highest=Fraction(1, int(smallest)),
        unweighted_average=Fraction(int(classes), int(count)),
    )


def _text(share: Fraction | float) -> str:
    return f"{float(share):.4g}"
