"""What an attacker learns from a class beyond the whole table: (alpha, k), two beta-likenesses, delta-disclosure.

q is the share of a sensitive value in a class, p its share in the whole table; both among the known values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from ppdm_sql.requirements.base import About, Figure, Requirement, rounded_text, share_text
from ppdm_sql.requirements.confidence import WITHOUT_VALUES
from ppdm_sql.requirements.declared import ExactNumber, decimal

WITHOUT_LIMIT = "a class that no beta suffices for: a frequent value is far more frequent there, or no value is known"


@dataclass(frozen=True)
class AlphaShare(Requirement):
    """No value has more than the share alpha of a class: q <= alpha ((alpha, k)-anonymity, Wong et al. 2006)."""

    word = "alpha"
    about = About.VALUES
    example = "alpha = 0.5"
    smaller_is_stricter = True
    alpha: Annotated[Fraction, ExactNumber(0, 1, because="a share of the class")]

    @property
    def limit(self) -> Fraction:
        """The same number as a confidence limit calls it."""
        return self.alpha

    @property
    def least_rows(self) -> int:
        return math.ceil(1 / self.alpha)

    def promise(self, members: str) -> str:
        return f"no value has more than {share_text(self.alpha)} of a class"

    def figure(self, counts: Sequence[int]) -> Figure:
        return Fraction(counts[0], sum(counts))

    def achieved_text(self, achieved: Figure) -> str:
        return WITHOUT_VALUES if _is_infinite(achieved) else super().achieved_text(achieved)


@dataclass(frozen=True)
class BetaLikeness(Requirement):
    """No value is much more frequent in a class than in the table: (q - p) / p <= beta (Cao and Karras 2012, basic)."""

    word = "beta"
    about = About.VALUES
    example = "beta = 1"
    smaller_is_stricter = True
    compares_with_table = True
    beta: Annotated[Fraction, ExactNumber(0, because="0 would require exactly the table's distribution in every class")]

    def promise(self, members: str) -> str:
        return f"no value is more than {decimal(1 + self.beta)} times as frequent in a class as in the whole table"

    def figure(self, counts: Sequence[int]) -> Figure:
        """Of the whole table taken as one class."""
        return Fraction(0)

    def achieved_text(self, achieved: Figure) -> str:
        return WITHOUT_VALUES if _is_infinite(achieved) else super().achieved_text(achieved)


@dataclass(frozen=True)
class EnhancedLikeness(Requirement):
    """(q - p) / p <= min(beta, -ln p) for every value (Cao and Karras 2012, enhanced).

    The second limit holds frequent values down, for which q = 1 is less than beta times p above p.  A logarithm of a
    fraction below 1 is irrational: (q - p) / p never lies on it, and a fraction next to it decides exactly.  A value
    that everybody has (p = 1) has q = 1 in every class and never breaks it.
    """

    word = "enhanced_beta"
    about = About.VALUES
    example = "enhanced_beta = 1"
    smaller_is_stricter = True
    compares_with_table = True
    decided_in_sql = False
    beta: Annotated[Fraction, ExactNumber(0, because="0 would require exactly the table's distribution in every class")]

    def promise(self, members: str) -> str:
        return (
            f"no value is more than {decimal(1 + self.beta)} times as frequent in a class as in the whole table, and "
            "a frequent value less: at most 1 - ln p times, where p is its share in the table"
        )

    def figure(self, counts: Sequence[int]) -> Figure:
        return Fraction(0)

    def achieved_text(self, achieved: Figure) -> str:
        return WITHOUT_LIMIT if _is_infinite(achieved) else super().achieved_text(achieved)


@dataclass(frozen=True)
class DeltaDisclosure(Requirement):
    """Every value is in every class, about as often as in the table: |ln(q / p)| < delta (Brickell, Shmatikov 2008).

    A value that a class lacks has q = 0 and breaks it.  e^delta is irrational for every legal delta: q / p never
    lies on the bound, and a fraction next to it decides exactly.
    """

    word = "delta"
    about = About.VALUES
    example = "delta = 1"
    smaller_is_stricter = True
    compares_with_table = True
    delta: Annotated[Fraction, ExactNumber(0, 10, because="e^10 is 22,026 times as frequent as in the table")]

    def promise(self, members: str) -> str:
        times = rounded_text(math.exp(self.delta), up=True)
        return f"every value is in every class, at most {times} times as frequent or as rare as in the whole table"

    def figure(self, counts: Sequence[int]) -> Figure:
        return Fraction(0)

    def achieved_text(self, achieved: Figure) -> str:
        return "a class that lacks a value" if _is_infinite(achieved) else super().achieved_text(achieved)


def _is_infinite(achieved: Figure) -> bool:
    return achieved is not None and math.isinf(achieved)
