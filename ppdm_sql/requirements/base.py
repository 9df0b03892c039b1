"""What a policy can require, as exact numbers.  One class per privacy model, with its source."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar


@dataclass(frozen=True)
class KAnonymity:
    """Every class holds at least k rows, or k distinct entities (Samarati and Sweeney 1998)."""

    word: ClassVar[str] = "k"
    k: int

    def __str__(self) -> str:
        return f"k = {self.k}"


@dataclass(frozen=True)
class DistinctDiversity:
    """Every class holds at least l distinct sensitive values (Machanavajjhala et al. 2007)."""

    word: ClassVar[str] = "distinct_l"
    l: int

    def __str__(self) -> str:
        return f"distinct_l = {self.l}"


@dataclass(frozen=True)
class SimpleDiversity:
    """The most frequent sensitive value of a class has at most 1/l of its rows: f1 * l <= size."""

    word: ClassVar[str] = "simple_l"
    l: Fraction

    def __str__(self) -> str:
        return f"simple_l = {decimal(self.l)}"


@dataclass(frozen=True)
class RecursiveDiversity:
    """f1 < c * (f_l + ... + f_m), frequencies in falling order (Machanavajjhala et al. 2007)."""

    word: ClassVar[str] = "recursive_l"
    c: Fraction
    l: int

    def __str__(self) -> str:
        return f"recursive_l = ({decimal(self.c)}, {self.l})"


@dataclass(frozen=True)
class EntropyDiversity:
    """The entropy of every class is at least log(l) (Machanavajjhala et al. 2007)."""

    word: ClassVar[str] = "entropy_l"
    l: Fraction

    def __str__(self) -> str:
        return f"entropy_l = {decimal(self.l)}"


@dataclass(frozen=True)
class ConfidenceLimit:
    """kADET's way to write an entropy bound: nobody's value is known with more than this confidence."""

    word: ClassVar[str] = "confidence"
    limit: Fraction

    def __str__(self) -> str:
        return f"confidence = {decimal(self.limit * 100)} %"


@dataclass(frozen=True)
class Closeness:
    """The sensitive values of a class are distributed like the table's, up to t (Li et al. 2007).

    distance: 'equal', 'ordered', 'hierarchical', or None: by the column's type and hierarchy.
    """

    word: ClassVar[str] = "t"
    t: Fraction
    distance: str | None = None

    def __str__(self) -> str:
        return f"t = {decimal(self.t)}" + (f" {self.distance}" if self.distance else "")


Requirement = (
    KAnonymity
    | DistinctDiversity
    | SimpleDiversity
    | RecursiveDiversity
    | EntropyDiversity
    | ConfidenceLimit
    | Closeness
)
WORDS: tuple[str, ...] = tuple(
    kind.word
    for kind in (
        KAnonymity,
        DistinctDiversity,
        SimpleDiversity,
        RecursiveDiversity,
        EntropyDiversity,
        ConfidenceLimit,
        Closeness,
    )
)


def decimal(number: Fraction) -> str:
    """A fraction as a policy writes it: decimal where that is exact.

    >>> decimal(Fraction(3, 2)), decimal(Fraction(10)), decimal(Fraction(1, 3))
    ('1.5', '10', '1/3')
    """
    for places in range(19):
        scaled = number * 10**places
        if scaled.denominator == 1:
            digits = f"{abs(scaled.numerator):0{places + 1}d}"
            sign = "-" if number < 0 else ""
            return sign + (digits if places == 0 else f"{digits[:-places]}.{digits[-places:]}")
    return str(number)
