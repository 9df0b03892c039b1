"""A requirement: what a privacy model asks of every class, and everything the program knows about it.

A new requirement is a class and its registration.  The class says its word, its numbers, its wording and what it is
about; the hooks say how each folder decides it.  tests/requirements/ adds one from outside the package:

    @dataclass(frozen=True)
    class RepeatedValues(Requirement):
        word = "repeated_l"
        about = About.VALUES
        example = "repeated_l = 2"
        l: Annotated[int, WholeNumber(1)]

        def promise(self, members: str) -> str:
            return f"every class has at least {self.l} values that occur more than once"

    register(
        RepeatedValues,
        {
            CHECKS: ...,             # checks/measure.py: the fast measure, for ppdm check and reports
            BREACH_STATEMENTS: ...,  # checks/breaches.py: the classes that break it, for LIVE views and audits
            PART_TESTS: ...,         # checks/histograms.py: many candidate parts at once, for the methods
            VERIFICATIONS: ...,      # verify/relation.py: the independent judgement of every release
            TABLE_TESTS: ...,        # checks/table_tests.py: all classes of a plan together, where it is of_table
        },
    )

A folder without a hook for a requirement refuses it (`HookTable.of`); without VERIFICATIONS nothing is published.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from fractions import Fraction
from typing import Any, ClassVar, Generic, Self, TypeVar, cast, get_type_hints

from ppdm_sql.engines.base import ColumnInfo
from ppdm_sql.errors import PolicyError
from ppdm_sql.requirements.declared import DeclaredNumber, DeclaredWord, decimal

Figure = Fraction | float | None
_DIGITS = 4  # behind the point, in texts
_Hook = TypeVar("_Hook")


class About(Enum):
    """What a requirement speaks of, and so what it is measured on."""

    SIZE = "size"  # how many rows or persons a class holds; measured once
    VALUES = "values"  # which sensitive values a class holds; measured on every sensitive column
    MEMBERSHIP = "membership"  # whether a person is in the table at all; measured once


class Requirement(ABC):
    """A privacy model with its numbers.  Subclasses are frozen dataclasses whose fields are declared numbers."""

    word: ClassVar[str]  # as in REQUIRE word = ...
    about: ClassVar[About]
    example: ClassVar[str]
    smaller_is_stricter: ClassVar[bool] = False  # t = 0.1 asks for more than t = 0.2
    compares_with_table: ClassVar[bool] = False  # a class is judged by the whole table: leaving rows out changes it
    of_table: ClassVar[bool] = False  # decided by all classes together, not by each of them
    decided_in_sql: ClassVar[bool] = True  # False: floating point cannot tell a class that is exactly at the bound

    @abstractmethod
    def promise(self, members: str) -> str:
        """What holds for a recipient, in plain words; members: what a class consists of, such as "people"."""

    @property
    def least_rows(self) -> int:
        """The fewest rows that a class which meets it can have."""
        return 1

    @property
    def follows_hierarchy(self) -> bool:
        """Whether it is measured along the hierarchy of the sensitive column, which stays with the publisher."""
        return False

    @property
    def counts_suffice(self) -> bool:
        """Whether the counts of the values decide it, without the order of the values or their hierarchy."""
        return True

    @property
    def mistake(self) -> str | None:
        """Why its numbers do not go together; None where they do."""
        return None

    @property
    def enough_k(self) -> int | None:
        """A size of every class that is enough for it, where it is of_table; None where no size is."""
        return None

    @property
    def falls_with_detail(self) -> bool:
        """Whether it fails in every finer recoding where it fails in one; of one that is of_table."""
        return True

    def for_column(self, info: ColumnInfo, *, has_hierarchy: bool) -> Self:
        """The requirement as it is meant for one sensitive column; refused where the column cannot have it."""
        return self

    def figure(self, counts: Sequence[int]) -> Figure:
        """What one class of these value counts, in falling order, achieves; None where that is not known."""
        return None

    def achieved_text(self, achieved: Figure) -> str:
        """What was achieved, in the policy's words and never better than it is."""
        if achieved is None:
            return "no rows"
        return f"{self.word} = {rounded_text(achieved, up=self.smaller_is_stricter)}"

    def __str__(self) -> str:
        """As a policy writes it; policy/require.py reads it back."""
        shape = shape_of(type(self))
        texts = [number.text(getattr(self, name)) for name, number in shape.numbers.items()]
        value = texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
        given = {name: getattr(self, name) for name in shape.words if getattr(self, name) is not None}
        words = [cast(Any, shape.words[name]).text(value) for name, value in given.items()]
        return " ".join([f"{self.word} = {value}", *words])


@dataclass(frozen=True)
class Shape:
    """The declared fields of a requirement in order: its numbers, and the words behind them."""

    numbers: Mapping[str, DeclaredNumber]
    words: Mapping[str, DeclaredWord]


