"""A treatment: what is published instead of a value, of a column that is neither dropped nor a quasi-identifier.

A new treatment is a frozen dataclass and its registration; the policy language, source/treat.py, manifest and report
ask the class.  tests/treatments/ adds one from outside:

    @dataclass(frozen=True)
    class Shorten(Treatment):
        word = "SHORTEN"
        example = "SHORTEN (note TO 10)"
        length: Annotated[Fraction, ClausePart(("TO",), "a length from 1 to 100", least=1, most=100, whole=True)]

        def mistake(self, info): ...         # why the column cannot have it
        def expression(self, value): ...     # what is published, as SQL over the source's row
        def effect(self): ...                  # the same in words, for recipients

A treatment is applied to the source before anything is counted or judged, so requirements, the guard and the joint
check see what a recipient sees.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, get_type_hints

from sqlglot import exp

from ppdm_sql.engines.base import ColumnInfo, Engine
from ppdm_sql.requirements.declared import decimal
from ppdm_sql.statements.names import Word


@dataclass(frozen=True)
class ClausePart:
    """A number or a text behind some words: TO 100, KEEP LAST 4, BY ENTITY WITHIN 30 DAYS, FOR 'name'."""

    before: tuple[str, ...]
    legal: str  # the values there can be, as a refusal names them
    after: tuple[str, ...] = ()
    optional: bool = False
    text: bool = False
    least: int | None = None
    most: int | None = None
    whole: bool = False
    above: bool = False  # least itself is refused

    def holds(self, value: Fraction) -> bool:
        """Whether a number is legal."""
        if self.whole and value.denominator != 1:
            return False
        low = self.least is None or (value > self.least if self.above else value >= self.least)
        return low and (self.most is None or value <= self.most)

    def text_of(self, value: Fraction | str) -> str:
        """As a policy writes it."""
        shown = "'" + value.replace("'", "''") + "'" if isinstance(value, str) else decimal(value)
        return " ".join((*self.before, shown, *self.after))


@dataclass(frozen=True)
class RowValue:
    """What a treatment makes its expression of: the column, and the person's column and the secret where it has to."""

    engine: Engine
    column: exp.Expr
    info: ColumnInfo
    person: exp.Expr | None
    secret: str  # 64 hexadecimal digits; the engine hides them in what it shows


class Treatment(ABC):
    """One of the clauses.  Subclasses are frozen dataclasses whose fields are declared parts."""

    word: ClassVar[str]
    example: ClassVar[str]
    by_person: ClassVar[bool] = False  # it needs an ENTITY
    names_person: ClassVar[bool] = False  # its column is the person's, and is published all the same

    @abstractmethod
    def mistake(self, info: ColumnInfo) -> str | None:
        """Why a column cannot have it; None where it can."""

    @abstractmethod
    def expression(self, value: RowValue) -> exp.Expr:
        """What is published instead of the value; NULL for NULL."""

    @abstractmethod
    def effect(self) -> str:
        """What it does, in words for a recipient."""

    def wrong_rows(self, value: RowValue) -> tuple[exp.Expr, str] | None:
        """A condition that no row may meet, and what is wrong with rows that do."""
        return None

    @property
    def secret_scope(self) -> str | None:
        """Whose secret it takes: None for that of the release, else a recipient's."""
        return None

    @property
    def missing(self) -> str | None:
        """What its optional parts lack together."""
        return None

    def __str__(self) -> str:
        """The parts, as a policy writes them behind the column."""
        given = {name: getattr(self, name) for name in parts_of(type(self)) if getattr(self, name) is not None}
        return " ".join(part.text_of(given[name]) for name, part in parts_of(type(self)).items() if name in given)


@dataclass(frozen=True)
class Treated:
    """A column with its treatment, as written."""

    word: Word
    treatment: Treatment

    def __str__(self) -> str:
        return f"{self.treatment.word} {self.treatment}".strip()


def parts_of(treatment: type[Treatment]) -> Mapping[str, ClausePart]:
    """What a treatment declares, in order."""
    hints = get_type_hints(treatment, include_extras=True)
    names: Sequence[str] = [field.name for field in fields(treatment)]  # type: ignore[arg-type]
    return {name: hints[name].__metadata__[0] for name in names}


# -- registration ----------------------------------------------------------------------------------------

_BY_WORD: dict[str, type[Treatment]] = {}


def register(treatment: type[Treatment]) -> None:
    """Makes a treatment known to policies."""
    parts_of(treatment)
    if _BY_WORD.setdefault(treatment.word, treatment) is not treatment:
        raise ValueError(f"there is already a treatment {treatment.word}")


def unregister(treatment: type[Treatment]) -> None:
    """Takes back what register() did."""
    _BY_WORD.pop(treatment.word, None)


def treatment_words() -> tuple[str, ...]:
    """The clauses that there are."""
    return tuple(_BY_WORD)


def treatment_named(word: str) -> type[Treatment]:
    return _BY_WORD[word]


def literal(value: Any) -> exp.Expr:
    """A number of a policy as SQL."""
    number = exp.Literal.number(decimal(abs(Fraction(value))))
    return exp.Neg(this=number) if value < 0 else number
