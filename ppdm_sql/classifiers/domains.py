"""What a model knows of an attribute's values: the categories it names, or the boundaries of its bins.

Either way a known value has a code.  Categories: 0, 1, ... in the order of the values, and one more code for all
values that are not named, rare ones and those never seen.  Bins: 0, 1, ... from the least numbers to the greatest;
NaN is the greatest number and so in the last bin.  NULL has the code after all others.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

from sqlglot import exp

from ppdm_sql.classifiers.document_reader import Reading
from ppdm_sql.classifiers.values import (
    MOMENTS,
    category,
    double,
    literal,
    number,
    operand,
    value_from_dict,
    value_to_dict,
)
from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.errors import EngineError, PolicyError
from ppdm_sql.source.lines import moment_line
from ppdm_sql.statements.names import column, identifier
from ppdm_sql.trees.comparing import in_utc, read_moment, rounded_up, with_zone
from ppdm_sql.trees.tree import Attribute, Value

MOST_BRANCHES = 32  # of a CASE over categories; above it a join is quicker and no harder to read
KEY = "ppdm_v"
_INFINITE = 1 << 200
_FURTHEST = Decimal(1 << 128)  # beyond every whole number and every DECIMAL of 38 digits

Boundary: TypeAlias = Decimal | str  # a number, or a moment as the engine writes it


@dataclass(frozen=True)
class CategoricalDomain:
    """The named values of an attribute, in their order."""

    values: tuple[Value, ...]

    @property
    def size(self) -> int:
        return len(self.values) + 1

    @cached_property
    def _codes(self) -> dict[Value, int]:
        return {value: code for code, value in enumerate(self.values)}

    def code_of(self, attribute: Attribute, value: object) -> int:
        if value is None:
            return self.size
        return self._codes.get(category(value, attribute.kind), len(self.values))


@dataclass(frozen=True)
class NumericDomain:
    """The boundaries of an attribute's bins, rising: a value on a boundary is in the upper bin."""

    boundaries: tuple[Boundary, ...]

    @property
    def size(self) -> int:
        return len(self.boundaries) + 1

    @cached_property
    def _places(self) -> list[Decimal | float | int]:
        return [place_of(boundary) for boundary in self.boundaries]

    @cached_property
    def _floats(self) -> list[float]:
        return [float(boundary) for boundary in self.boundaries]

    def code_of(self, attribute: Attribute, value: object) -> int:
        if value is None:
            return self.size
        if value != value:  # NaN
            return self.size - 1
        if attribute.kind is Kind.FLOAT:
            return bisect_right(self._floats, float(str(value)))
        return bisect_right(self._places, place_of(value))


Domain: TypeAlias = CategoricalDomain | NumericDomain


def place_of(value: object) -> Decimal | float | int:
    """Where a value lies on its line: a number as it is, a moment in nanoseconds since 1970 (UTC).

    >>> place_of("1970-01-01 00:00:01.5") == place_of("1970-01-01 02:00:01.5+02"), place_of("-infinity") < 0
    (True, True)
    """
    if isinstance(value, int | float | Decimal):
        return value
    text = str(value)
    if text.lstrip("+-").lower() in ("infinity", "inf"):
        return -_INFINITE if text.startswith("-") else _INFINITE
    tick = int(moment_line([text], ColumnInfo("", Kind.TIMESTAMP, "")).ticks[0])
    in_nanoseconds = re.search(r"\.\d{6}\d*[1-9]", text) is not None
    return tick if in_nanoseconds else tick * 1000


# -- SQL ---------------------------------------------------------------------------------------------------


def boundary_literal(boundary: Boundary, attribute: Attribute) -> exp.Expr:
    if isinstance(boundary, Decimal):
        if attribute.kind is Kind.FLOAT:
            return double(float(boundary))
        if abs(boundary) > _FURTHEST:  # only a file says so: not every engine can read so many digits
            return double(math.copysign(1e308, boundary))
        return literal(int(boundary) if attribute.kind is Kind.INTEGER else boundary, attribute.kind)
    if attribute.kind is Kind.DATE:
        return exp.cast(exp.Literal.string(boundary), "DATE")
    if attribute.zoned:  # without its zone it would be read in that of the session
        return exp.cast(exp.Literal.string(with_zone(boundary)), "TIMESTAMPTZ")
    return exp.cast(exp.Literal.string(in_utc(boundary)), "TIMESTAMP")


def comparable_column(attribute: Attribute, plain: exp.Expr) -> exp.Expr:
    """An ordered column as it is compared with boundaries: short floats as long ones, so that nothing is rounded."""
    return exp.cast(plain, "DOUBLE") if attribute.kind is Kind.FLOAT else plain


def bins_case(attribute: Attribute, bins: NumericDomain, plain: exp.Expr, results: Sequence[exp.Expr]) -> exp.Expr:
    """The result of the row's bin; the last result is NULL's.  Halved at every step, so it is never deep.

    >>> age = Attribute("age", Kind.INTEGER, True)
    >>> codes = [exp.Literal.number(code) for code in range(4)]
    >>> bins_case(age, NumericDomain((Decimal(20), Decimal(30))), column("age"), codes).sql("duckdb")
    'CASE WHEN "age" IS NULL THEN 3 WHEN "age" < 30 THEN CASE WHEN "age" < 20 THEN 0 ELSE 1 END ELSE 2 END'
    """

    def half_case(low: int, high: int) -> exp.Expr:
        if high - low == 1:
            return results[low].copy()
        middle = (low + high) // 2 + (high - low) % 2
        below = exp.LT(
            this=comparable_column(attribute, plain.copy()),
            expression=boundary_literal(bins.boundaries[middle - 1], attribute),
        )
        return exp.Case(ifs=[exp.If(this=below, true=half_case(low, middle))], default=half_case(middle, high))

    missing = exp.If(this=exp.Is(this=plain.copy(), expression=exp.Null()), true=results[-1].copy())
    known = half_case(0, bins.size)
    if isinstance(known, exp.Case):
        return exp.Case(ifs=[missing, *known.args["ifs"]], default=known.args["default"])
    return exp.Case(ifs=[missing], default=known)


