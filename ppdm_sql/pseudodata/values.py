"""The value of a column of a pseudo-row as SQL: its type, and how a draw becomes a number, a day or a category.

Types are those of the model's columns, as far as every engine has them: BIGINT, DECIMAL, DOUBLE, TEXT, BOOLEAN, DATE,
TIMESTAMP with and without a zone, UUID.  Whole numbers of steps (see domains.py) are drawn, and made into a DECIMAL,
a day or a moment by arithmetic that every engine does exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import floor, log10
from typing import Any

from sqlglot import exp

from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.pseudodata.domains import DAY, FIRST_DAY, Bounds, Domain, place_of, telling_places
from ppdm_sql.pseudodata.draws import PRIME, divide_whole, parts, scale_draw, scaled_wide
from ppdm_sql.pseudodata.paths import whole
from ppdm_sql.statements.names import column
from ppdm_sql.trees.comparing import MOMENTS, with_zone
from ppdm_sql.trees.tree import Attribute, Value

_ORIGIN = "0001-01-01"  # of moments: the hours and days since then are never negative
_HOUR = 3600
_TYPES = {
    Kind.INTEGER: "BIGINT",
    Kind.FLOAT: "DOUBLE",
    Kind.TEXT: "TEXT",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.DATE: "DATE",
    Kind.UUID: "UUID",
}
_SHORT, _LONG = 18, 38  # digits of a DECIMAL


# -- types -----------------------------------------------------------------------------------------------


def type_of(attribute: Attribute, numbers: Sequence[Fraction] = (), places: int = 0) -> str:
    """The type of a column; of a DECIMAL as wide as its numbers need, with the places it has or else those given.

    >>> type_of(Attribute("paid", Kind.DECIMAL, True, scale=2), [Fraction(900)])
    'DECIMAL(18, 2)'
    """
    if attribute.kind is Kind.TIMESTAMP:
        return "TIMESTAMPTZ" if attribute.zoned else "TIMESTAMP"
    if attribute.kind is not Kind.DECIMAL:
        return _TYPES[attribute.kind]
    before = max((len(str(int(abs(number)))) for number in numbers), default=1)
    scale = max(0, min(places if attribute.scale is None else attribute.scale, _LONG - before))
    return f"DECIMAL({_SHORT if before + scale <= _SHORT else _LONG}, {scale})"


def domain_type(domain: Domain) -> str:
    if domain.bounds is None:
        return listed_type(domain.attribute, domain.values)
    return type_of(domain.attribute, domain.bounds, max(0, _places(domain)))


def listed_type(attribute: Attribute, values: Sequence[Value]) -> str:
    """The type of a column that has these values and no others; a value it cannot have is refused."""
    if attribute.kind is Kind.INTEGER and any(not -(2**63) <= int(str(value)) < 2**63 for value in values):
        raise PolicyError(
            f'column "{attribute.name}" has a value of more than 64 bits: no pseudo-rows can be made from it'
        )
    if attribute.kind in MOMENTS:
        days = [place_of(attribute, str(value)) / (1 if attribute.kind is Kind.DATE else DAY) for value in values]
        if any(not FIRST_DAY <= day < FIRST_DAY + 3_652_059 for day in days):
            raise PolicyError(f'column "{attribute.name}" has a value beyond the years 1 to 9999')
    numbers = [Decimal(str(value)) for value in values if attribute.kind is Kind.DECIMAL]
    finite = [number for number in numbers if number.is_finite()]
    places = max((-int(number.as_tuple().exponent) for number in finite), default=0)
    return type_of(attribute, [Fraction(number) for number in finite], max(0, places))


def category_text(attribute: Attribute, value: Value) -> str | None:
    """A category as the text that a cast makes it from."""
    if value is None or isinstance(value, str):
        zoned = attribute.kind is Kind.TIMESTAMP and attribute.zoned and value is not None
        return with_zone(str(value)) if zoned else value
    if isinstance(value, bool):
        return str(value).lower()
    return format(value, "f") if isinstance(value, Decimal) else str(value)


# -- what a draw needs -----------------------------------------------------------------------------------


def is_wide(domain: Domain, ranges: Sequence[Bounds]) -> bool:
    """Whether some range has more values than one draw can reach."""
    return domain.steps is not None and any(whole(one, domain.steps)[1] > PRIME for one in ranges)


def range_figures(domain: Domain, number: int, ranges: Sequence[Bounds], *, wide: bool) -> dict[str, list[Any]]:
    """Per range where its values begin and how many there are, or how wide it is."""
    if domain.steps is None:
        return {
            f"ppdm_lo{number}": [float(low) for low, _ in ranges],
            f"ppdm_w{number}": [float(high - low) for low, high in ranges],
        }
    assert domain.bounds is not None
    first, size = whole(domain.bounds, domain.steps)
    counted = [whole(one, domain.steps) for one in ranges]
    # a leaf has rows, even where its range has no value: then the nearest one
    lows = [min(low, first + max(size, 1) - 1) - _origin(domain) for low, _ in counted]
    sizes = [max(1, found) for _, found in counted]
    figures = {f"ppdm_lo{number}": lows, f"ppdm_n{number}": sizes}
    if wide:
        halves = [parts(one) for one in sizes]
        figures |= {f"ppdm_h{number}": [high for high, _ in halves], f"ppdm_l{number}": [low for _, low in halves]}
    return figures


def _origin(domain: Domain) -> int:
    if domain.attribute.kind is Kind.DATE:
        return FIRST_DAY
    return FIRST_DAY * DAY * int(domain.steps or 1) if domain.attribute.kind is Kind.TIMESTAMP else 0


# -- the value -------------------------------------------------------------------------------------------


def category_from_text(domain: Domain, text: exp.Expr) -> exp.Expr:
    """A category, from its text."""
    return text if domain.attribute.kind is Kind.TEXT else exp.cast(text, domain_type(domain))


def range_value(domain: Domain, number: int, draws: tuple[exp.Expr, exp.Expr], figures: str, *, wide: bool) -> exp.Expr:
    """A number or a moment; figures: the alias of the table that knows where its range begins and how wide it is."""
    low = column(f"ppdm_lo{number}", figures)
    if domain.steps is None:
        return _real(domain, low, column(f"ppdm_w{number}", figures), draws[0])
    size = column(f"ppdm_n{number}", figures)
    if wide:
        high, rest = column(f"ppdm_h{number}", figures), column(f"ppdm_l{number}", figures)
        offset = scaled_wide(draws, high, rest, size)
    else:
        offset = scale_draw(draws[0], size)
    return _value_at_step(domain, exp.Add(this=low, expression=exp.Paren(this=offset)))


def _value_at_step(domain: Domain, steps: exp.Expr) -> exp.Expr:
    """A whole number of steps as a value of the column's type."""
    kind = domain.attribute.kind
    if kind is Kind.DATE:
        days = exp.cast(steps, "INT")
        return exp.cast(exp.Add(this=exp.cast(exp.Literal.string(_ORIGIN), "DATE"), expression=days), "DATE")
    if kind is Kind.TIMESTAMP:
        return _moment(domain, steps, int(domain.steps or 1))
    if kind is Kind.DECIMAL:
        places = _places(domain)
        unit = exp.Literal.string(format(Decimal(1).scaleb(-places), "f"))
        one = exp.cast(unit, f"DECIMAL({abs(places) + 1}, {max(0, places)})")
        # 20 digits, so that no engine multiplies in 64 bits
        product = exp.Mul(this=exp.cast(steps, "DECIMAL(20, 0)"), expression=one)
        return exp.cast(product, domain_type(domain))
    return steps


