"""Requirements about a population that an attacker can look up: k-map, and delta-presence.

The population is a table of people, one row each, with the quasi-identifiers of the release; everybody in the release
is in it.  Its rows are counted under the labels that the recoding of the release gives them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from ppdm_sql.requirements.base import About, Figure, Requirement, share_text
from ppdm_sql.requirements.declared import RelationName, Share, WholeNumber
from ppdm_sql.statements.names import Word


class PopulationRequirement(Requirement):
    """What both have in common."""

    about = About.MEMBERSHIP
    of_table = True
    decided_in_sql = False
    population: tuple[Word, ...]


@dataclass(frozen=True)
class MapAnonymity(PopulationRequirement):
    """Every class has the labels of at least k people of the population (Sweeney 2002: k-map)."""

    word = "k_map"
    example = "k_map = 5 IN population"
    k: Annotated[int, WholeNumber(2, because="k_map = 1 holds for every table whose people are in the population")]
    population: Annotated[tuple[Word, ...], RelationName("IN")]

    @property
    def enough_k(self) -> int:
        return self.k

    def promise(self, members: str) -> str:
        return f"every row has the labels of at least {self.k} people of the population"


@dataclass(frozen=True)
class DeltaPresence(PopulationRequirement):
    """Of the people with the same labels, a share between two bounds is in the table (Nergiz, Atzori, Clifton 2007)."""

    word = "presence"
    example = "presence = (0.05, 0.2) IN population"
    smaller_is_stricter = True
    least: Annotated[Fraction, Share()]
    most: Annotated[Fraction, Share()]
    population: Annotated[tuple[Word, ...], RelationName("IN")]

    @property
    def mistake(self) -> str | None:
        return None if self.least < self.most else "the first bound of presence is below the second"

    def promise(self, members: str) -> str:
        return (
            "an attacker who knows a person of the population can be "
            f"{share_text(self.least)} to {share_text(self.most)} sure that the person is in the table"
        )

    def achieved_text(self, achieved: Figure) -> str:
        return "no rows" if achieved is None else f"at most {share_text(Fraction(achieved))} of a group"
