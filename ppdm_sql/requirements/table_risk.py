"""Requirements on the risk of the whole table: the mean over its rows, and the share of rows that stand alone.

A row's risk is 1 / the size of its class, in rows; with an ENTITY size counts people, and a person in several classes
counts in each of them.  A class of nobody in particular (every ENTITY is NULL) is taken for a person who stands alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from ppdm_sql.requirements.base import About, Figure, Requirement, share_text
from ppdm_sql.requirements.declared import OptionalShare, Percentage

_DIGITS = 10**6  # of an estimate: it is compared as a millionth, rounded up


@dataclass(frozen=True)
class AverageRisk(Requirement):
    """The mean of 1 / size over all rows, which is classes / rows (El Emam and Dankar 2008: marketer risk)."""

    word = "average_risk"
    about = About.SIZE
    example = "average_risk = 5 %"
    smaller_is_stricter = True
    of_table = True
    limit: Annotated[Fraction, Percentage("average_risk = 5 %")]

    @property
    def enough_k(self) -> int:
        return math.ceil(1 / self.limit)

    def promise(self, members: str) -> str:
        return f"an attacker who looks for everybody finds at most {share_text(self.limit)} of the {members} on average"

    def achieved_text(self, achieved: Figure) -> str:
        return _share_achieved(self, achieved)


@dataclass(frozen=True)
class UniqueShare(Requirement):
    """At most this share of the rows is alone in its class (Skinner and Elliot 2002: sample uniqueness).

    With FRACTION the rows are a sample of so much of a population, and the share of the population that is unique is
    estimated, as profile does (Pitman for samples of up to 10 %, Zayatz for larger ones).
    """

    word = "unique"
    about = About.SIZE
    example = "unique = 0.1 %"
    smaller_is_stricter = True
    of_table = True
    limit: Annotated[Fraction, Percentage("unique = 0.1 %")]
    fraction: Annotated[Fraction | None, OptionalShare("FRACTION")] = None

    @property
    def enough_k(self) -> int:
        return 2

    @property
    def falls_with_detail(self) -> bool:
        return self.fraction is None

    @property
    def decided_in_sql(self) -> bool:  # type: ignore[override]
        return self.fraction is None

    def promise(self, members: str) -> str:
        if self.fraction is None:
            return f"at most {share_text(self.limit)} of the {members} are alone with their quasi-identifiers"
        return (
            f"by estimate at most {share_text(self.limit)} of the population, of which the {members} are "
            f"{share_text(self.fraction)}, are unique by their quasi-identifiers"
        )

    def achieved_text(self, achieved: Figure) -> str:
        return _share_achieved(self, achieved)


def _share_achieved(requirement: Requirement, achieved: Figure) -> str:
    return "no rows" if achieved is None else f"{requirement.word} = {share_text(Fraction(achieved))}"


def rounded_estimate(share: float) -> Fraction:
    """An estimate as it is compared: a millionth, rounded up, except for what floating point adds.

    >>> rounded_estimate(0.0123456), rounded_estimate(0.1)
    (Fraction(6173, 500000), Fraction(1, 10))
    """
    return Fraction(math.ceil(share * _DIGITS - 1e-3), _DIGITS)
