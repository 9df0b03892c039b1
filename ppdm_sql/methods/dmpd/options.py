"""The options of dmpd, and the lists of columns in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from ppdm_sql.errors import Mistake, OptionError, PolicyError
from ppdm_sql.policy.options import AsWritten, Choice, Whole
from ppdm_sql.policy.policy import OptionValue, PlacedWord, Policy
from ppdm_sql.policy.words import did_you_mean, printable
from ppdm_sql.source.relation import Source, match
from ppdm_sql.statements.names import Word

EXACT, CLASS, ALL, NONE = REJOINS = ("exact", "class", "all", "none")
FOLD, FILTER = RARE = ("fold", "filter")
C45, NAIVE_BAYES = INDUCERS = ("c45", "naive_bayes")
_LEAST_PAIR = 2
_LISTS = "lists of columns, as in ((age, sex), (zip))"
_COLUMNS = "a list of columns, as in (zip, ward)"

Columns = tuple[str, ...]


@dataclass(frozen=True)
class DmpdOptions:
    parts: Annotated[OptionValue | None, AsWritten(_LISTS)] = None  # None: they are searched for
    rare: Annotated[str, Choice(*RARE)] = FOLD
    rejoin: Annotated[str, Choice(*REJOINS)] = EXACT
    filter: Annotated[OptionValue | None, AsWritten(_COLUMNS)] = None  # columns that are in no part
    together: Annotated[OptionValue | None, AsWritten(_LISTS)] = None
    apart: Annotated[OptionValue | None, AsWritten(_LISTS)] = None
    inducer: Annotated[str, Choice(*INDUCERS)] = C45
    population: Annotated[int, Whole(4, 1000)] = 50
    generations: Annotated[int, Whole(1, 10_000)] = 100
    patience: Annotated[int, Whole(1, 10_000)] = 20  # generations without a better partition after which it ends
    folds: Annotated[int, Whole(2, 20)] = 5
    max_seconds: Annotated[int | None, Whole(1, 1_000_000)] = None


@dataclass(frozen=True)
class Lists:
    """The lists of columns of a statement, by the names in its source; parts: in the order of the SELECT."""

    features: Columns  # every column that can be in a part
    quasi: frozenset[str]
    parts: tuple[Columns, ...] | None
    filtered: Columns
    together: tuple[Columns, ...] = ()
    apart: tuple[Columns, ...] = ()


def check_options(policy: Policy, source: Source | None) -> None:
    """Refuses lists that are no lists; with the columns known, what they name, too."""
    if source is not None:
        parts, filtered, together, apart = (policy.options.get(name) for name in _LIST_OPTIONS)
        read_lists(DmpdOptions(parts=parts, filter=filtered, together=together, apart=apart), source)
        return
    for option in _LIST_OPTIONS:
        if option in policy.options:
            _words(option, policy.options[option], nested=option != "filter")


_LIST_OPTIONS = ("parts", "filter", "together", "apart")


def read_lists(options: DmpdOptions, source: Source) -> Lists:
    """The lists against the columns there are; every mistake with its place."""
    target = source.target
    if target is None:
        raise PolicyError("ALGORITHM dmpd needs a class, which is in every part: name it in TARGET (...)")
    if target in source.quasi:
        raise PolicyError(
            f'ALGORITHM dmpd: the TARGET "{target}" is in every part, so it cannot be a QUASI IDENTIFIER that parts '
            "are made of: take it out of one of the two lists"
        )
    if not source.quasi:
        raise PolicyError("ALGORITHM dmpd parts quasi-identifiers: name some in QUASI IDENTIFIER (...)")
    if source.pseudonym is not None:
        raise PolicyError(
            f'ALGORITHM dmpd: "{source.pseudonym}" is a pseudonym, by which the rows of different parts could be put '
            "together: make it an ENTITY or an IDENTIFIER"
        )
    if source.forms:
        raise PolicyError(
            f'ALGORITHM dmpd publishes values, not labels: leave out AS behind "{next(iter(source.forms))}"'
        )
    features = tuple(name for name in source.published if name != target)
    known = {name: name for name in (*features, target)}
    filtered = tuple(name for one in _find_columns("filter", options.filter, known, target) for name in one)
    parts = None if options.parts is None else tuple(_find_columns("parts", options.parts, known, target))
    if parts is not None:
        _check_parts(options.parts, parts, features, filtered)
    pairs = {
        name: tuple(_find_columns(name, value, known, target))
        for name, value in (("together", options.together), ("apart", options.apart))
    }
    for option, lists in pairs.items():
        if any(len(one) < _LEAST_PAIR for one in lists):
            raise OptionError(option, f"{option} of ALGORITHM dmpd needs two columns or more in each list")
    ordered = None if parts is None else in_order(parts, features)
    return Lists(features, frozenset(source.quasi), ordered, filtered, pairs["together"], pairs["apart"])


def in_order(parts: Sequence[Sequence[str]], features: Sequence[str]) -> tuple[Columns, ...]:
    """Parts in the order of their first columns, and columns in the order of the SELECT.

    >>> in_order([["zip"], ["sex", "age"]], ["age", "zip", "sex"])
    (('age', 'sex'), ('zip',))
    """
    place = {name: number for number, name in enumerate(features)}
    ordered = [tuple(sorted(part, key=place.__getitem__)) for part in parts]
    return tuple(sorted(ordered, key=lambda part: place[part[0]]))


def _check_parts(
    written: OptionValue | None, parts: Sequence[Columns], features: Sequence[str], filtered: Sequence[str]
) -> None:
    if not parts:
        raise OptionError("parts", f"parts of ALGORITHM dmpd must be {_LISTS}, not an empty list")
    seen: dict[str, int] = {}
    for number, part in enumerate(parts, start=1):
        for name in part:
            if name in seen:
                where = f"in parts {seen[name]} and {number}" if seen[name] != number else f"twice in part {number}"
                raise _mistake(
                    "parts", _word_of(written, name, 2), f'column "{name}" is {where}: a column is in one part'
                )
            if name in filtered:
                raise _mistake(
                    "parts", _word_of(written, name, 1), f'column "{name}" is in part {number} and in filter'
                )
            seen[name] = number
    missing = [name for name in features if name not in seen and name not in filtered]
    if missing:
        told = ", ".join(f'"{name}"' for name in missing)
        raise OptionError(
            "parts",
            f"parts of ALGORITHM dmpd lacks {told}: put each column into a part, or into filter = (...), which leaves "
            "it out",
        )


def _find_columns(option: str, value: OptionValue | None, known: Mapping[str, str], target: str) -> Iterator[Columns]:
    """The columns of every list by their names in the source."""
    if value is None:
        return
    for part in _words(option, value, nested=option != "filter"):
        names = []
        for word in part:
            quoted = isinstance(word, PlacedWord) and word.quoted
            name = match(Word(str(word), quoted=quoted), known)
            if name is None:
                hint = did_you_mean(str(word), [one for one in known if one != target])
                raise _mistake(
                    option,
                    word,
                    f"{option} of ALGORITHM dmpd: there is no column {printable(str(word))} to part: {hint}",
                )
            if name == target:
                raise _mistake(
                    option, word, f'{option} of ALGORITHM dmpd: "{name}" is the TARGET, which is in every part'
                )
            names.append(name)
        yield tuple(names)


def _words(option: str, value: OptionValue, *, nested: bool) -> list[tuple[str, ...]]:
    """Lists of words, as they were written."""
    wrong = OptionError(option, f"{option} of ALGORITHM dmpd must be {_LISTS if nested else _COLUMNS}")
    if not isinstance(value, tuple):
        raise wrong
    found = []
    for part in value if nested else (value,):
        words = [word for word in part if isinstance(word, str)] if isinstance(part, tuple) else []
        if not words or not isinstance(part, tuple) or len(words) < len(part):
            raise wrong
        found.append(tuple(words))
    return found


def _word_of(written: OptionValue | None, name: str, time: int) -> str:
    """Where a column stands in what was written, the first or second time."""
    every = [word for part in _words("parts", written or (), nested=True) for word in part]
    found = [word for word in every if word.casefold() == name.casefold()]
    return found[min(time, len(found)) - 1] if found else name


def _mistake(option: str, word: str, message: str) -> OptionError:
    place = word.place if isinstance(word, PlacedWord) else None
    if place is None:
        return OptionError(option, message)
    return OptionError(option, Mistake(message, place.line, place.column, place.file))
