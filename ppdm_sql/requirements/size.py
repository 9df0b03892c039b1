"""Requirements on how many rows or persons a class holds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated

from ppdm_sql.errors import PolicyError
from ppdm_sql.requirements.base import About, Requirement
from ppdm_sql.requirements.declared import WholeNumber, word_text
from ppdm_sql.statements.names import Word, is_same_word

MOST_SETS = 5_000  # of quasi-identifiers, each measured by a GROUP BY


@dataclass(frozen=True)
class KAnonymity(Requirement):
    """Every class holds at least k rows, or k distinct entities (Samarati and Sweeney 1998)."""

    word = "k"
    about = About.SIZE
    example = "k = 10"
    k: Annotated[int, WholeNumber(2, because="k = 1 holds for every table, so it guarantees nothing")]

    @property
    def least_rows(self) -> int:
        return self.k

    def promise(self, members: str) -> str:
        return f"every person is one of at least {self.k} {members}"


@dataclass(frozen=True)
class SetAnonymity(Requirement):
    """Every class over some of the quasi-identifiers holds at least k rows or entities (Fung, Wang and Yu 2007)."""

    word = "k"
    about = About.SIZE
    example = "k = 10 ON (age, zip)"
    k: int
    on: tuple[Word, ...]

    @property
    def least_rows(self) -> int:
        return self.k

    def columns(self, quasi: Iterable[str]) -> tuple[str, ...]:
        """The columns it names, as the relation spells them; those that are no quasi-identifier are refused."""
        names = list(quasi)
        found = {
            word: [name for name in names if name == word.text]
            or [name for name in names if is_same_word(word, Word(name, quoted=word.quoted))]
            for word in self.on
        }
        missing = [word.text for word, columns in found.items() if len(columns) != 1]
        if missing:
            told = ", ".join(f'"{name}"' for name in missing)
            raise PolicyError(
                f"{self}: {told} {'is' if len(missing) == 1 else 'are'} no quasi-identifier; ON (...) names columns of "
                "QUASI IDENTIFIER (...)"
            )
        return tuple(name for name in names if [name] in found.values())

    def promise(self, members: str) -> str:
        told = ", ".join(word.text for word in self.on)
        return (
            f"every person is one of at least {self.k} {members} for anyone who knows {told} and no other "
            "quasi-identifier"
        )

    def __str__(self) -> str:
        """As a policy writes it.

        >>> print(SetAnonymity(4, (Word("age"), Word("zip code"))))
        k = 4 ON (age, "zip code")
        """
        return f"k = {self.k} ON ({', '.join(map(word_text, self.on))})"


@dataclass(frozen=True)
class EveryAnonymity(Requirement):
    """Every class over any m of the quasi-identifiers holds at least k rows or entities (k^m-anonymity).

    Terrovitis, Mamoulis and Kalnis (2008) ask it of sets of items; here an attacker knows at most m columns of a wide
    table.  It replaces k over all of the columns, and is weaker than that.
    """

    word = "k"
    about = About.SIZE
    example = "k = 5 ON EVERY 2"
    of_table = True
    k: int
    m: int

    @property
    def least_rows(self) -> int:
        return self.k

    @property
    def enough_k(self) -> int:
        return self.k

    def sets(self, quasi: Iterable[str]) -> list[tuple[str, ...]]:
        """What an attacker may know: m columns; an attacker who knows fewer learns less.  Too many sets are refused."""
        names = tuple(quasi)
        size = min(self.m, len(names))
        number = math.comb(len(names), size)
        if number > MOST_SETS:
            raise PolicyError(
                f"{self}: {len(names)} quasi-identifiers have {number:,} sets of {size}, and at most {MOST_SETS:,} are "
                "measured: ask for a smaller m, or leave columns out"
            )
        return list(combinations(names, size))

    def text_of(self, quasi: int) -> str:
        """The requirement with the number of columns it is asked of.

        >>> EveryAnonymity(5, 2).text_of(12)
        'k = 5 on every 2 of 12 quasi-identifiers'
        """
        return f"k = {self.k} on every {min(self.m, quasi)} of {quasi} quasi-identifiers"

    def promise(self, members: str) -> str:
        known = "one quasi-identifier" if self.m == 1 else f"{self.m} quasi-identifiers"
        return f"every person is one of at least {self.k} {members} for anyone who knows at most {known}"

    def __str__(self) -> str:
        return f"k = {self.k} ON EVERY {self.m}"


def k_of(requirements: Iterable[Requirement]) -> int | None:
    """The k that is required; None where none is.

    >>> k_of([KAnonymity(5)]), k_of([])
    (5, None)
    """
    return max((item.k for item in requirements if isinstance(item, KAnonymity)), default=None)


def k_of_sets(requirements: Iterable[Requirement]) -> int:
    """The largest k that is required, of all quasi-identifiers or of some; 1 where none is.

    A class over all of them that is as large as that is large enough over each set.

    >>> k_of_sets([KAnonymity(5)]), k_of_sets([])
    (5, 1)
    """
    return max((item.k for item in requirements if isinstance(item, KAnonymity | SetAnonymity)), default=1)
