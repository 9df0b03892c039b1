"""t-closeness: how far the sensitive values of a class may be from those of the whole table."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Self

from ppdm_sql.engines.base import ColumnInfo
from ppdm_sql.errors import PolicyError
from ppdm_sql.requirements.base import About, Figure, Requirement
from ppdm_sql.requirements.confidence import WITHOUT_VALUES
from ppdm_sql.requirements.declared import ExactNumber, OptionalWord, decimal

DISTANCES = ("equal", "ordered", "hierarchical")


@dataclass(frozen=True)
class Closeness(Requirement):
    """The sensitive values of a class are distributed like the table's, up to t (Li et al. 2007).

    distance: 'equal', 'ordered', 'hierarchical', or None: by the column's type and hierarchy.
    """

    word = "t"
    about = About.VALUES
    example = "t = 0.2"
    smaller_is_stricter = True
    compares_with_table = True
    t: Annotated[Fraction, ExactNumber(0, 1, because="0 would require exactly the table's distribution in every class")]
    distance: Annotated[str | None, OptionalWord("distance", DISTANCES)] = None

    @property
    def follows_hierarchy(self) -> bool:
        return self.distance == "hierarchical"

    @property
    def counts_suffice(self) -> bool:
        return self.distance == "equal"

    def for_column(self, info: ColumnInfo, *, has_hierarchy: bool) -> Self:
        """With the distance that is meant: the one asked for, or the one that goes with the column."""
        if self.distance is None:
            ordered = "ordered" if info.kind.is_ordered else "equal"
            return replace(self, distance="hierarchical" if has_hierarchy else ordered)
        if self.distance not in DISTANCES:
            raise PolicyError(f"{self}: unknown distance; valid distances: {', '.join(DISTANCES)}")
        if self.distance == "ordered" and not info.kind.is_ordered:
            raise PolicyError(f'{self}: column "{info.name}" ({info.kind.value}) has no order; use equal')
        if self.distance == "hierarchical" and not has_hierarchy:
            raise PolicyError(f'{self}: column "{info.name}" has no HIERARCHY')
        return self

    def promise(self, members: str) -> str:
        return f"the values of a class are spread like all values, up to a distance of {decimal(self.t)}"

    def achieved_text(self, achieved: Figure) -> str:
        if achieved is not None and math.isinf(achieved):
            return WITHOUT_VALUES
        return super().achieved_text(achieved)