def _moment(domain: Domain, steps: exp.Expr, each: int) -> exp.Expr:
    """The origin and hours, seconds and microseconds: intervals that no zone's clock changes, each a small number."""
    kind = domain_type(domain)
    zone = "+00" if domain.attribute.zoned else ""
    moment: exp.Expr = exp.cast(exp.Literal.string(f"{_ORIGIN} 00:00:00{zone}"), kind)
    seconds = steps if each == 1 else divide_whole(steps, each)
    counted = [("HOUR", divide_whole(seconds, _HOUR)), ("SECOND", _rest(seconds, _HOUR))]
    if each != 1:
        counted.append(("MICROSECOND", _rest(steps, each)))
    for unit, count in counted:
        one = exp.Interval(this=exp.Literal.string("1"), unit=exp.Var(this=unit))
        moment = exp.Add(this=moment, expression=exp.Mul(this=one, expression=exp.Paren(this=count)))
    return exp.cast(moment, kind)


def _rest(value: exp.Expr, by: int) -> exp.Expr:
    return exp.Mod(this=exp.Paren(this=value.copy()), expression=exp.Literal.number(by))


def _places(domain: Domain) -> int:
    """Of steps of 10^-n the n; below 0 where a step is more than one."""
    steps = domain.steps or Fraction(1)
    return len(str(steps.numerator)) - len(str(steps.denominator))


def _real(domain: Domain, low: exp.Expr, width: exp.Expr, draw: exp.Expr) -> exp.Expr:
    """A real number with about four telling digits: low + width * share."""
    assert domain.bounds is not None
    most = max(abs(float(end)) for end in domain.bounds)
    places = min(telling_places(domain.bounds[1] - domain.bounds[0]), max(0, 15 - floor(log10(most))))
    share = exp.Div(this=exp.cast(draw, "DOUBLE"), expression=_double(float(PRIME)))
    exact = exp.Add(this=low, expression=exp.Mul(this=width, expression=exp.Paren(this=share)))
    # floor and not the nearest: the value stays below the upper end of its interval
    tens = _double(float(10**places))
    cut = exp.Floor(this=exp.Mul(this=exp.Paren(this=exact), expression=tens))
    rounded = exp.Div(this=exp.cast(cut, "DOUBLE"), expression=tens.copy())
    return exp.Case(
        ifs=[exp.If(this=exp.LT(this=rounded, expression=low.copy()), true=low.copy())], default=rounded.copy()
    )


def _double(number: float) -> exp.Expr:
    return exp.cast(exp.Literal.string(repr(number)), "DOUBLE")
