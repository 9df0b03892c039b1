"""Beta-likeness and delta-disclosure: the shares of values in a class against those in the whole table.

The ratio q / p of a value is here * rows / (known * everywhere), with here and known counted in the class, everywhere
and rows in the table.  A class breaks a limit if one of its values does.  Many cells are alike: they have the same
value, as often, in classes with as many known values.  So the database counts the kinds of cells, numpy decides each
kind in whole numbers, and the database counts the classes that have a cell of a broken kind.  A class of one value is
a kind by itself and needs no join.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from sqlglot import exp

from ppdm_sql.checks.class_table import CLASSES, DISTINCT, LOWEST, SIZE, Cells, subquery
from ppdm_sql.checks.closeness import classes_without_values, make_reference
from ppdm_sql.checks.exact_compare import Flags, Integers, at_most, largest, smallest
from ppdm_sql.checks.measurement import Measurement, Sensitive
from ppdm_sql.checks.outcome import Outcome, outcome
from ppdm_sql.checks.part_ratios import MOST_PRODUCT, logarithm_limit, ratio_limit
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.requirements import BetaLikeness, DeltaDisclosure, EnhancedLikeness
from ppdm_sql.requirements.base import Figure
from ppdm_sql.source.encode import CODE, ROWS
from ppdm_sql.statements.names import Name, aliased, column

_BREACH, _VALUES, _OF = "ppdm_breach", "ppdm_values", "ppdm_of"


# -- a relation --------------------------------------------------------------------------------------------


def check_beta(requirement: BetaLikeness, work: Measurement, item: Sensitive) -> Outcome:
    found = work.once(item, ValueRatios)
    worst = found.largest_ratio()
    figure: Figure = None if worst is None else worst - 1
    return found.outcome(requirement, figure, [~kinds.at_most(1 + requirement.beta) for kinds in found.kinds])


def check_enhanced_beta(requirement: EnhancedLikeness, work: Measurement, item: Sensitive) -> Outcome:
    found = work.once(item, ValueRatios)
    worst = found.largest_ratio()
    beyond = [~kinds.below_logarithm() for kinds in found.kinds]
    figure: Figure = None
    if worst is not None:
        figure = math.inf if any(flags.any() for flags in beyond) else worst - 1
    above = [~kinds.at_most(1 + requirement.beta) for kinds in found.kinds]
    return found.outcome(requirement, figure, [one | other for one, other in zip(above, beyond, strict=True)])


def check_delta(requirement: DeltaDisclosure, work: Measurement, item: Sensitive) -> Outcome:
    found = work.once(item, ValueRatios)
    limit = ratio_limit(requirement.delta)
    high, low = found.largest_ratio(), found.smallest_ratio()
    figure: Figure = None
    if high is not None and low is not None:
        figure = math.inf if found.lacks_values() else math.log(max(high, 1 / low, Fraction(1)))
    broken = [~(kinds.at_most(limit) & kinds.at_least(limit)) for kinds in found.kinds]
    return found.outcome(requirement, figure, broken, every_value=True)


@dataclass(frozen=True)
class AlikeCells:
    """Cells alike: a value that so many rows of a class have, of so many whose value is known."""

    code: Integers
    here: Integers
    known: Integers
    totals: Integers  # per code the rows of the table

    @property
    def over(self) -> Integers:
        """The ratio's numerator."""
        return np.asarray(self.here * self.totals.sum())

    @property
    def under(self) -> Integers:
        return np.asarray(self.known * self.totals[self.code])

    def at_most(self, limit: Fraction) -> Flags:
        """Whether the value is not too frequent."""
        return at_most(self.over, self.under, limit)

    def at_least(self, limit: Fraction) -> Flags:
        """Whether the value is not too rare."""
        return at_most(self.under, self.over, limit)

    def below_logarithm(self) -> Flags:
        """Whether the value is not too frequent for its share in the table."""
        fine = np.ones(len(self.code), dtype=np.bool_)
        everywhere, over, under = self.totals[self.code], self.over, self.under
        order = np.argsort(everywhere, kind="stable")
        starts = np.flatnonzero(np.diff(everywhere[order])) + 1
        for alike in np.split(order, starts) if order.size else ():
            limit = logarithm_limit(int(self.totals.sum()), int(everywhere[alike[0]]))
            fine[alike] = at_most(over[alike], under[alike], limit)
        return fine


