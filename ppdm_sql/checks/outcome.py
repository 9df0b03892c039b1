"""What a check found: a requirement and what the relation achieves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ppdm_sql.checks.exact_compare import Integers
from ppdm_sql.requirements import Figure, Requirement


@dataclass(frozen=True)
class Outcome:
    """A requirement, and how the worst class stands.

    achieved: the smallest class for k, the fewest values for distinct_l, the smallest size / f1 for simple_l,
    the smallest exp(entropy) for entropy_l (a float), the largest f1 / tail for recursive_l (the c that is
    just not enough; infinity where a class has fewer than l values), the largest f1 / size for confidence,
    the largest distance for t; size counts the known values.  A class without a known value has 0, and infinity
    for recursive_l, confidence and t.  None for an empty relation, which satisfies nothing.
    """

    requirement: Requirement
    column: str | None
    holds: bool
    achieved: Figure
    breaching_classes: int
    breaching_rows: int
    asked: str
    achieved_text: str

    def as_json(self) -> dict[str, Any]:
        finite = self.achieved is not None and math.isfinite(self.achieved)
        return {
            "requirement": self.asked,
            "column": self.column,
            "holds": self.holds,
            "achieved": float(self.achieved) if finite and self.achieved is not None else None,
            "achieved_exact": str(self.achieved) if isinstance(self.achieved, Fraction) else None,
            "achieved_text": self.achieved_text,
            "breaching_classes": self.breaching_classes,
            "breaching_rows": self.breaching_rows,
        }


def outcome(
    requirement: Requirement, column: str | None, achieved: Figure, classes: Integers, sizes: Integers
) -> Outcome:
    """The outcome, given how many classes of which size break the requirement."""
    breaching = int(classes.sum())
    return Outcome(
        requirement=requirement,
        column=column,
        holds=achieved is not None and breaching == 0,
        achieved=achieved,
        breaching_classes=breaching,
        breaching_rows=int((classes * sizes).sum()),
        asked=str(requirement),
        achieved_text=requirement.achieved_text(achieved),
    )


def merged_outcome(found: Sequence[Outcome]) -> Outcome:
    """One outcome of a requirement that was measured several times: the worst figure, and all breaches."""
    figures = [one.achieved for one in found if one.achieved is not None]
    worst = min(found, key=lambda one: math.inf if one.achieved is None else one.achieved)
    return replace(
        worst,
        holds=bool(figures) and all(one.holds for one in found),
        breaching_classes=sum(one.breaching_classes for one in found),
        breaching_rows=sum(one.breaching_rows for one in found),
    )
