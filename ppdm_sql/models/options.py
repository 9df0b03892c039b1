"""The options of a learner that is a Python function: what they may be is told here, what they are by default there."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ppdm_sql.errors import OptionError
from ppdm_sql.policy.options import unknown_option
from ppdm_sql.policy.words import printable
from ppdm_sql.trees.inducers import option_number, option_switch


@dataclass(frozen=True)
class Whole:
    """A whole number within its limits."""

    least: int
    most: int


@dataclass(frozen=True)
class OneOf:
    """One of a few words."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class Switch:
    """True or false."""


Allowed: TypeAlias = Whole | OneOf | Switch


def all_options(
    inducer: str, learn: Callable[..., Any], allowed: Mapping[str, Allowed], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Every option of a learner: as given, checked, or as its default says."""
    chosen = {name: _check_value(inducer, name, value, allowed) for name, value in given.items()}
    return {**defaults(learn), **chosen}


def defaults(learn: Callable[..., Any]) -> dict[str, Any]:
    """The options of a learner, which are what it takes by name only."""
    taken = inspect.signature(learn).parameters.values()
    return {one.name: one.default for one in taken if one.kind is inspect.Parameter.KEYWORD_ONLY}


def _check_value(inducer: str, name: str, value: Any, allowed: Mapping[str, Allowed]) -> Any:
    match allowed.get(name):
        case Whole(least, most):
            return int(option_number(name, value, least, most, whole=True))
        case OneOf(words):
            if value not in words:
                raise OptionError(name, f"{name} is {' or '.join(words)}, not {printable(str(value))}")
            return value
        case Switch():
            return option_switch(name, value)
    raise unknown_option(inducer, name, allowed)
