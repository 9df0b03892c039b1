"""Reads a model from plain data that others may have written: every step says what it expects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NoReturn

from ppdm_sql.errors import PolicyError

MOST_ROWS = (1 << 63) - 1  # what a database can count
_MOST_DIGITS = 400  # a number longer than this was not written by us


@dataclass(frozen=True)
class Reading:
    """A part of a dictionary and the way to it.

    >>> Reading({"classes": [1]}, "the model")["classes"].items(least=2)
    Traceback (most recent call last):
    ppdm_sql.errors.PolicyError: the model, classes: has fewer than 2 entries
    """

    content: object
    place: str

    def refuse(self, reason: str) -> NoReturn:
        raise PolicyError(f"{self.place}: {reason}")  # the place and the reason, never the content

    def keys(self) -> set[str]:
        if not isinstance(self.content, Mapping) or not all(isinstance(key, str) for key in self.content):
            self.refuse("is not an object")
        return set(self.content)

    def __getitem__(self, key: str) -> Reading:
        if key not in self.keys():
            self.refuse(f'has no "{key}"')
        assert isinstance(self.content, Mapping)
        return Reading(self.content[key], f"{self.place}, {key}")

    def only(self, keys: Iterable[str]) -> None:
        """Refuses what nobody would read: a model with more in it than the reader looks at is not understood."""
        if not self.keys() <= set(keys):
            self.refuse("has an entry that this version does not know")

    def items(self, least: int = 0) -> list[Reading]:
        if not isinstance(self.content, Sequence) or isinstance(self.content, str | bytes):
            self.refuse("is not a list")
        if len(self.content) < least:
            self.refuse(f"has fewer than {least} entries")
        return [Reading(part, f"{self.place} {place}") for place, part in enumerate(self.content)]

    def text(self, least: int = 0) -> str:
        if not isinstance(self.content, str) or len(self.content) < least or "\0" in self.content:
            self.refuse("is not a text")
        if any(0xD800 <= ord(letter) < 0xE000 for letter in self.content):
            self.refuse("is not a text")  # half a character: no database takes it
        return self.content

    def boolean(self) -> bool:
        if not isinstance(self.content, bool):
            self.refuse("is neither true nor false")
        return self.content

    def whole(self, least: int | None = None) -> int:
        if isinstance(self.content, bool) or not isinstance(self.content, int):
            self.refuse("is not a whole number")
        if abs(self.content) > MOST_ROWS:
            self.refuse("is larger than a database can count")
        if least is not None and self.content < least:
            self.refuse(f"is less than {least}")
        return self.content

    def whole_text(self) -> int:
        text = self.text()
        if len(text) > _MOST_DIGITS or not re.fullmatch(r"-?[0-9]+", text):
            self.refuse("is not a whole number in digits")
        return int(text)

    def decimal(self) -> Decimal:
        text = self.text()
        if len(text) > _MOST_DIGITS or not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?(E[+-]?[0-9]{1,3})?", text):
            self.refuse("is not a number in digits")
        return Decimal(text)

    def one_of(self, words: Sequence[str]) -> str:
        if self.content not in words or not isinstance(self.content, str):
            self.refuse(f"must be one of {', '.join(words)}")
        return self.content

    def wholes(self, number: int) -> tuple[int, ...]:
        """Exactly so many counts."""
        counts = tuple(part.whole(0) for part in self.items())
        if len(counts) != number:
            self.refuse(f"must have {number} entries")
        return counts
