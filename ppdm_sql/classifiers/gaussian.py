"""Gaussian attributes: per class how many rows, their sum and their sum of squares, as exact integers.

Floating-point sums depend on the order in which rows come, so numbers are first put on a grid of whole steps:
step = floor((x - origin) / 2^exponent + 1/2).  The origin is a round number between the least and the greatest value
and the exponent the least for which every step is below 2^30; neither is anybody's value.  Steps are added exactly.

Infinity and NaN have no mean: rows with them are left out, and when predicting they say nothing, like NULL.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np
from sqlglot import exp

from ppdm_sql.classifiers.cells import CLASS, ROWS, VALUE, AttributeCells
from ppdm_sql.classifiers.document_reader import Reading
from ppdm_sql.classifiers.values import MOST_WEIGHT, UNIT, double, fetch_expression, number
from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.source.lines import number_line
from ppdm_sql.statements.names import aliased, column
from ppdm_sql.trees.tree import Attribute

LEAST_VARIANCE = Fraction(1, 10_000)  # of a class, as a share of the whole column's: a hundredth of its deviation
_FURTHEST = 1 << 40  # steps; training has none beyond 2^30
_STEP = "ppdm_step"


@dataclass(frozen=True)
class Gaussian:
    """The moments of an attribute: (rows, sum of steps, sum of squared steps) per class."""

    origin: Decimal
    exponent: int
    moments: tuple[tuple[int, int, int], ...]

    @cached_property
    def curves(self) -> tuple[tuple[float, float, float], ...]:
        """Per class (height, slope, centre): a value's weight is floor(height - slope * (step - centre)^2).

        A class without rows has the curve of the whole column.  A class whose rows are all alike, or that has
        only one, is as wide as LEAST_VARIANCE says.  A column that is the same everywhere says nothing.
        """
        whole = mean_and_variance(*(sum(part) for part in zip(*self.moments, strict=True)))
        if whole is None or whole[1] == 0:
            return tuple((0.0, 0.0, 0.0) for _ in self.moments)
        curves = []
        for moments in self.moments:
            mean, variance = mean_and_variance(*moments) or whole
            variance = max(variance, whole[1] * LEAST_VARIANCE)
            # relative to the whole column's curve: the same for all classes, and small numbers stay exact
            height = -math.log(float(variance / whole[1])) / 2 * UNIT + 0.5
            curves.append((height, UNIT / float(2 * variance), float(mean)))
        return tuple(curves)

    @property
    def scale(self) -> float:
        return math.ldexp(1.0, -self.exponent)

    @cached_property
    def limits(self) -> tuple[float, float, float]:
        """From where on values are the furthest away, below and above, and how near is no step at all."""
        width = math.ldexp(1.0, min(40 + self.exponent, 1022))
        return float(self.origin) - width, float(self.origin) + width, math.ldexp(1.0, self.exponent - 2)

    def step(self, x: float) -> float:
        """The value on the grid; 2^40 steps away, whatever the class, nothing more can be lost."""
        low, high, near = self.limits
        if x >= high or x <= low:
            return float(_FURTHEST if x >= high else -_FURTHEST)
        away = x - float(self.origin)
        return 0.0 if -near < away < near else float(math.floor(away * self.scale + 0.5))

    def weights(self, value: object) -> tuple[int, ...]:
        """What a value says for each class; the same operations in the same order as in SQL."""
        size = len(self.moments)
        x = math.nan if value is None else float(str(value))
        if not math.isfinite(x):
            return (0,) * size
        step = self.step(x)
        found = []
        for height, slope, centre in self.curves:
            weight = height - slope * (step - centre) * (step - centre)
            found.append(-MOST_WEIGHT if weight < -MOST_WEIGHT else math.floor(weight))
        return tuple(found)


def mean_and_variance(rows: int, total: int, squares: int) -> tuple[Fraction, Fraction] | None:
    """Mean and variance; None without rows."""
    if rows == 0:
        return None
    mean = Fraction(total, rows)
    return mean, Fraction(squares, rows) - mean * mean


# -- SQL ---------------------------------------------------------------------------------------------------


def as_double(attribute: Attribute, plain: exp.Expr) -> exp.Expr:
    """Decimals go through their text: engines differ in how they round them, but not in how they read digits."""
    return exp.cast(exp.cast(plain, "TEXT") if attribute.kind is Kind.DECIMAL else plain, "DOUBLE")


def finite(x: exp.Expr) -> exp.Expr:
    """Neither NULL, NaN nor infinite; an unknown answer counts as no."""
    return exp.And(
        this=exp.GT(this=x.copy(), expression=double(-math.inf)),
        expression=exp.LT(this=x.copy(), expression=double(math.inf)),
    )


def steps(gaussian: Gaussian, x: exp.Expr) -> exp.Expr:
    """The whole step of a finite value, as Gaussian.step gives it; no operation leaves the range of a double.

    Some engines refuse a product that is too great, or so small that it is nothing.
    """
    low, high, near = gaussian.limits
    away = exp.Paren(this=exp.Sub(this=x, expression=double(float(gaussian.origin))))
    is_near = exp.And(
        this=exp.GT(this=away.copy(), expression=double(-near)),
        expression=exp.LT(this=away.copy(), expression=double(near)),
    )
    scaled = exp.Mul(this=away, expression=double(gaussian.scale))
    branches = [
        exp.If(this=exp.GTE(this=x.copy(), expression=double(high)), true=double(float(_FURTHEST))),
        exp.If(this=exp.LTE(this=x.copy(), expression=double(low)), true=double(float(-_FURTHEST))),
        exp.If(this=is_near, true=double(0.0)),
    ]
    rounded = exp.Floor(this=exp.Add(this=scaled, expression=double(0.5)))
    return exp.Case(ifs=branches, default=exp.cast(rounded, "DOUBLE"))


def weight_case(gaussian: Gaussian, place: int, step: exp.Expr) -> exp.Expr:
    """The weight for one class, of a step that is NULL where the value says nothing."""
    height, slope, centre = gaussian.curves[place]
    if slope == 0:
        return number(0)
    away = exp.Paren(this=exp.Sub(this=step, expression=double(centre)))
    fall = exp.Mul(this=exp.Mul(this=double(slope), expression=away), expression=away.copy())
    weight = exp.Sub(this=double(height), expression=fall)
    lost = exp.LT(this=weight.copy(), expression=double(float(-MOST_WEIGHT)))
    return exp.Case(
        ifs=[
            exp.If(this=exp.Is(this=step.copy(), expression=exp.Null()), true=number(0)),
            exp.If(this=lost, true=number(-MOST_WEIGHT)),
        ],
        default=exp.cast(exp.Floor(this=weight), "BIGINT"),
    )


# -- learning ----------------------------------------------------------------------------------------------


def learn_gaussian(cells: AttributeCells) -> Gaussian:
    """The moments of a numeric attribute from its counted values."""
    x = as_double(cells.attribute, column(VALUE, "c"))
    source = cells.source
    kept = exp.Select(expressions=[aliased(x, VALUE), column(CLASS, "c"), column(ROWS, "c")])
    kept = kept.from_(source.subquery("c", copy=False), copy=False).where(finite(x), copy=False)
    ends = [exp.Min(this=column(VALUE, "k")), exp.Max(this=column(VALUE, "k"))]
    low, high = cells.engine.fetch_one(exp.Select(expressions=ends).from_(kept.subquery("k", copy=False), copy=False))
    empty = Gaussian(Decimal(0), 0, ((0, 0, 0),) * len(cells.classes.values))
    if low is None:
        return empty
    grid = _grid(float(low), float(high), len(cells.classes.values))
    return _sum_cells(cells, kept, grid)


def _grid(low: float, high: float, classes: int) -> Gaussian:
    """A grid on which every value lies less than 2^30 steps from a round origin."""
    origin = Decimal(0)
    if low < high:
        info = ColumnInfo("", Kind.FLOAT, "DOUBLE")
        (text,) = number_line([low, high], info).boundaries(np.array([1]), np.array([True]))
        origin = Decimal(text)
    furthest = max(abs(low - float(origin)), abs(high - float(origin)))
    if not math.isfinite(furthest):  # the ends lie further apart than a number can tell
        origin, furthest = Decimal(0), max(abs(low), abs(high))
    exponent = max(-1000, math.frexp(furthest)[1] - 30) if furthest else 0
    return Gaussian(origin, exponent, ((0, 0, 0),) * classes)


def _sum_cells(cells: AttributeCells, kept: exp.Select, grid: Gaussian) -> Gaussian:
    stepped = exp.Select(
        expressions=[
            column(CLASS, "k"),
            column(ROWS, "k"),
            aliased(exp.cast(steps(grid, column(VALUE, "k")), "BIGINT"), _STEP),
        ]
    ).from_(kept.subquery("k", copy=False), copy=False)
    wide = exp.DataType.build("DECIMAL(19, 0)", dialect="duckdb")
    rows, step = exp.cast(column(ROWS, "s"), "BIGINT"), column(_STEP, "s")
    times = exp.Cast(this=exp.Mul(this=rows, expression=step), to=wide)
    squared = exp.Mul(this=times.copy(), expression=exp.Cast(this=step.copy(), to=wide.copy()))
    label = column(CLASS, "s")
    picked = [
        fetch_expression(label, cells.classes.target.kind),
        *(exp.Sum(this=part) for part in (rows.copy(), times, squared)),
    ]
    query = (
        exp.Select(expressions=picked)
        .from_(stepped.subquery("s", copy=False), copy=False)
        .group_by(label.copy(), copy=False)
    )
    moments = [(0, 0, 0)] * len(cells.classes.values)
    for value, *sums in cells.engine.fetch(query):
        counted, total, squares = map(int, sums)
        moments[cells.classes.code(value)] = (counted, total, squares)
    return Gaussian(grid.origin, grid.exponent, tuple(moments))


# -- JSON --------------------------------------------------------------------------------------------------


def gaussian_to_dict(gaussian: Gaussian) -> dict[str, object]:
    return {
        "origin": {"decimal": str(gaussian.origin)},
        "exponent": gaussian.exponent,
        "moments": [[rows, str(total), str(squares)] for rows, total, squares in gaussian.moments],
    }


def gaussian_from_dict(given: Reading, classes: int) -> Gaussian:
    given.only(("origin", "exponent", "moments"))
    given["origin"].only(("decimal",))
    origin = given["origin"]["decimal"].decimal()
    exponent = given["exponent"].whole()
    if not math.isfinite(float(origin)) or not -1000 <= exponent <= 1000:
        given.refuse("has a grid that no column needs")
    moments = []
    for part in given["moments"].items():
        if len(part.items()) != 3:
            part.refuse("must be rows, sum and squares")
        rows, total, squares = part.items()
        found = (rows.whole(0), total.whole_text(), squares.whole_text())
        if found[2] * found[0] < found[1] ** 2 or (found[0] == 0 and found != (0, 0, 0)):
            part.refuse("has moments that no set of numbers can have")
        if max(abs(number) for number in found) >= 10**38:
            part.refuse("has moments that no set of numbers can have")
        moments.append(found)
    if len(moments) != classes:
        given["moments"].refuse(f"must have {classes} entries")
    return Gaussian(origin, exponent, tuple(moments))
