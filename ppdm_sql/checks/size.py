"""How large the classes are: k-anonymity, by rows or by persons, and the histogram of sizes.

For k alone one GROUP BY is enough: no look-up table, no cell.  What comes back is one line per size, and
there cannot be many different sizes (their sum is the number of rows).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from sqlglot import exp

from ppdm_sql.checks.class_table import CLASSES, ENTITIES, SIZE, printed_column, subquery
from ppdm_sql.checks.exact_compare import Integers
from ppdm_sql.checks.outcome import Outcome, outcome
from ppdm_sql.engines.base import ColumnInfo, Engine
from ppdm_sql.requirements import EveryAnonymity, KAnonymity, Requirement, SetAnonymity
from ppdm_sql.source.encode import canonical
from ppdm_sql.statements.names import Name, aliased, column

_HOLES = "ppdm_holes"
_EDGES = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)  # where a bucket of the histogram starts


@dataclass(frozen=True)
class Sizes:
    """How many classes (classes) have so many rows (rows) and so many of what k counts (units)."""

    rows: Integers
    units: Integers
    classes: Integers

    @property
    def total_rows(self) -> int:
        return int((self.rows * self.classes).sum())

    @property
    def total_classes(self) -> int:
        return int(self.classes.sum())

    @property
    def k(self) -> int | None:
        """The smallest class; None where there is no class at all."""
        return int(self.units.min()) if self.units.size else None


@dataclass(frozen=True)
class Bucket:
    """Classes of low to high units (None: and more)."""

    low: int
    high: int | None
    classes: int
    rows: int


def sizes_by_columns(engine: Engine, relation: Name, quasi: Sequence[ColumnInfo]) -> tuple[Sizes, bool]:
    """Sizes straight from the columns, and whether a quasi-identifier is NULL anywhere."""
    names = [f"ppdm_q{number}" for number in range(len(quasi))]
    picked = [aliased(canonical(engine, printed_column(info)), name) for info, name in zip(quasi, names, strict=True)]
    values = exp.Select(expressions=picked or [aliased(exp.Literal.number(0), "ppdm_q")]).from_(relation.table())
    holes = [exp.Is(this=column(name), expression=exp.Null()) for name in names]
    flag = exp.case().when(exp.or_(*holes), exp.Literal.number(1)) if holes else exp.case().when(exp.false(), 1)
    groups = exp.Select(
        expressions=[aliased(exp.Count(this=exp.Star()), SIZE), aliased(flag.else_(exp.Literal.number(0)), _HOLES)]
    )
    groups = groups.from_(subquery(values, "ppdm_values"))
    if names:
        groups = groups.group_by(*(column(name) for name in names))
    found = engine.arrays(_class_counts(subquery(groups, "ppdm_groups"), [SIZE, _HOLES]))
    there = found[SIZE] > 0  # without quasi-identifiers an empty relation is one class of no rows
    rows = found[SIZE][there].astype(np.int64)
    return Sizes(rows, rows, found[CLASSES][there].astype(np.int64)), bool(found[_HOLES].any())


def sizes_of_classes(engine: Engine, classes: Name, *, by_entity: bool = False) -> Sizes:
    """Sizes from a class table."""
    found = engine.arrays(_class_counts(classes.table(), [SIZE, *([ENTITIES] if by_entity else [])]))
    rows = found[SIZE].astype(np.int64)
    units = found[ENTITIES].astype(np.int64) if by_entity else rows
    return Sizes(rows, units, found[CLASSES].astype(np.int64))


def _class_counts(source: exp.Expr, by: Sequence[str]) -> exp.Select:
    groups = [column(name) for name in by]
    picked = [*groups, aliased(exp.Count(this=exp.Star()), CLASSES)]
    return exp.Select(expressions=picked).from_(source).group_by(*(group.copy() for group in groups))


def k_outcome(requirement: KAnonymity | SetAnonymity | EveryAnonymity, sizes: Sizes) -> Outcome:
    """Samarati and Sweeney: every class holds at least k rows, or persons."""
    breach = sizes.units < requirement.k
    achieved = None if sizes.k is None else Fraction(sizes.k)
    return outcome(requirement, None, achieved, sizes.classes[breach], sizes.rows[breach])


def table_outcome(
    requirement: Requirement, sizes: Sizes, achieved: Fraction | None, limit: Fraction, *, alone: bool = False
) -> Outcome:
    """Of a requirement on the whole table: where it fails, the classes whose own risk is above the limit.

    alone: the classes of one row or person instead.
    """
    if achieved is None or achieved <= limit:
        return outcome(requirement, None, achieved, sizes.classes[:0], sizes.rows[:0])
    above = sizes.units <= 1 if alone else np.maximum(sizes.units, 1) * limit.numerator < limit.denominator
    return outcome(requirement, None, achieved, sizes.classes[above], sizes.rows[above])


def histogram(sizes: Sizes) -> tuple[Bucket, ...]:
    """Classes by size in buckets a person can read; empty ones at the end are left out.

    >>> found = histogram(Sizes(*(np.array(part) for part in ([1, 3, 4, 7], [1, 3, 4, 7], [2, 1, 1, 5]))))
    >>> [(bucket.low, bucket.high, bucket.classes, bucket.rows) for bucket in found]
    [(1, 1, 2, 2), (2, 2, 0, 0), (3, 4, 2, 7), (5, 9, 5, 35)]
    """
    place = np.searchsorted(_EDGES, np.maximum(sizes.units, 1), side="right") - 1
    last = int(place.max()) if place.size else -1
    buckets = []
    for number in range(last + 1):
        inside = place == number
        high = _EDGES[number + 1] - 1 if number + 1 < len(_EDGES) else None
        classes, rows = sizes.classes[inside], sizes.rows[inside]
        buckets.append(Bucket(_EDGES[number], high, int(classes.sum()), int((classes * rows).sum())))
    return tuple(buckets)