class ValueRatios:
    """The kinds of cells of one sensitive column: those of classes with one value, and those of all others."""

    def __init__(self, work: Measurement, item: Sensitive) -> None:
        self._engine: Engine = work.engine
        self._cells: Cells = work.cells(item)
        self._name = item.info.name
        self._rows_in_all = work.sizes().total_rows
        self._totals = make_reference(self._engine, self._cells, self._rows_in_all, "equal", None).totals
        if int(self._totals.sum()) ** 2 > MOST_PRODUCT:
            raise PolicyError("beta, enhanced_beta and delta are measured exactly up to 100 million known values")
        self._values = int(np.count_nonzero(self._totals))
        self._alone = self._classes_of_one_value()
        self._members = self._cells_of_other_classes()
        known = self._cells.known_rows
        several = self._engine.arrays(
            exp.Select(expressions=[column(CODE), column(ROWS), column(known)]).distinct().from_(self._members.table())
        )
        self.kinds = (
            self._kinds(self._alone[LOWEST], self._alone[known], self._alone[known]),
            self._kinds(several[CODE], several[ROWS], several[known]),
        )

    def _kinds(self, code: Integers, here: Integers, known: Integers) -> AlikeCells:
        return AlikeCells(code.astype(np.int64), here.astype(np.int64), known.astype(np.int64), self._totals)

    def _classes_of_one_value(self) -> dict[str, Integers]:
        """How many classes have one value, by value and size."""
        by = list(dict.fromkeys([LOWEST, SIZE, self._cells.known_rows]))
        one = exp.EQ(this=column(DISTINCT), expression=exp.Literal.number(1))
        query = exp.Select(expressions=[*map(column, by), aliased(exp.Count(this=exp.Star()), CLASSES)])
        query = query.from_(self._cells.classes.table()).where(one).group_by(*map(column, by))
        return {name: found.astype(np.int64) for name, found in self._engine.arrays(query).items()}

    def _cells_of_other_classes(self) -> Name:
        """The cells of classes with several values, each with the figures of its class."""
        keys = [column(name, "c") for name in self._cells.key.columns]
        sizes = [column(name, "k") for name in dict.fromkeys([SIZE, self._cells.known_rows])]
        several = exp.GT(this=column(DISTINCT, "k"), expression=exp.Literal.number(1))
        query = self._cells.join_classes([*keys, column(CODE, "c"), column(ROWS, "c"), *sizes], several)
        return self._engine.work.table("members", query, analyze=True)

    def largest_ratio(self) -> Fraction | None:
        """The largest q / p of any value in any class; None where no value is known."""
        return max((largest(one.over, one.under) for one in self.kinds if one.code.size), default=None)

    def smallest_ratio(self) -> Fraction | None:
        """The smallest q / p of any value that a class has; None where no value is known."""
        return min((smallest(one.over, one.under) for one in self.kinds if one.code.size), default=None)

    def lacks_values(self) -> bool:
        """Whether some class that has a value lacks another one."""
        query = exp.Select(expressions=[exp.Min(this=column(DISTINCT))]).from_(self._cells.classes.table())
        (fewest,) = self._engine.fetch_one(query.where(exp.GT(this=column(DISTINCT), expression=exp.Literal.number(0))))
        return fewest is not None and int(fewest) < self._values

    def outcome(
        self,
        requirement: BetaLikeness | EnhancedLikeness | DeltaDisclosure,
        figure: Figure,
        broken: list[Flags],
        *,
        every_value: bool = False,
    ) -> Outcome:
        """The classes with a cell of a broken kind, with those that have no known value."""
        alone = broken[0] | (every_value and self._values > 1)
        classes, sizes = self._broken_classes(broken[1], every_value=every_value)
        empty, empty_sizes = classes_without_values(self._engine, self._cells)
        if empty.size:
            figure = math.inf
        return outcome(
            requirement, self._name, figure if self._rows_in_all else None,
            np.concatenate([self._alone[CLASSES][alone], classes, empty]),
            np.concatenate([self._alone[SIZE][alone], sizes, empty_sizes]),
        )  # fmt: skip

    def _broken_classes(self, broken: Flags, *, every_value: bool) -> tuple[Integers, Integers]:
        """Of the classes with several values: how many are broken, by their size."""
        if not every_value and not broken.any():
            nothing = np.zeros(0, dtype=np.int64)
            return nothing, nothing
        kinds = self.kinds[1]
        listed = self._engine.work.load("kinds", {
            CODE: kinds.code, ROWS: kinds.here, _OF: kinds.known, _BREACH: broken.astype(np.int64),
        }, analyze=True)  # fmt: skip
        same = [
            exp.EQ(this=column(one, "b"), expression=column(other, "m"))
            for one, other in ((CODE, CODE), (ROWS, ROWS), (_OF, self._cells.known_rows))
        ]
        figures = [
            aliased(exp.Max(this=column(SIZE, "m")), SIZE), aliased(exp.Count(this=exp.Star()), _VALUES),
            aliased(exp.Max(this=column(_BREACH, "b")), _BREACH),
        ]  # fmt: skip
        keys = [column(name, "m") for name in self._cells.key.columns]
        by_class = exp.Select(expressions=figures).from_(self._members.table("m"))
        by_class = by_class.join(listed.table("b"), on=exp.and_(*same)).group_by(*keys)
        fewest = exp.Literal.number(self._values if every_value else 0)
        breach = exp.or_(
            exp.EQ(this=column(_BREACH), expression=exp.Literal.number(1)),
            exp.LT(this=column(_VALUES), expression=fewest),
        )
        query = exp.Select(expressions=[aliased(exp.Count(this=exp.Star()), CLASSES), column(SIZE)])
        query = query.from_(subquery(by_class, "ppdm_by")).where(breach).group_by(column(SIZE))
        found = self._engine.arrays(query)
        return found[CLASSES].astype(np.int64), found[SIZE].astype(np.int64)
