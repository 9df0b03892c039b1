"""Beta-likeness and delta-disclosure: the shares of values in a class against those in the whole table.

The ratio q / p of a value is here * rows / (known * everywhere), with here and known counted in the class, everywhere
and rows in the table.  A class breaks a limit if one of its values does, decided in the database in whole numbers.
For the figure floating point picks the ratios that can be the largest, and those are compared exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from sqlglot import exp

from ppdm_sql.checks.class_table import CLASSES, SIZE, Cells, subquery
from ppdm_sql.checks.closeness import classes_without_values, make_reference
from ppdm_sql.checks.exact_compare import largest
from ppdm_sql.checks.measurement import Measurement, Sensitive
from ppdm_sql.checks.outcome import Outcome, outcome
from ppdm_sql.checks.part_ratios import MOST_PRODUCT, logarithm_limit, ratio_limit
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.requirements import BetaLikeness, DeltaDisclosure, EnhancedLikeness
from ppdm_sql.requirements.base import Figure
from ppdm_sql.source.encode import CODE, ROWS
from ppdm_sql.statements.names import aliased, column

_EVERYWHERE, _BREACH, _VALUES, _RATIO, _WORST = (
    "ppdm_everywhere", "ppdm_breach", "ppdm_values", "ppdm_ratio", "ppdm_worst",
)  # fmt: skip
_LIMIT = ("ppdm_limit_over", "ppdm_limit_under")  # per value the greatest ratio that its logarithm allows


# -- a relation --------------------------------------------------------------------------------------------


def check_beta(requirement: BetaLikeness, work: Measurement, item: Sensitive) -> Outcome:
    found = _Ratios(work, item)
    worst = found.largest_ratio()
    figure: Figure = None if worst is None else worst - 1
    return found.outcome(requirement, figure, found.above(1 + requirement.beta))


def check_enhanced_beta(requirement: EnhancedLikeness, work: Measurement, item: Sensitive) -> Outcome:
    found = _Ratios(work, item, own_limits=True)
    worst = found.largest_ratio()
    figure: Figure = None
    if worst is not None:
        figure = math.inf if found.is_broken(found.above_own_limit()) else worst - 1
    return found.outcome(requirement, figure, exp.or_(found.above(1 + requirement.beta), found.above_own_limit()))


def check_delta(requirement: DeltaDisclosure, work: Measurement, item: Sensitive) -> Outcome:
    found = _Ratios(work, item)
    limit = ratio_limit(requirement.delta)
    high, low = found.largest_ratio(), found.largest_ratio(upside_down=True)
    figure: Figure = None
    if high is not None and low is not None:
        figure = math.inf if found.lacks_values() else math.log(max(high, low, Fraction(1)))
    return found.outcome(requirement, figure, exp.or_(found.above(limit), found.below(limit)), every_value=True)


class _Ratios:
    """The cells of one sensitive column with the table's own counts."""

    def __init__(self, work: Measurement, item: Sensitive, *, own_limits: bool = False) -> None:
        self._engine: Engine = work.engine
        self._cells: Cells = work.cells(item)
        self._name = item.info.name
        self._rows_in_all = work.sizes().total_rows
        reference = make_reference(self._engine, self._cells, self._rows_in_all, "equal", None)
        self._totals = reference.totals
        self._rows = int(reference.totals.sum())
        if self._rows**2 > MOST_PRODUCT:
            raise PolicyError("beta, enhanced_beta and delta are measured exactly up to 100 million known values")
        held = np.flatnonzero(self._totals)
        loaded = {CODE: held.astype(np.int64), _EVERYWHERE: self._totals[held].astype(np.int64)}
        if own_limits:
            limits = [logarithm_limit(self._rows, int(count)) for count in self._totals[held]]
            loaded[_LIMIT[0]] = np.array([limit.numerator for limit in limits], dtype=np.int64)
            loaded[_LIMIT[1]] = np.array([limit.denominator for limit in limits], dtype=np.int64)
        self._table = self._engine.work.load("everywhere", loaded, analyze=True)
        self._values = len(held)

    def largest_ratio(self, *, upside_down: bool = False) -> Fraction | None:
        """The largest q / p of any value in any class, or p / q; None where no value is known."""
        over, under = (_here(), _expected(self._cells)) if not upside_down else (_expected(self._cells), _here())
        ratio = exp.Div(this=exp.cast(over, "DOUBLE"), expression=exp.cast(under, "DOUBLE"), typed=True)
        picked = self._joined([aliased(_here(), "ppdm_over"), aliased(_expected(self._cells), "ppdm_under"),
                               aliased(ratio, _RATIO)])  # fmt: skip
        worst = exp.Window(this=exp.Max(this=column(_RATIO)))
        ranked = exp.Select(expressions=[column("ppdm_over"), column("ppdm_under"), column(_RATIO),
                                         aliased(worst, _WORST)]).from_(subquery(picked, "ppdm_picked"))  # fmt: skip
        near = exp.Mul(this=column(_WORST), expression=exp.Literal.number("0.999999999999"))
        query = exp.Select(expressions=[column("ppdm_over"), column("ppdm_under")]).distinct()
        query = query.from_(subquery(ranked, "ppdm_ranked")).where(exp.GTE(this=column(_RATIO), expression=near))
        pairs = [(int(one) * self._rows, int(other)) for one, other in self._engine.fetch(query)]
        if not pairs:
            return None
        told = [pair[::-1] if upside_down else pair for pair in pairs]
        arrays = [np.array([pair[place] for pair in told], dtype=object) for place in (0, 1)]
        return largest(*arrays)

    def lacks_values(self) -> bool:
        """Whether some class lacks a value that the table has."""
        found = exp.Select(expressions=[exp.Min(this=column(_VALUES))]).from_(subquery(self._by_class(), "ppdm_by"))
        (fewest,) = self._engine.fetch_one(found)
        return fewest is not None and int(fewest) < self._values

    def above(self, limit: Fraction) -> exp.Expr:
        """Whether a value is too frequent in a class."""
        return _above(_times(_here(), self._rows), _expected(self._cells), limit)

    def below(self, limit: Fraction) -> exp.Expr:
        """Whether a value is too rare in a class that has it."""
        return _above(_expected(self._cells), _times(_here(), self._rows), limit)

    def above_own_limit(self) -> exp.Expr:
        """Whether a value is too frequent for its share in the table."""
        over, under = (_wide(column(name, "e")) for name in _LIMIT)
        left = exp.Mul(this=_times(_here(), self._rows), expression=under)
        return exp.GT(this=left, expression=exp.Mul(this=_expected(self._cells), expression=over))

    def is_broken(self, flag: exp.Expr) -> bool:
        """Whether this is so for some value of some class."""
        found = exp.Select(expressions=[exp.Max(this=column(_BREACH))]).from_(subquery(self._by_class(flag), "ppdm_by"))
        return bool(self._engine.fetch_one(found)[0] == 1)

    def outcome(
        self,
        requirement: BetaLikeness | EnhancedLikeness | DeltaDisclosure,
        figure: Figure,
        flag: exp.Expr,
        *,
        every_value: bool = False,
    ) -> Outcome:
        """The classes with such a value, with those that have no known value."""
        lacking = exp.LT(this=column(_VALUES), expression=exp.Literal.number(self._values if every_value else 0))
        broken = exp.or_(exp.EQ(this=column(_BREACH), expression=exp.Literal.number(1)), lacking)
        query = exp.Select(expressions=[aliased(exp.Count(this=exp.Star()), CLASSES), column(SIZE)])
        query = query.from_(subquery(self._by_class(flag), "ppdm_by")).where(broken).group_by(column(SIZE))
        found = self._engine.arrays(query)
        empty, sizes = classes_without_values(self._engine, self._cells)
        classes = np.concatenate([found[CLASSES].astype(np.int64), empty])
        if empty.size:
            figure = math.inf
        told = figure if self._rows_in_all else None
        return outcome(requirement, self._name, told, classes, np.concatenate([found[SIZE].astype(np.int64), sizes]))

    def _by_class(self, flag: exp.Expr | None = None) -> exp.Select:
        """Per class its size, how many values it has, and whether one of them has the flag."""
        broken = None if flag is None else exp.case().when(flag, exp.Literal.number(1)).else_(exp.Literal.number(0))
        marked = exp.Literal.number(0) if broken is None else exp.Max(this=broken)
        keys = [column(name, "k") for name in self._cells.key.columns]
        picked = [aliased(exp.Max(this=column(SIZE, "k")), SIZE), aliased(exp.Count(this=exp.Star()), _VALUES),
                  aliased(marked, _BREACH)]  # fmt: skip
        return self._joined(picked).group_by(*keys)

    def _joined(self, picked: Sequence[exp.Expr]) -> exp.Select:
        query = self._cells.join_classes(picked, exp.true())
        same = exp.EQ(this=column(CODE, "e"), expression=column(CODE, "c"))
        return query.join(self._table.table("e"), on=same)


def _here() -> exp.Expr:
    return _wide(column(ROWS, "c"))


def _expected(cells: Cells) -> exp.Expr:
    known, everywhere = _wide(column(cells.known_rows, "k")), _wide(column(_EVERYWHERE, "e"))
    return exp.Mul(this=known, expression=everywhere)


def _wide(expression: exp.Expr) -> exp.Expr:
    return exp.cast(expression, "DECIMAL(38, 0)")


def _times(expression: exp.Expr, factor: int) -> exp.Expr:
    return exp.Mul(this=expression, expression=_wide(exp.Literal.string(str(factor))))


def _above(over: exp.Expr, under: exp.Expr, limit: Fraction) -> exp.Expr:
    """Over / under > limit, in whole numbers."""
    return exp.GT(this=_times(over, limit.denominator), expression=_times(under, limit.numerator))
