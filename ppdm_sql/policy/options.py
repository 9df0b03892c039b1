"""Wrong options: readers say which option is wrong, and whoever holds the statement adds where it stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from ppdm_sql.errors import Mistake, OptionError, PolicyError
from ppdm_sql.policy.policy import Place
from ppdm_sql.policy.words import did_you_mean, printable


def unknown_option(owner: str, option: str, known: Iterable[str]) -> OptionError:
    r"""The error about an option that nobody reads; its name is from the policy and is shown escaped.

    >>> str(unknown_option("ALGORITHM mondrian", "max_prats", ["max_parts", "ranges"]))
    'ALGORITHM mondrian has no option max_prats: did you mean max_parts?'
    >>> str(unknown_option("EXPORT", "a" + chr(27), ["format"]))
    'EXPORT has no option a\\x1b: known are format'
    """
    return OptionError(option, f"{owner} has no option {printable(option)}: {did_you_mean(option, known)}")


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