_SHAPES: dict[type[Requirement], Shape] = {}


def shape_of(requirement_class: type[Requirement]) -> Shape:
    """What a requirement declares, read from its annotations once."""
    if requirement_class not in _SHAPES:
        hints = get_type_hints(requirement_class, include_extras=True)
        names = [field.name for field in fields(requirement_class)]  # type: ignore[arg-type]
        declared = {name: hints[name].__metadata__[0] for name in names if hasattr(hints[name], "__metadata__")}
        if len(declared) != len(names):
            raise TypeError(f"{requirement_class.__name__}: every field of a requirement is a declared number or word")
        _SHAPES[requirement_class] = Shape(
            {name: one for name, one in declared.items() if not isinstance(one, DeclaredWord)},
            {name: one for name, one in declared.items() if isinstance(one, DeclaredWord)},
        )
    return _SHAPES[requirement_class]


def requirements_about(requirements: Iterable[Requirement], about: About) -> tuple[Requirement, ...]:
    return tuple(item for item in requirements if item.about is about)


# -- registration ----------------------------------------------------------------------------------------


class HookTable(Generic[_Hook]):
    """How one folder treats each requirement, by the requirement's class."""

    def __init__(self, purpose: str) -> None:
        self._purpose = purpose
        self._hooks: dict[type[Requirement], _Hook] = {}

    def add(self, requirement_class: type[Requirement], hook: _Hook) -> None:
        self._hooks[requirement_class] = hook

    def remove(self, requirement_class: type[Requirement]) -> None:
        self._hooks.pop(requirement_class, None)

    def of(self, requirement: Requirement) -> _Hook:
        """The hook of a requirement; refused where it has none, never passed over."""
        found = self._hooks.get(type(requirement))
        if found is None:
            raise PolicyError(f"{requirement.word} cannot be {self._purpose}")
        return found

    def __contains__(self, requirement_class: type[Requirement]) -> bool:
        return requirement_class in self._hooks


_BY_WORD: dict[str, type[Requirement]] = {}
_HOOKED: dict[type[Requirement], list[HookTable[Any]]] = {}


def register(requirement_class: type[Requirement], hooks: Mapping[HookTable[Any], Any] | None = None) -> None:
    """Makes a requirement known to policies and to the folders that it has hooks for."""
    shape_of(requirement_class)
    if _BY_WORD.setdefault(requirement_class.word, requirement_class) is not requirement_class:
        raise ValueError(f"there is already a requirement {requirement_class.word}")
    for table, hook in (hooks or {}).items():
        table.add(requirement_class, hook)
        _HOOKED.setdefault(requirement_class, []).append(table)


def unregister(requirement_class: type[Requirement]) -> None:
    """Takes back what register() did."""
    _BY_WORD.pop(requirement_class.word, None)
    for table in _HOOKED.pop(requirement_class, []):
        table.remove(requirement_class)


def requirement_words() -> tuple[str, ...]:
    """The words that REQUIRE knows."""
    return tuple(_BY_WORD)


def requirement_class(word: str) -> type[Requirement] | None:
    return _BY_WORD.get(word)


def text_is_about(text: str, about: About) -> bool:
    """Whether the text of a requirement, as records keep it, speaks of this; False for an unknown word.

    >>> text_is_about("k = 10", About.SIZE), text_is_about("t = 0.2", About.SIZE), text_is_about("", About.SIZE)
    (True, False, False)
    """
    found = requirement_class(text.partition("=")[0].strip())
    return found is not None and found.about is about


# -- texts -----------------------------------------------------------------------------------------------


def rounded_text(number: Fraction | float, *, up: bool) -> str:
    """A figure with at most four digits behind the point, rounded to the side that promises less."""
    exact = Fraction(number) if isinstance(number, Fraction) else Fraction(round(number, 9))
    scaled = exact * 10**_DIGITS
    if not isinstance(number, Fraction) and abs(scaled - round(scaled)) < Fraction(1, 10**4):
        scaled = Fraction(round(scaled))  # 1.9999999999 is 2 seen through floating point
    cut = math.ceil(scaled) if up else math.floor(scaled)
    return decimal(Fraction(cut, 10**_DIGITS))


def share_text(part: Fraction) -> str:
    """A share as people read it.

    >>> share_text(Fraction(1, 3)), share_text(Fraction(1, 2))
    ('33.3 %', '50 %')
    """
    return f"{float(part):.3g}" if part > 1 else f"{float(100 * part):.3g} %"


def ordinal(number: int) -> str:
    """A place in an order.

    >>> [ordinal(number) for number in (1, 2, 3, 4, 11, 12, 13, 21, 102, 113)]
    ['1st', '2nd', '3rd', '4th', '11th', '12th', '13th', '21st', '102nd', '113th']
    """
    teens = 10 <= number % 100 <= 20
    return f"{number:,}" + ("th" if teens else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th"))
