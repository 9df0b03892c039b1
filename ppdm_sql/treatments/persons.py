"""PSEUDONYM and SHIFT: a number instead of a person, and dates moved by a number of days of the person's own.

Both are keyed: without the secret, which stays in the catalog, nobody can work them out for a known person.  A
pseudonym is 60 bits of a hash over the secret and a hash over the secret and the value; source/treat.py makes sure that
two persons never share one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from sqlglot import exp

from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.statements.rowtext import hash_numbers
from ppdm_sql.treatments.base import ClausePart, RowValue, Treatment, literal

_MOST_DAYS = 36_500


@dataclass(frozen=True)
class Pseudonym(Treatment):
    """The same person has the same pseudonym in every row of a release; with FOR in every release for a recipient."""

    word = "PSEUDONYM"
    example = "PSEUDONYM (patient_id)"
    names_person = True
    recipient: Annotated[
        str | None, ClausePart(("FOR",), "the name of a recipient, as in FOR 'registry'", optional=True, text=True)
    ] = None

    @property
    def secret_scope(self) -> str | None:
        return self.recipient

    def mistake(self, info: ColumnInfo) -> str | None:
        return "PSEUDONYM takes a column whose values can be printed" if info.kind is Kind.UNSUPPORTED else None

    def wrong_rows(self, value: RowValue) -> tuple[exp.Expr, str]:
        return exp.Is(this=value.column.copy(), expression=exp.Null()), "NULL, which has no PSEUDONYM"

    def expression(self, value: RowValue) -> exp.Expr:
        return exp.cast(_keyed_number(value, value.column, self.word), "TEXT")

    def effect(self) -> str:
        if self.recipient is None:
            return "a pseudonym of the person, the same in every row and every state of this release"
        return f"a pseudonym of the person, the same in every release for {self.recipient}"


@dataclass(frozen=True)
class Shift(Treatment):
    """All dates of a person move by the same number of days, so that the time between two of them stays."""

    word = "SHIFT"
    example = "SHIFT (admitted BY ENTITY WITHIN 30 DAYS)"
    by_person = True
    days: Annotated[
        Fraction,
        ClausePart(
            ("BY", "ENTITY", "WITHIN"),
            "a whole number from 1 to 36,500",
            ("DAYS",),
            least=1,
            most=_MOST_DAYS,
            whole=True,
        ),
    ]

    def mistake(self, info: ColumnInfo) -> str | None:
        if info.kind in (Kind.DATE, Kind.TIMESTAMP):
            return None
        return f"SHIFT is for dates and timestamps, and the column is {info.kind.value}"

    def wrong_rows(self, value: RowValue) -> tuple[exp.Expr, str] | None:
        if value.person is None:
            return None
        return exp.Is(this=value.person.copy(), expression=exp.Null()), "no ENTITY, by which SHIFT moves dates"

    def expression(self, value: RowValue) -> exp.Expr:
        assert value.person is not None  # source/treat.py refuses a SHIFT without ENTITY
        places = literal(2 * self.days + 1)
        number = exp.Mod(this=_keyed_number(value, value.person, self.word), expression=places)
        days = exp.Paren(this=exp.Sub(this=number, expression=literal(self.days)))
        day = exp.Interval(this=exp.Literal.string("1"), unit=exp.Var(this="DAY"))
        moved = exp.Add(this=value.column.copy(), expression=exp.Mul(this=days, expression=day))
        return exp.cast(exp.Paren(this=moved), value.info.declared)

    def effect(self) -> str:
        return f"moved by up to {self.days} days, all of a person by the same number"


def _keyed_number(value: RowValue, of: exp.Expr, purpose: str) -> exp.Expr:
    """60 bits of a keyed hash, hashed twice so that nothing can be appended to what was hashed."""
    key = f"{purpose}|{value.secret}"
    inner = hash_numbers(value.engine, [of], salt=key)
    return hash_numbers(value.engine, list(inner), salt=key)[0]