def categories_case(
    attribute: Attribute, values: CategoricalDomain, plain: exp.Expr, results: Sequence[exp.Expr]
) -> exp.Expr:
    """The result of the row's category; the last two results are that of all others and NULL's."""
    missing = exp.If(this=exp.Is(this=plain.copy(), expression=exp.Null()), true=results[-1].copy())
    named = [
        exp.If(this=exp.EQ(this=plain.copy(), expression=literal(value, attribute.kind)), true=result.copy())
        for value, result in zip(values.values, results, strict=False)
    ]
    return exp.Case(ifs=[missing, *named], default=results[-2].copy())


def is_listed(domain: Domain) -> bool:
    """Whether the domain is too long for a CASE and stands in a list of its own."""
    return isinstance(domain, CategoricalDomain) and len(domain.values) > MOST_BRANCHES


def values_list(values: CategoricalDomain, rows: Sequence[Sequence[int]], alias: str) -> exp.Values:
    """A list (ppdm_v, ppdm_w0, ppdm_w1, ...) to be joined: one line per named category."""
    lines = [
        exp.Tuple(expressions=[exp.Literal.string(str(value)), *map(number, row)])
        for value, row in zip(values.values, rows, strict=True)
    ]
    names = [KEY, *(f"ppdm_w{place}" for place in range(len(rows[0])))]
    return exp.Values(
        expressions=lines, alias=exp.TableAlias(this=identifier(alias), columns=[identifier(name) for name in names])
    )


def join_values(query: exp.Select, source: exp.Expr, alias: str, plain: exp.Expr) -> exp.Select:
    on = exp.EQ(this=column(KEY, alias), expression=plain.copy())
    return query.join(source, on=on, join_type="left", copy=False)


def code_case(attribute: Attribute, domain: Domain, engine: Engine | None, table: str) -> exp.Expr:
    """The row's code as an expression; for domains that are not listed."""
    plain = operand(attribute, engine, table)
    codes = [number(code) for code in range(domain.size + 1)]
    if isinstance(domain, NumericDomain):
        return bins_case(attribute, domain, plain, codes)
    return categories_case(attribute, domain, plain, codes)


def fit_boundary(boundary: Boundary, attribute: Attribute) -> Boundary:
    """A boundary for a column of another type than the model was learned from: every value stays on its side of it.

    >>> fit_boundary(Decimal("30.5"), Attribute("age", Kind.INTEGER, True))
    Decimal('31')
    """
    places = 0 if attribute.kind is Kind.INTEGER else attribute.scale
    if isinstance(boundary, str) or attribute.kind is Kind.FLOAT or places is None:
        return boundary
    return rounded_up(boundary, places)


# -- JSON --------------------------------------------------------------------------------------------------


def boundary_to_dict(boundary: Boundary) -> dict[str, object]:
    return {"decimal": str(boundary)} if isinstance(boundary, Decimal) else {"moment": boundary}


def boundary_from_dict(given: Reading, attribute: Attribute) -> Boundary:
    given.only(["moment" if attribute.kind in MOMENTS else "decimal"])
    if attribute.kind not in MOMENTS:
        boundary = given["decimal"].decimal()
        if attribute.kind is Kind.INTEGER and boundary != int(boundary):
            given.refuse("is not a whole number")
        return boundary
    text = given["moment"].text(least=1)
    moment = read_moment(text)
    if moment is None or (attribute.kind is Kind.DATE and moment[0] % 86_400):
        given.refuse("is not a date or time")
    try:
        place_of(text)
    except (EngineError, ValueError, OverflowError):
        given.refuse("is not a date or time")
    if text.lstrip("+-").lower().startswith("inf"):
        given.refuse("is not a date or time")
    return text


def domain_to_dict(attribute: Attribute, domain: Domain) -> dict[str, object]:
    if isinstance(domain, NumericDomain):
        return {"boundaries": [boundary_to_dict(boundary) for boundary in domain.boundaries]}
    return {"categories": [value_to_dict(value, attribute.kind) for value in domain.values]}


def domain_from_dict(given: Reading, attribute: Attribute) -> Domain:
    if attribute.ordered:
        boundaries = [boundary_from_dict(part, attribute) for part in given["boundaries"].items()]
        places = [place_of(boundary) for boundary in boundaries]
        if any(low >= high for low, high in pairwise(places)):
            given.refuse("has thresholds that are not in ascending order")
        return NumericDomain(tuple(boundaries))
    values = [value_from_dict(part, attribute.kind) for part in given["categories"].items()]
    if len(set(values)) != len(values):
        given.refuse("names a category twice")
    return CategoricalDomain(tuple(values))


def checked_names(attributes: Sequence[Attribute], target: Attribute, given: Reading) -> None:
    names = [attribute.name for attribute in (*attributes, target)]
    if len(set(names)) != len(names):
        given.refuse("names a column twice")
    if any(attribute.ordered != attribute.kind.is_ordered for attribute in attributes):
        given.refuse("has a column whose order does not match its kind")


def refuse_listed(attribute: Attribute, named: int, most: int) -> None:
    if named > most:
        raise PolicyError(
            f'column "{attribute.name}" has more than {most} categories that are not rare: group its values first, or '
            "leave it out"
        )
