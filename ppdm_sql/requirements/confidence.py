"""The confidence limit: how sure an attacker can be of a person's sensitive value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from ppdm_sql.requirements.base import About, Figure, Requirement, rounded_text, share_text
from ppdm_sql.requirements.declared import Percentage

WITHOUT_VALUES = "a class without known values"


@dataclass(frozen=True)
class ConfidenceLimit(Requirement):
    """The most frequent sensitive value of a class has at most this share of its rows: f1 / size <= limit (kADET)."""

    word = "confidence"
    about = About.VALUES
    example = "confidence = 85 %"
    smaller_is_stricter = True
    limit: Annotated[Fraction, Percentage("85 %")]

    @property
    def least_rows(self) -> int:
        return math.ceil(1 / self.limit)

    def promise(self, members: str) -> str:
        return f"no value can be guessed with more than {share_text(self.limit)} confidence"

    def figure(self, counts: Sequence[int]) -> Figure:
        return Fraction(counts[0], sum(counts))

    def achieved_text(self, achieved: Figure) -> str:
        """The share in percent.

        >>> ConfidenceLimit(Fraction(1, 2)).achieved_text(Fraction(1, 3))
        'confidence = 33.3334 %'
        """
        if achieved is None:
            return super().achieved_text(achieved)
        if math.isinf(achieved):
            return WITHOUT_VALUES
        return f"{self.word} = {rounded_text(achieved * 100, up=True)} %"
