"""MASK: the first or last characters of a text, and three stars instead of the others, however many there are."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from sqlglot import exp

from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.treatments.base import ClausePart, RowValue, Treatment, literal

STARS = "***"


@dataclass(frozen=True)
class Mask(Treatment):
    """A text that is no longer than what is kept would leave whole, and is refused."""

    word = "MASK"
    example = "MASK (phone KEEP 3)"
    last: Annotated[
        Fraction | None,
        ClausePart(("KEEP", "LAST"), "a whole number from 1 to 1,000", optional=True, least=1, most=1000, whole=True),
    ] = None
    first: Annotated[
        Fraction | None,
        ClausePart(("KEEP",), "a whole number from 0 to 1,000", optional=True, least=0, most=1000, whole=True),
    ] = None

    @property
    def missing(self) -> str | None:
        return None if (self.first is None) != (self.last is None) else "KEEP 3 or KEEP LAST 3, one of them"

    @property
    def length(self) -> Fraction:
        """How many characters."""
        return self.last if self.last is not None else self.first or Fraction(0)

    def mistake(self, info: ColumnInfo) -> str | None:
        return None if info.kind is Kind.TEXT else f"MASK is for texts, and the column is {info.kind.value}"

    def wrong_rows(self, value: RowValue) -> tuple[exp.Expr, str] | None:
        short = exp.LTE(this=exp.Length(this=value.column.copy()), expression=literal(self.length))
        return (short, f"at most {self.length} characters, all of which MASK would publish") if self.length else None

    def expression(self, value: RowValue) -> exp.Expr:
        text, stars = exp.cast(value.column.copy(), "TEXT"), exp.Literal.string(STARS)
        if not self.length:
            known = exp.Not(this=exp.Is(this=value.column.copy(), expression=exp.Null()))
            return exp.Case().when(known, stars)
        if self.last is not None:
            return exp.DPipe(this=stars, expression=exp.Right(this=text, expression=literal(self.length)))
        return exp.DPipe(this=exp.Left(this=text, expression=literal(self.length)), expression=stars)

    def effect(self) -> str:
        if not self.length:
            return f"{STARS} instead of every text"
        end = "last" if self.last is not None else "first"
        return f"the {end} {self.length} characters; {STARS} stands for the others"
