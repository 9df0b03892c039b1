"""How the numbers of a requirement are declared: which ones are legal, how they are written, how a refusal reads.

A requirement declares each of its fields with one of these, as in `k: Annotated[int, WholeNumber(2)]`.
policy/require.py reads what is declared; a requirement of its own never touches the reader.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from ppdm_sql.statements.names import Word

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MOST = 10**9


@dataclass(frozen=True)
class WholeNumber:
    """A whole number from least to most; because: why the numbers outside are refused."""

    least: int
    most: int = MOST
    because: str = ""

    def legal_text(self, name: str) -> str:
        """The sentence that a refusal starts with.

        >>> WholeNumber(2, because="one is none").legal_text("k")
        'k is a whole number from 2 to 1,000,000,000 (one is none)'
        """
        return _with_reason(f"{name} is a whole number from {self.least:,} to {self.most:,}", self.because)

    def text(self, value: Fraction | int) -> str:
        return str(value)


@dataclass(frozen=True)
class ExactNumber:
    """A number above one bound and up to another, kept as the fraction that was written."""

    above: int
    most: int = MOST
    because: str = ""

    def legal_text(self, name: str) -> str:
        return _with_reason(f"{name} is a number above {self.above:,}, up to {self.most:,}", self.because)

    def holds(self, value: Fraction) -> bool:
        return self.above < value <= self.most

    def text(self, value: Fraction | int) -> str:
        return decimal(Fraction(value))


@dataclass(frozen=True)
class Percentage:
    """A percentage between 0 % and 100 %, both excluded, kept as a share.  The sign is part of it: 0.85 is not 85."""

    example: str

    def legal_text(self, name: str) -> str:
        return f"{name} is a percentage between 0 % and 100 %, both excluded, as in {self.example}"

    def holds(self, value: Fraction) -> bool:
        return 0 < value < 100

    def text(self, value: Fraction | int) -> str:
        return f"{decimal(Fraction(value) * 100)} %"


@dataclass(frozen=True)
class Share:
    """A number from 0 to 1."""

    def legal_text(self, name: str) -> str:
        return f"{name} is a number from 0 to 1"

    def holds(self, value: Fraction) -> bool:
        return 0 <= value <= 1

    def text(self, value: Fraction | int) -> str:
        return decimal(Fraction(value))


@dataclass(frozen=True)
class RelationName:
    """The name of a relation behind a word, as in IN population."""

    word: str

    def text(self, value: tuple[Word, ...]) -> str:
        return f"{self.word} {'.'.join(map(word_text, value))}"


def word_text(word: Word) -> str:
    """A name as a policy writes it.

    >>> word_text(Word("age")), word_text(Word("zip code"))
    ('age', '"zip code"')
    """
    if not word.quoted and _PLAIN.fullmatch(word.text):
        return word.text
    return '"' + word.text.replace('"', '""') + '"'


@dataclass(frozen=True)
class OptionalWord:
    """One of several words behind the numbers, or none; what: what the word stands for, as a refusal names it."""

    what: str
    choices: tuple[str, ...]

    def text(self, value: str) -> str:
        return value


@dataclass(frozen=True)
class OptionalShare:
    """A percentage behind a word of its own, as in FRACTION 10 %, or none; kept as a share."""

    word: str

    @property
    def legal_text(self) -> str:
        """The sentence that a refusal starts with.

        >>> OptionalShare("FRACTION").legal_text
        'FRACTION is a percentage above 0 % and up to 100 %, as in FRACTION 10 %'
        """
        return f"{self.word} is a percentage above 0 % and up to 100 %, as in {self.word} 10 %"

    def holds(self, value: Fraction) -> bool:
        return 0 < value <= 100

    def text(self, value: Fraction) -> str:
        return f"{self.word} {decimal(value * 100)} %"


DeclaredNumber = WholeNumber | ExactNumber | Percentage | Share
DeclaredWord = OptionalWord | OptionalShare | RelationName


def _with_reason(sentence: str, because: str) -> str:
    return f"{sentence} ({because})" if because else sentence


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
