"""Counts of one attribute by value and class, and the domains that are found in them.

An attribute costs one GROUP BY over the table.  Its result (value, class, rows) goes into a working table, and all
else is asked of that: which categories are rare, where bins of equal numbers of rows end, how many rows each bin
has.  So a column of a million distinct numbers is read once, and its values stay where they are; those of a column
with a few thousand come to Python as counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np
from sqlglot import exp

from ppdm_sql.classifiers.domains import Boundary, CategoricalDomain, NumericDomain, bins_case, place_of, refuse_listed
from ppdm_sql.classifiers.values import MOMENTS, MOST_CLASSES, category, double, fetch_expression, literal, number
from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.errors import PolicyError, PpdmError
from ppdm_sql.source.encode import canonical
from ppdm_sql.source.lines import moment_line, number_line
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.trees.tree import Attribute, Value

VALUE, CLASS, ROWS = "ppdm_value", "ppdm_class", "ppdm_rows"
MOST_NAMED = 100_000
_BEFORE = "ppdm_before"
_FEW = 10_000  # values that are quicker looked at here than there
_WIDE = Context(prec=80)


@dataclass(frozen=True)
class TargetClasses:
    """The classes that are learned, in the order of their values, and how many rows were left out."""

    target: ColumnInfo
    values: tuple[Value, ...]
    counts: tuple[int, ...]
    without_class: int  # rows whose target is NULL
    of_rare_classes: int  # rows of classes that fewer than `rare` rows have

    def code(self, value: object) -> int:
        return self._codes[category(value, self.target.kind)]

    @cached_property
    def _codes(self) -> dict[Value, int]:
        return {value: code for code, value in enumerate(self.values)}

    def literals(self) -> list[exp.Expr]:
        return [literal(value, self.target.kind) for value in self.values]


def find_classes(engine: Engine, relation: Name, target: ColumnInfo, rare: int) -> TargetClasses:
    """The classes of a relation; rare ones are left out, because a model names its classes."""
    value = canonical(engine, target, "r")
    grouped = exp.Select(expressions=[aliased(value, CLASS), aliased(_rows(), ROWS)])
    grouped = grouped.from_(relation.table("r"), copy=False).group_by(value.copy(), copy=False)
    most = MOST_CLASSES + 2  # one more than allowed, and NULL
    common = exp.Or(
        this=exp.GTE(this=column(ROWS, "c"), expression=number(rare)),
        expression=exp.Is(this=column(CLASS, "c"), expression=exp.Null()),
    )
    marked = exp.Case(ifs=[exp.If(this=common, true=column(CLASS, "c"))])
    is_common = exp.Case(ifs=[exp.If(this=common.copy(), true=number(1))], default=number(0))
    inner = exp.Select(expressions=[aliased(marked, CLASS), aliased(is_common, "ppdm_common"), column(ROWS, "c")])
    inner = inner.from_(grouped.subquery("c", copy=False), copy=False)
    keys = [column(CLASS, "m"), column("ppdm_common", "m")]
    query = exp.Select(expressions=[fetch_expression(keys[0], target.kind), keys[1], _total(column(ROWS, "m"))])
    query = (
        query.from_(inner.subquery("m", copy=False), copy=False)
        .group_by(*(key.copy() for key in keys), copy=False)
        .order_by(column(CLASS, "m"))
    )
    found = engine.fetch(query.limit(most + 1))
    known = [(category(value, target.kind), int(rows)) for value, kept, rows in found if kept and value is not None]
    _check_classes(relation, target, [value for value, _ in known])
    return TargetClasses(
        target,
        tuple(value for value, _ in known),
        tuple(rows for _, rows in known),
        without_class=sum(int(rows) for value, kept, rows in found if kept and value is None),
        of_rare_classes=sum(int(rows) for _, kept, rows in found if not kept),
    )


def _check_classes(relation: Name, target: ColumnInfo, values: Sequence[Value]) -> None:
    if not values:
        raise PpdmError(f'{relation}: no class of column "{target.name}" has enough rows to learn from')
    if len(values) > MOST_CLASSES:
        raise PolicyError(f'column "{target.name}" has more than {MOST_CLASSES} classes')
    if any(isinstance(value, Decimal) and not value.is_finite() for value in values):
        raise PolicyError(f'column "{target.name}" contains NaN or infinity, which cannot be a class')


@dataclass(frozen=True)
class AttributeCells:
    """The counted values of one attribute, in a working table: they are data, and go when the model is learned."""

    engine: Engine
    table: Name
    attribute: Attribute
    info: ColumnInfo
    classes: TargetClasses

    # -- categories --------------------------------------------------------------------------------

    def categories(self, rare: int) -> tuple[CategoricalDomain, tuple[tuple[int, ...], ...]]:
        """The named categories, and per code the rows of each class."""
        held = exp.GTE(this=exp.Sum(this=column(ROWS, "c")), expression=number(rare))
        named = (
            exp.Select(expressions=[column(VALUE, "c")])
            .from_(self.table.table("c"), copy=False)
            .where(self._is_learned("c"), copy=False)
        )
        named = named.group_by(column(VALUE, "c"), copy=False).having(held)
        same = exp.EQ(this=column(VALUE, "k"), expression=column(VALUE, "c"))
        keys = [column(VALUE, "k"), column(CLASS, "c")]
        picked = [keys[0], fetch_expression(keys[1], self.classes.target.kind), _total(column(ROWS, "c"))]
        query = exp.Select(expressions=list(picked)).from_(self.table.table("c"), copy=False)
        query = query.join(named.subquery("k", copy=False), on=same, join_type="left").where(
            self._is_learned("c"), copy=False
        )
        most = (MOST_NAMED + 1) * len(self.classes.values)
        found = self.engine.fetch(query.group_by(*(key.copy() for key in keys), copy=False).limit(most + 1))

        values = sorted(
            {category(value, self.attribute.kind) for value, _, _ in found if value is not None}, key=_order
        )
        refuse_listed(self.attribute, len(values), MOST_NAMED)
        place = {value: code for code, value in enumerate(values)}
        counts = np.zeros((len(values) + 1, len(self.classes.values)), dtype=np.int64)
        for value, label, rows in found:
            code = len(values) if value is None else place[category(value, self.attribute.kind)]
            counts[code, self.classes.code(label)] += int(rows)
        return CategoricalDomain(tuple(values)), _tuples(counts)

    # -- bins --------------------------------------------------------------------------------------

    def bins(self, most: int) -> tuple[NumericDomain, tuple[tuple[int, ...], ...]]:
        """At most so many bins of about equal numbers of rows, and per bin the rows of each class."""
        bins = NumericDomain(self._boundaries(self._gaps(most)))
        codes = [number(code) for code in range(bins.size + 1)]
        code = bins_case(self.attribute, bins, column(VALUE, "c"), codes)
        binned = exp.Select(expressions=[aliased(code, VALUE), column(CLASS, "c"), column(ROWS, "c")])
        binned = binned.from_(self.table.table("c"), copy=False).where(self._is_learned("c"), copy=False)
        keys = [column(VALUE, "b"), column(CLASS, "b")]
        picked = [keys[0], fetch_expression(keys[1], self.classes.target.kind), _total(column(ROWS, "b"))]
        query = (
            exp.Select(expressions=picked)
            .from_(binned.subquery("b", copy=False), copy=False)
            .group_by(*(key.copy() for key in keys), copy=False)
        )
        counts = np.zeros((bins.size, len(self.classes.values)), dtype=np.int64)
        for place, label, rows in self.engine.fetch(query):
            counts[int(place), self.classes.code(label)] += int(rows)
        return bins, _tuples(counts)

    def _gaps(self, most: int) -> list[tuple[object, object]]:
        """The neighbouring values between which the bins end: the greatest of one and the least of the next.

        With no more values than bins every value has its own.  Else a bin ends where the rows of lesser values
        reach the next multiple of rows / bins; a value with very many rows fills several bins, which are one then.
        """
        counted = [exp.Count(this=exp.Star()), _total(column(ROWS, "c"))]
        cells, rows = self.engine.fetch_one(self._ordinary(counted))
        return self._few_gaps(most) if cells <= _FEW else self._many_gaps(most, int(rows))

    def _few_gaps(self, most: int) -> list[tuple[object, object]]:
        listed = [fetch_expression(column(VALUE, "v"), self.info.kind), column(ROWS, "v")]
        query = exp.Select(expressions=listed).from_(self._by_value().subquery("v", copy=False), copy=False)
        found = self.engine.fetch(query.order_by(column(VALUE, "v"), copy=False))
        if len(found) <= most:
            return list(pairwise(value for value, _ in found))
        upto = list(accumulate(int(count) for _, count in found))
        bin_of = [before * most // upto[-1] for before in [0, *upto[:-1]]]
        return [(found[i][0], found[i + 1][0]) for i in range(len(found) - 1) if bin_of[i] < bin_of[i + 1]]

    def _many_gaps(self, most: int, rows: int) -> list[tuple[object, object]]:
        """The same by one statement, with two aggregates per bin: the values stay in the database."""
        picked: list[exp.Expr] = [exp.Count(this=exp.Star())]
        for place in range(1, most):
            end = -(-place * rows // most)
            below = exp.LT(this=column(_BEFORE, "w"), expression=number(end))
            above = exp.GTE(this=column(_BEFORE, "w"), expression=number(end))
            for side, found in ((below, exp.Max), (above, exp.Min)):
                value = exp.Case(ifs=[exp.If(this=side, true=column(VALUE, "w"))])
                picked.append(fetch_expression(found(this=value), self.info.kind))
        ranked = self._rank_query().subquery("w", copy=False)
        distinct, *edges = self.engine.fetch_one(exp.Select(expressions=picked).from_(ranked, copy=False))
        if distinct <= most:  # few values in many classes
            return self._few_gaps(most)
        pairs = dict.fromkeys(zip(edges[::2], edges[1::2], strict=True))
        return [pair for pair in pairs if None not in pair]

    def _ordinary(self, picked: Sequence[exp.Expr]) -> exp.Select:
        """Something of the cells whose value is a number or a moment."""
        query = exp.Select(expressions=list(picked)).from_(self.table.table("c"), copy=False)
        if self.info.kind in (Kind.FLOAT, Kind.DECIMAL):  # NaN has no place among the numbers: it goes with the last
            query = query.where(exp.LT(this=column(VALUE, "c"), expression=double(float("nan"))), copy=False)
        return query.where(self._is_learned("c"), copy=False)

    def _by_value(self) -> exp.Select:
        picked = [column(VALUE, "c"), aliased(_total(column(ROWS, "c")), ROWS)]
        return self._ordinary(picked).group_by(column(VALUE, "c"), copy=False)

    def _rank_query(self) -> exp.Select:
        """Every value with the number of rows that have lesser ones."""
        up_to = exp.Window(
            this=exp.Sum(this=column(ROWS, "v")),
            order=exp.Order(expressions=[exp.Ordered(this=column(VALUE, "v"))]),
            spec=exp.WindowSpec(
                kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW", end_side=None
            ),
        )
        before = exp.Sub(this=up_to, expression=column(ROWS, "v"))
        return exp.Select(expressions=[column(VALUE, "v"), aliased(before, _BEFORE)]).from_(
            self._by_value().subquery("v", copy=False), copy=False
        )

    def _boundaries(self, gaps: Sequence[tuple[object, object]]) -> tuple[Boundary, ...]:
        """The roundest number in each gap that is nobody's value, where there is another one."""
        found: dict[Decimal | float | int, Boundary] = {}
        for low, high in gaps:
            boundary = self._boundary(low, high)
            found.setdefault(place_of(boundary), boundary)
        return tuple(boundary for _, boundary in sorted(found.items()))

    def _boundary(self, low: object, high: object) -> Boundary:
        first, rare = np.array([1]), np.array([True])
        if self.info.kind in MOMENTS:
            (text,) = moment_line([str(low), str(high)], self.info).boundaries(first, rare)
            return f"{text} 00:00:00+00" if self.attribute.zoned and len(text.lstrip("-")) == 10 else text
        (text,) = number_line([low, high], self.info).boundaries(first, rare)
        boundary, scale = Decimal(text), self.attribute.scale
        if scale is not None:  # a digit more than the column has would not fit into the widest of its type
            boundary = boundary.quantize(Decimal(1).scaleb(-scale), ROUND_CEILING, _WIDE)
        return boundary

    # -- shared ------------------------------------------------------------------------------------

    def _is_learned(self, alias: str) -> exp.Expr:
        """The cells that are learned from: the value is known and the class is a named one."""
        known = exp.Not(this=exp.Is(this=column(VALUE, alias), expression=exp.Null()))
        named = exp.In(this=column(CLASS, alias), expressions=self.classes.literals())
        return exp.And(this=known, expression=named)

    @property
    def source(self) -> exp.Select:
        """The cells that are learned from, for an aggregate of the caller's own (ppdm_value, ppdm_class, ppdm_rows)."""
        picked = [column(VALUE, "c"), column(CLASS, "c"), column(ROWS, "c")]
        return (
            exp.Select(expressions=picked)
            .from_(self.table.table("c"), copy=False)
            .where(self._is_learned("c"), copy=False)
        )


def count_cells(
    engine: Engine, relation: Name, info: ColumnInfo, attribute: Attribute, classes: TargetClasses
) -> AttributeCells:
    """The one pass over the table that an attribute costs."""
    keys = [canonical(engine, info, "r"), canonical(engine, classes.target, "r")]
    picked = [aliased(keys[0], VALUE), aliased(keys[1], CLASS), aliased(_rows(), ROWS)]
    query = (
        exp.Select(expressions=picked)
        .from_(relation.table("r"), copy=False)
        .group_by(*(key.copy() for key in keys), copy=False)
    )
    return AttributeCells(engine, engine.work.table("cells", query), attribute, info, classes)


def _rows() -> exp.Expr:
    return exp.Count(this=exp.Star())


def _total(rows: exp.Expr) -> exp.Expr:
    return exp.cast(exp.Sum(this=rows), "BIGINT")


def _order(value: Value) -> tuple[str, object]:
    return (type(value).__name__, value)


def _tuples(counts: np.ndarray) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(map(int, row)) for row in counts)
