"""The l-diversities: how many different sensitive values a class holds, and how evenly.

f1, f2, ... are the frequencies of the sensitive values of a class in falling order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from ppdm_sql.requirements.base import (
    About,
    Figure,
    Requirement,
    ordinal,
    rounded_text,
    share_text,
)
from ppdm_sql.requirements.declared import ExactNumber, WholeNumber, decimal

_ONE_VALUE = "with 1 a class may reveal everything"


@dataclass(frozen=True)
class DistinctDiversity(Requirement):
    """Every class holds at least l distinct sensitive values (Machanavajjhala et al. 2007)."""

    word = "distinct_l"
    about = About.VALUES
    example = "distinct_l = 3"
    l: Annotated[int, WholeNumber(2, because=_ONE_VALUE)]

    @property
    def least_rows(self) -> int:
        return self.l

    def promise(self, members: str) -> str:
        return f"every class has at least {self.l} different values"

    def figure(self, counts: Sequence[int]) -> Figure:
        return Fraction(len(counts))


@dataclass(frozen=True)
class SimpleDiversity(Requirement):
    """The most frequent sensitive value of a class has at most 1/l of its rows: f1 * l <= size."""

    word = "simple_l"
    about = About.VALUES
    example = "simple_l = 2"
    l: Annotated[Fraction, ExactNumber(1, because=_ONE_VALUE)]

    @property
    def least_rows(self) -> int:
        return math.ceil(self.l)

    def promise(self, members: str) -> str:
        return f"no value makes up more than {share_text(1 / self.l)} of a class"

    def figure(self, counts: Sequence[int]) -> Figure:
        return Fraction(sum(counts), counts[0])


@dataclass(frozen=True)
class RecursiveDiversity(Requirement):
    """f1 < c * (f_l + ... + f_m), frequencies in falling order (Machanavajjhala et al. 2007)."""

    word = "recursive_l"
    about = About.VALUES
    example = "recursive_l = (3, 2)"
    smaller_is_stricter = True
    c: Annotated[Fraction, ExactNumber(0)]
    l: Annotated[int, WholeNumber(2)]

    @property
    def least_rows(self) -> int:
        return self.l

    def promise(self, members: str) -> str:
        """The definition in words.

        >>> RecursiveDiversity(Fraction(3), 2).promise("rows")  # doctest: +NORMALIZE_WHITESPACE
        'the most frequent value occurs less than 3 times as often as the 2nd most frequent and all rarer values
        together'
        """
        return (
            f"the most frequent value occurs less than {decimal(self.c)} times as often as the {ordinal(self.l)} most "
            "frequent and all rarer values together"
        )

    def figure(self, counts: Sequence[int]) -> Figure:
        tail = sum(counts[self.l - 1 :])
        return Fraction(counts[0], tail) if tail else math.inf

    def achieved_text(self, achieved: Figure) -> str:
        """The c that just fails.

        >>> RecursiveDiversity(Fraction(3), 2).achieved_text(Fraction(7, 3))
        'recursive_l = (2.3334, 2) just fails'
        """
        if achieved is None:
            return super().achieved_text(achieved)
        if math.isinf(achieved):
            return f"fewer than {self.l} values"
        return f"recursive_l = ({rounded_text(achieved, up=True)}, {self.l}) just fails"


@dataclass(frozen=True)
class EntropyDiversity(Requirement):
    """The entropy of every class is at least log(l) (Machanavajjhala et al. 2007)."""

    word = "entropy_l"
    about = About.VALUES
    example = "entropy_l = 2"
    decided_in_sql = False
    l: Annotated[Fraction, ExactNumber(1, because=_ONE_VALUE)]

    @property
    def least_rows(self) -> int:
        return math.ceil(self.l)

    def promise(self, members: str) -> str:
        return f"the values of a class are as uncertain as {decimal(self.l)} equally frequent ones"

    def figure(self, counts: Sequence[int]) -> Figure:
        size = sum(counts)
        return math.exp(-sum(count / size * math.log(count / size) for count in counts))
