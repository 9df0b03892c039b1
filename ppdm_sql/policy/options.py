"""Options: declared once, read here, refused in one wording with the place where they stand.

A declaration is a dataclass field, or a keyword of a function, whose annotation says what a value may be:

    max_parts: Annotated[int | None, Whole(1)] = None
    ranges: Annotated[str, Choice("cuts", "extent")] = "cuts"

Readers say which option is wrong; the caller that has the statement adds the place.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar, get_args, get_type_hints

from ppdm_sql.errors import Mistake, OptionError, PolicyError
from ppdm_sql.policy.policy import OptionValue, Place
from ppdm_sql.policy.words import nearest, printable

Declared = TypeVar("Declared")


# -- what a value may be -------------------------------------------------------------------------------------


class Allowed(ABC):
    """What the value of an option may be, as a mark in its annotation."""

    @property
    @abstractmethod
    def valid_values(self) -> str:
        """The values in words; follows "must be"."""

    @abstractmethod
    def read(self, value: OptionValue) -> object:
        """The value as the option's owner takes it; ValueError for one that is not allowed."""


@dataclass(frozen=True)
class Whole(Allowed):
    """A whole number within its limits; word: a word in its place, which is read as None."""

    least: int
    most: int | None = None
    word: str | None = None

    @property
    def valid_values(self) -> str:
        """The limits.

        >>> Whole(1).valid_values, Whole(2, 1000).valid_values, Whole(1, word="k").valid_values
        ('a whole number of at least 1', 'a whole number from 2 to 1,000', 'a whole number of at least 1, or k')
        """
        limits = f"of at least {self.least:,}" if self.most is None else f"from {self.least:,} to {self.most:,}"
        return f"a whole number {limits}" + (f", or {self.word}" if self.word is not None else "")

    def read(self, value: OptionValue) -> int | None:
        if self.word is not None and isinstance(value, str) and value.lower() == self.word:
            return None
        if not isinstance(value, Fraction) or value.denominator != 1 or value < self.least:
            raise ValueError
        if self.most is not None and value > self.most:
            raise ValueError
        return int(value)


@dataclass(frozen=True)
class Exact(Allowed):
    """A number within its limits, as the fraction that was written."""

    least: Fraction
    most: Fraction

    @property
    def valid_values(self) -> str:
        return f"a number from {float(self.least):g} to {float(self.most):g}"

    def read(self, value: OptionValue) -> Fraction:
        if not isinstance(value, Fraction) or not self.least <= value <= self.most:
            raise ValueError
        return value


@dataclass(frozen=True)
class Real(Exact):
    """A number within its limits, as a floating-point number."""

    def read(self, value: OptionValue) -> float:  # type: ignore[override]
        return float(super().read(value))


class Choice(Allowed):
    """One of a few words, in capitals or not."""

    def __init__(self, *words: str) -> None:
        self.words = words

    @property
    def valid_values(self) -> str:
        """The words.

        >>> Choice("cuts", "extent").valid_values, Choice("quota", "draw", "counts").valid_values
        ('cuts or extent', 'quota, draw or counts')
        """
        *others, last = self.words
        return f"{', '.join(others)} or {last}" if others else last

    def read(self, value: OptionValue) -> str:
        if not isinstance(value, str) or value.lower() not in self.words:
            raise ValueError
        return value.lower()


@dataclass(frozen=True)
class Switch(Allowed):
    """True or false."""

    @property
    def valid_values(self) -> str:
        return "true or false"

    def read(self, value: OptionValue) -> bool:
        if not isinstance(value, bool):
            raise ValueError
        return value


@dataclass(frozen=True)
class AsWritten(Allowed):
    """A value that only its owner can read, because it names columns; form: how it is written."""

    form: str

    @property
    def valid_values(self) -> str:
        return self.form

    def read(self, value: OptionValue) -> OptionValue:
        return value


# -- reading -------------------------------------------------------------------------------------------------


def declared_options(declaration: Callable[..., object]) -> dict[str, Allowed]:
    """The options that a dataclass or a function declares, in their order.

    >>> declared_options(Mistake)
    {}
    """
    hints = get_type_hints(declaration, include_extras=True)
    marks = {name: _mark(hints.get(name)) for name in inspect.signature(declaration).parameters}
    return {name: mark for name, mark in marks.items() if mark is not None}


