"""What each column of a relation is: one GROUP BY per column, and counts are all that comes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlglot import exp

from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.profile.patterns import VALUE_PATTERNS, Look, ValueCounts, look_of
from ppdm_sql.source.encode import canonical
from ppdm_sql.statements.names import Name, aliased, column

_VALUE, _ROWS = "ppdm_value", "ppdm_rows"
_SPELT = frozenset({Kind.TEXT, Kind.UUID, Kind.INTEGER})  # whose values have a form worth testing
_FRACTIONAL = frozenset({Kind.FLOAT, Kind.DECIMAL})  # which hold whole numbers where a file had some NULLs
_LARGEST = 10**15  # of the whole numbers that a double keeps exactly


@dataclass(frozen=True)
class ColumnProfile:
    """The figures of one column; NULL counts as a value of its own where rows are compared."""

    info: ColumnInfo
    rows: int
    nulls: int
    distinct: int  # known values
    unique_rows: int  # rows whose value nobody else has
    alike_pairs: int  # ordered pairs of rows with the same value
    shortest: int | None = None  # characters of the values; None where they are no texts or whole numbers
    longest: int | None = None
    span: int | None = None  # of whole numbers: how many lie between the smallest and the largest one
    is_whole: bool = False  # also where the type has decimals and no value does
    look: Look | None = None

    @property
    def name(self) -> str:
        return self.info.name

    @property
    def classes(self) -> int:
        return self.distinct + (self.nulls > 0)

    @property
    def unique_share(self) -> Fraction:
        return Fraction(self.unique_rows, max(self.rows, 1))

    @property
    def distinction(self) -> Fraction:
        """Different values per row (Motwani and Xu 2007, as ARX shows it)."""
        return Fraction(self.classes, max(self.rows, 1))

    @property
    def separation(self) -> Fraction:
        """The share of the pairs of rows that the column sets apart (Motwani and Xu 2007)."""
        pairs = self.rows * (self.rows - 1)
        return 1 - Fraction(self.alike_pairs, pairs) if pairs else Fraction(0)

    def as_json(self) -> dict[str, Any]:
        return {
            "column": self.name,
            "type": self.info.shape,
            "rows": self.rows,
            "nulls": self.nulls,
            "distinct": self.distinct,
            "unique_rows": self.unique_rows,
            "unique_share": float(self.unique_share),
            "distinction": float(self.distinction),
            "separation": float(self.separation),
            "looks_like": None if self.look is None else self.look.meaning,
            "matching_share": None if self.look is None or self.look.by_values is None else float(self.look.by_values),
        }


def figure_text(figure: Fraction) -> str:
    """A figure between 0 and 1, never as a power of ten.

    >>> figure_text(Fraction(2, 3)), figure_text(Fraction(2, 32561)), figure_text(Fraction(0))
    ('0.667', '< 0.0001', '0')
    """
    return "< 0.0001" if 0 < figure < Fraction(1, 10_000) else f"{float(figure):.3g}"


def profile_column(engine: Engine, relation: Name, info: ColumnInfo) -> ColumnProfile:
    """One statement: the values of the column with their rows, and figures over these."""
    spelt, fractional = info.kind in _SPELT, info.kind in _FRACTIONAL
    figures = [*_figures(), *(_forms(info.kind) if spelt else _whole_numbers() if fractional else ())]
    query = exp.Select(expressions=figures).from_(_values(engine, relation, info))
    rows, nulls, distinct, unique, pairs, *more = (int(figure or 0) for figure in engine.fetch_one(query))
    is_whole = info.kind is Kind.INTEGER
    shortest, longest, span, *matches = more or (0, 0, 0)
    if fractional:
        is_whole = matches.pop() == rows - nulls > 0
    look = _look(info, rows - nulls, distinct, matches, is_whole=is_whole)
    if not (spelt or is_whole):
        return ColumnProfile(info, rows, nulls, distinct, unique, pairs, look=look)
    return ColumnProfile(
        info, rows, nulls, distinct, unique, pairs, shortest, longest, span if is_whole else None, is_whole, look
    )


def _look(info: ColumnInfo, known: int, distinct: int, matches: Sequence[int], *, is_whole: bool) -> Look | None:
    counts = ValueCounts(known, distinct, dict(zip(VALUE_PATTERNS, matches, strict=False)))
    return look_of(
        info.name, counts, is_text=info.kind in (Kind.TEXT, Kind.UUID),
        is_moment=info.kind in (Kind.DATE, Kind.TIMESTAMP), is_whole=is_whole,
    )  # fmt: skip


def _values(engine: Engine, relation: Name, info: ColumnInfo) -> exp.Subquery:
    value = canonical(engine, info)
    picked = [aliased(value, _VALUE), aliased(exp.Count(this=exp.Star()), _ROWS)]
    grouped = exp.Select(expressions=picked).from_(relation.table()).group_by(value.copy())
    return exp.Subquery(this=grouped, alias=exp.TableAlias(this=exp.to_identifier("ppdm_values")))


def _figures() -> list[exp.Expr]:
    rows, one = column(_ROWS), exp.Literal.number(1)
    wide = exp.cast(rows.copy(), "DECIMAL(18, 0)")
    others = exp.Paren(this=exp.Sub(this=rows.copy(), expression=one.copy()))
    return [
        exp.Sum(this=rows.copy()),
        _rows_where(exp.Is(this=column(_VALUE), expression=exp.Null())),
        exp.Count(this=column(_VALUE)),
        _rows_where(exp.EQ(this=rows.copy(), expression=one)),
        exp.Sum(this=exp.Mul(this=wide, expression=others)),
    ]


def _forms(kind: Kind) -> list[exp.Expr]:
    """Lengths, the span of whole numbers, and the rows whose value matches each pattern."""
    text: exp.Expr = exp.cast(column(_VALUE), "TEXT")
    length = exp.Length(this=text.copy())
    span: exp.Expr = exp.Literal.number(0)
    if kind is Kind.INTEGER:
        wide = exp.cast(column(_VALUE), "DOUBLE")
        span = exp.Sub(this=exp.Max(this=wide), expression=exp.Min(this=wide.copy()))
    patterns = [
        _rows_where(exp.RegexpLike(this=text.copy(), expression=exp.Literal.string(pattern)))
        for pattern in VALUE_PATTERNS.values()
    ]
    return [exp.Min(this=length), exp.Max(this=length.copy()), span, *patterns]


def _whole_numbers() -> list[exp.Expr]:
    """Lengths and the span of the values without decimals, and how many rows have one."""
    value, largest = column(_VALUE), exp.Literal.number(_LARGEST)
    whole = exp.and_(
        exp.LT(this=exp.Abs(this=value.copy()), expression=largest),
        exp.EQ(this=exp.Floor(this=value.copy()), expression=value.copy()),
    )
    number = exp.case().when(whole, exp.cast(value.copy(), "BIGINT"))
    length = exp.Length(this=exp.cast(number.copy(), "TEXT"))
    span = exp.Sub(this=exp.Max(this=number.copy()), expression=exp.Min(this=number.copy()))
    return [exp.Min(this=length), exp.Max(this=length.copy()), span, _rows_where(whole.copy())]


def _rows_where(condition: exp.Expr) -> exp.Expr:
    return exp.Sum(this=exp.case().when(condition, column(_ROWS)).else_(exp.Literal.number(0)))
