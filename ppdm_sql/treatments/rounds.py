"""ROUND: numbers to multiples of a step, and what lies above or below a bound at that bound (top and bottom coding)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from sqlglot import exp

from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.requirements.declared import decimal
from ppdm_sql.treatments.base import ClausePart, RowValue, Treatment, literal

_NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT)
_MOST = 10**15


@dataclass(frozen=True)
class Round(Treatment):
    """Half of a step goes up.  A value keeps its type; a bound applies after rounding."""

    word = "ROUND"
    example = "ROUND (salary TO 100 TOP 100000 BOTTOM 0)"
    step: Annotated[
        Fraction | None,
        ClausePart(("TO",), "a number above 0", optional=True, least=0, above=True, most=_MOST),
    ] = None
    top: Annotated[Fraction | None, ClausePart(("TOP",), "a number", optional=True, least=-_MOST, most=_MOST)] = None
    bottom: Annotated[Fraction | None, ClausePart(("BOTTOM",), "a number", optional=True, least=-_MOST, most=_MOST)] = (
        None
    )

    @property
    def missing(self) -> str | None:
        if self.step is None and self.top is None and self.bottom is None:
            return "TO, TOP or BOTTOM"
        if self.top is not None and self.bottom is not None and self.top <= self.bottom:
            return "a TOP above BOTTOM"
        return None

    def mistake(self, info: ColumnInfo) -> str | None:
        if info.kind not in _NUMBERS:
            return f"ROUND is for numbers, and the column is {info.kind.value}"
        given = [one for one in (self.step, self.top, self.bottom) if one is not None]
        if info.kind is Kind.INTEGER and any(one.denominator != 1 for one in given):
            return "the column holds whole numbers: write whole numbers in ROUND"
        return None

    def expression(self, value: RowValue) -> exp.Expr:
        number = value.column.copy()
        if self.step is not None:
            number = self._round(number, value.info.kind)
        cases = exp.Case()
        for bound, outside in ((self.top, exp.GT), (self.bottom, exp.LT)):
            if bound is not None:
                cases = cases.when(outside(this=number.copy(), expression=literal(bound)), literal(bound))
        made = cases.else_(number) if cases.args.get("ifs") else number
        return exp.cast(made, value.info.declared)

    def _round(self, number: exp.Expr, kind: Kind) -> exp.Expr:
        assert self.step is not None
        if kind is Kind.INTEGER:
            return self._round_whole(exp.cast(number, "BIGINT"))
        over, under = literal(self.step.numerator), literal(self.step.denominator)
        wide = exp.cast(number, "DOUBLE")
        steps = exp.Div(this=exp.Mul(this=wide, expression=under.copy()), expression=over.copy(), typed=False)
        half = exp.Add(this=exp.Paren(this=steps), expression=exp.Literal.number("0.5"))
        whole = exp.Mul(this=exp.Floor(this=half), expression=over)
        return exp.Paren(this=exp.Div(this=exp.Paren(this=whole), expression=under))

    def _round_whole(self, number: exp.Expr) -> exp.Expr:
        """In whole numbers, because large ones have no exact floating point."""
        assert self.step is not None
        step, half = literal(self.step), literal(self.step.numerator // 2)
        moved = exp.Paren(this=exp.Add(this=number, expression=half))
        rest = exp.Mod(this=moved.copy(), expression=step.copy())
        above = exp.Mod(this=exp.Paren(this=exp.Add(this=rest, expression=step.copy())), expression=step)
        return exp.Paren(this=exp.Sub(this=moved, expression=above))

    def effect(self) -> str:
        said = [] if self.step is None else [f"rounded to multiples of {decimal(self.step)}"]
        said += [] if self.top is None else [f"values above {decimal(self.top)} as {decimal(self.top)}"]
        said += [] if self.bottom is None else [f"values below {decimal(self.bottom)} as {decimal(self.bottom)}"]
        return ", ".join(said)