def _mark(hint: object) -> Allowed | None:
    """What an annotation says of the values, also one that is a part of it, as in Depth | None."""
    if isinstance(hint, Allowed):
        return hint
    return next((mark for part in get_args(hint) if (mark := _mark(part)) is not None), None)


def default_options(declaration: Callable[..., object]) -> dict[str, Any]:
    """What the declared options are where nothing is said."""
    taken = inspect.signature(declaration).parameters
    return {name: taken[name].default for name in declared_options(declaration)}


def read_options(declaration: type[Declared], given: Mapping[str, OptionValue], owner: str) -> Declared:
    """The options of a statement as the dataclass that declares them; owner: whose they are, as in ALGORITHM tpp."""
    return declaration(**checked_options(declaration, given, owner))


def checked_options(declaration: Callable[..., object], given: Mapping[str, OptionValue], owner: str) -> dict[str, Any]:
    """What was given, each value as its declaration says; one that is unknown or not allowed is refused."""
    known = declared_options(declaration)
    found = {}
    for option, value in given.items():
        if option not in known:
            raise unknown_option(owner, option, known)
        try:
            found[option] = known[option].read(value)
        except ValueError:
            raise wrong_value(owner, option, known[option], value) from None
    return found


def from_text(given: Mapping[str, object]) -> dict[str, OptionValue]:
    """Options from a command line or a stored record, as a policy would hold them.

    >>> from_text({"min_leaf": "10", "prune": "false", "criterion": "gini", "confidence": 0.25})
    {'min_leaf': Fraction(10, 1), 'prune': False, 'criterion': 'gini', 'confidence': Fraction(1, 4)}
    """
    return {option: _from_text(value) for option, value in given.items()}


def _from_text(value: object) -> OptionValue:
    if isinstance(value, bool | Fraction | tuple):
        return value
    text = str(value)
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return text


# -- refusing ------------------------------------------------------------------------------------------------


def unknown_option(owner: str, option: str, known: Iterable[str]) -> OptionError:
    r"""The error about an option that nobody declares; its name is from the policy and is shown escaped.

    >>> str(unknown_option("ALGORITHM mondrian", "max_prats", ["max_parts", "ranges"]))
    'ALGORITHM mondrian has no option max_prats: did you mean max_parts?'
    >>> str(unknown_option("EXPORT", "a" + chr(27), ["format"]))
    'EXPORT has no option a\\x1b; valid options: format'
    """
    names = tuple(known)
    near = nearest(option, names)
    hint = f": did you mean {near}?" if near else f"; valid options: {', '.join(names) or 'none'}"
    return OptionError(option, f"{owner} has no option {printable(option)}{hint}")


def wrong_value(owner: str, option: str, allowed: Allowed, value: OptionValue) -> OptionError:
    """The error about a value that is not allowed.

    >>> str(wrong_value("ALGORITHM mondrian", "max_parts", Whole(1), Fraction(1, 2)))
    'max_parts of ALGORITHM mondrian must be a whole number of at least 1, not 0.5'
    """
    return OptionError(option, f"{option} of {owner} must be {allowed.valid_values}, not {_value_text(value)}")


def _value_text(value: OptionValue) -> str:
    if isinstance(value, tuple):
        return "a list"
    if isinstance(value, Fraction) and value.denominator != 1:
        return f"{float(value):.12g}"
    return str(value).lower() if isinstance(value, bool) else printable(str(value))


@contextmanager
def about_option(option: str) -> Iterator[None]:
    """What is wrong inside is wrong with this option."""
    try:
        yield
    except OptionError:
        raise
    except PolicyError as error:
        raise OptionError(option, str(error)) from error


def place_option(error: PolicyError, places: Mapping[str, Place], otherwise: Place) -> PolicyError:
    """The error with the place of its option; one that is about no option gets the other place."""
    if any(mistake.line is not None for mistake in error.mistakes):
        return error
    place = places.get(error.option, otherwise) if isinstance(error, OptionError) else otherwise
    return PolicyError(*(at(place, mistake.message) for mistake in error.mistakes), file=place.file)


def at(place: Place | None, message: str) -> Mistake:
    """A mistake with its place, if that is known."""
    return Mistake(message) if place is None else Mistake(message, place.line, place.column, place.file)
