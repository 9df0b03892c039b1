"""How well the classes hide the sensitive value: the l-diversities and the confidence limit.

Distinct, simple and recursive diversity and the confidence limit depend on three or four whole numbers of a
class: how many of its values are known (all rows where NULL counts as a value), how many different ones it has, how
often the most frequent one (the head) and the rare ones (the tail) occur.  Classes alike in these are counted
together in the database; what comes here is one line per kind of class, and every decision is made on whole numbers.
A class without a known value breaks every requirement.

Entropy depends on all counts of a class.  Floating point in the database finds the classes that are clearly
below and above; of those in doubt most are decided by the same whole numbers (two values, or all equally
frequent), and for the few left over their counts are fetched.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from ppdm_sql.checks.class_table import CLASSES, DISTINCT, ENTROPY, HEAD, KNOWN, SIZE, Cells, subquery, whole
from ppdm_sql.checks.exact_compare import (
    ENTROPY_NEAR,
    Flags,
    Integers,
    at_most,
    below,
    entropy_reaches,
    largest,
    smallest,
)
from ppdm_sql.checks.outcome import Outcome, outcome
from ppdm_sql.engines.base import Engine
from ppdm_sql.requirements import (
    AlphaShare,
    ConfidenceLimit,
    DistinctDiversity,
    EntropyDiversity,
    Figure,
    RecursiveDiversity,
    Requirement,
    SimpleDiversity,
)
from ppdm_sql.source.encode import ROWS
from ppdm_sql.statements.names import aliased, column

_TAIL, _POSITION, _COUNTS, _LEAST = "ppdm_tail", "ppdm_position", "ppdm_counts", "ppdm_least"


@dataclass(frozen=True)
class Profile:
    """Kinds of classes: classes of them have this size, of it this many known, distinct values and head.

    least: the smallest entropy among them.  under and near: per asked l, how many have an entropy clearly
    below log(l), and too near to it to tell in floating point.
    """

    size: Integers
    known: Integers
    distinct: Integers
    head: Integers
    classes: Integers
    least: NDArray[np.float64] | None = None
    under: Mapping[Fraction, Integers] = field(default_factory=dict)
    near: Mapping[Fraction, Integers] = field(default_factory=dict)


def profile(engine: Engine, cells: Cells, entropies: Sequence[Fraction]) -> Profile:
    """The kinds of classes of one sensitive column, and how their entropies stand to every asked l."""
    kinds = [SIZE, *([] if cells.known_rows == SIZE else [KNOWN]), DISTINCT, HEAD]
    # As DOUBLE, because for a few small integers an engine may set up a counter for every combination there
    # could be, and there are few.  Below 2**53 nothing is rounded.
    size = exp.cast(column(SIZE), "DOUBLE")
    query = exp.Select(expressions=[aliased(size, SIZE), *(column(name) for name in kinds[1:])])
    query = query.from_(cells.classes.table()).select(aliased(exp.Count(this=exp.Star()), CLASSES))
    if entropies:
        query = query.select(aliased(exp.Min(this=column(ENTROPY)), _LEAST))
    for number, l in enumerate(entropies):
        query = query.select(aliased(_how_many(_clearly_under(l)), f"ppdm_under_{number}"))
        query = query.select(aliased(_how_many(_near(l)), f"ppdm_near_{number}"))
    found = engine.arrays(query.group_by(size.copy(), *(column(name) for name in kinds[1:])))
    sizes, known, distinct, head, classes = (
        found[name].astype(np.int64) for name in (SIZE, cells.known_rows, DISTINCT, HEAD, CLASSES)
    )
    return Profile(
        sizes,
        known,
        distinct,
        head,
        classes,
        found.get(_LEAST),
        {l: found[f"ppdm_under_{number}"].astype(np.int64) for number, l in enumerate(entropies)},
        {l: found[f"ppdm_near_{number}"].astype(np.int64) for number, l in enumerate(entropies)},
    )


def distinct_outcome(requirement: DistinctDiversity, cells: Cells, kinds: Profile) -> Outcome:
    fewest = Fraction(int(kinds.distinct.min())) if kinds.size.size else None
    return _worst_class(requirement, cells, fewest, kinds, kinds.distinct < requirement.l)


def simple_outcome(requirement: SimpleDiversity, cells: Cells, kinds: Profile) -> Outcome:
    nothing = kinds.known == 0  # classes without a known value
    least: Figure = None
    if kinds.size.size:
        least = Fraction(0) if nothing.any() else smallest(kinds.known, kinds.head)
    breach = nothing | ~at_most(kinds.head, kinds.known, 1 / requirement.l)
    return _worst_class(requirement, cells, least, kinds, breach)


def confidence_outcome(requirement: ConfidenceLimit | AlphaShare, cells: Cells, kinds: Profile) -> Outcome:
    nothing = kinds.known == 0
    most: Figure = None
    if kinds.size.size:
        most = math.inf if nothing.any() else largest(kinds.head, kinds.known)
    breach = nothing | ~at_most(kinds.head, kinds.known, requirement.limit)
    return _worst_class(requirement, cells, most, kinds, breach)


def _worst_class(requirement: Requirement, cells: Cells, achieved: Figure, kinds: Profile, breach: Flags) -> Outcome:
    name = cells.sensitive.column.name
    return outcome(requirement, name, achieved, kinds.classes[breach], kinds.size[breach])


# -- recursive diversity -----------------------------------------------------------------------------


def recursive_outcome(engine: Engine, requirement: RecursiveDiversity, cells: Cells, kinds: Profile) -> Outcome:
    """f1 < c * (f_l + ... + f_m); a class with fewer than l values has an empty tail and fails for every c."""
    head, size, classes, tail = _tails(engine, requirement.l, cells, kinds)
    breach = ~below(head, tail, requirement.c)
    achieved: Fraction | float | None = None
    if size.size:
        achieved = largest(head, tail) if tail.all() else math.inf
    return outcome(requirement, cells.sensitive.column.name, achieved, classes[breach], size[breach])


def _tails(engine: Engine, l: int, cells: Cells, kinds: Profile) -> tuple[Integers, Integers, Integers, Integers]:
    """Head, size, how many classes, and tail.  Up to l = 2 the profile knows it; else classes are ranked."""
    if l <= 2:
        tail = kinds.known if l == 1 else kinds.known - kinds.head
        return kinds.head, kinds.size, kinds.classes, tail
    few = kinds.distinct < l
    if few.all():
        return kinds.head, kinds.size, kinds.classes, np.zeros_like(kinds.size)
    found = engine.arrays(_ranked_tails(l, cells))
    head, size, classes, tail = (found[name].astype(np.int64) for name in (HEAD, SIZE, CLASSES, _TAIL))
    return (
        np.concatenate([kinds.head[few], head]),
        np.concatenate([kinds.size[few], size]),
        np.concatenate([kinds.classes[few], classes]),
        np.concatenate([np.zeros_like(kinds.size[few]), tail]),
    )


def _ranked_tails(l: int, cells: Cells) -> exp.Select:
    """Classes of at least l values by head, size and tail."""
    keys = cells.key.columns
    order = exp.Order(expressions=[exp.Ordered(this=column(ROWS, "c"), desc=True, nulls_first=False)])
    position = exp.Window(this=exp.RowNumber(), partition_by=[column(key, "c") for key in keys], order=order)
    picked = [column(key, "c") for key in keys] + [column(HEAD, "k"), column(SIZE, "k"), column(ROWS, "c")]
    enough = exp.GTE(this=column(DISTINCT, "k"), expression=exp.Literal.number(l))
    ranked = cells.join_classes([*picked, aliased(position, _POSITION)], enough)
    rare = exp.GTE(this=column(_POSITION), expression=exp.Literal.number(l))
    tail = exp.Sum(this=exp.case().when(rare, column(ROWS)).else_(exp.Literal.number(0)))
    by_class = [*keys, HEAD, SIZE]
    tails = exp.Select(expressions=[column(HEAD), column(SIZE), aliased(whole(tail), _TAIL)])
    tails = tails.from_(subquery(ranked, "ppdm_ranked")).group_by(*(column(name) for name in by_class))
    kinds = [HEAD, SIZE, _TAIL]
    counted = exp.Select(expressions=[column(name) for name in kinds]).from_(subquery(tails, "ppdm_tails"))
    counted = counted.select(aliased(exp.Count(this=exp.Star()), CLASSES))
    return counted.group_by(*(column(name) for name in kinds))


# -- entropy -----------------------------------------------------------------------------------------


def entropy_outcome(engine: Engine, requirement: EntropyDiversity, cells: Cells, kinds: Profile) -> Outcome:
    """exp(entropy) of the worst class; classes too near to log(l) for floating point are decided by their counts."""
    name, l = cells.sensitive.column.name, requirement.l
    if not kinds.size.size or kinds.least is None:
        return outcome(requirement, name, None, kinds.classes, kinds.size)
    breaching, near = kinds.under[l].copy(), kinds.near[l]
    nothing = kinds.known == 0
    breaching[nothing] = kinds.classes[nothing]
    told = (kinds.distinct <= 2) | (kinds.distinct * kinds.head == kinds.known)
    for place in np.flatnonzero(np.where(told, near, 0)):
        if not _kind_reaches(int(kinds.known[place]), int(kinds.distinct[place]), int(kinds.head[place]), l):
            breaching[place] += near[place]
    classes, sizes = breaching, kinds.size
    if near[~told].any():
        late_classes, late_sizes = _decided_by_counts(engine, cells, l)
        classes, sizes = np.concatenate([classes, late_classes]), np.concatenate([sizes, late_sizes])
    reached = 0.0 if nothing.any() else _effective(kinds.least, l, holds=not classes.any())
    return outcome(requirement, name, reached, classes, sizes)


def _kind_reaches(size: int, distinct: int, head: int, l: Fraction) -> bool:
    """Classes of one or two values, or of values equally frequent: size and head give all counts."""
    if distinct * head == size:
        return distinct >= l
    return entropy_reaches([head, size - head], l)


def _decided_by_counts(engine: Engine, cells: Cells, l: Fraction) -> tuple[Integers, Integers]:
    """Of the other classes in doubt, those that fail: how many of which size."""
    failing = []
    for text, size, classes in engine.fetch(_counts_in_doubt(cells, l)):
        if not entropy_reaches([int(count) for count in text.split(",")], l):
            failing.append((int(classes), int(size)))
    found = np.array(failing, dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _counts_in_doubt(cells: Cells, l: Fraction) -> exp.Select:
    keys = cells.key.columns
    product = exp.Mul(this=column(DISTINCT), expression=column(HEAD))
    unknown = exp.and_(
        exp.GT(this=column(DISTINCT), expression=exp.Literal.number(2)),
        exp.NEQ(this=product, expression=column(cells.known_rows)),
        _near(l),
    )
    order = [exp.Ordered(this=column(ROWS, "c"), nulls_first=False)]
    texts = exp.Order(this=exp.cast(column(ROWS, "c"), "VARCHAR"), expressions=order)
    joined = exp.GroupConcat(this=texts, separator=exp.Literal.string(","))
    counts = cells.join_classes([aliased(joined, _COUNTS), column(SIZE, "k")], unknown)
    counts = counts.group_by(*(column(key, "c") for key in keys), column(SIZE, "k"))
    alike = [column(_COUNTS), column(SIZE)]
    listed = exp.Select(expressions=[*alike, aliased(exp.Count(this=exp.Star()), CLASSES)])
    return listed.from_(subquery(counts, "ppdm_doubt")).group_by(*(part.copy() for part in alike))


def _clearly_under(l: Fraction) -> exp.Expr:
    return exp.LT(this=column(ENTROPY), expression=_number(math.log(l) - ENTROPY_NEAR))


def _near(l: Fraction) -> exp.Expr:
    bound = math.log(l)
    low, high = _number(bound - ENTROPY_NEAR), _number(bound + ENTROPY_NEAR)
    return exp.Between(this=column(ENTROPY), low=low, high=high)


def _number(value: float) -> exp.Expr:
    number = exp.cast(exp.Literal.number(repr(abs(value))), "DOUBLE")
    return exp.Neg(this=number) if value < 0 else number


def _how_many(condition: exp.Expr) -> exp.Expr:
    counted = exp.case().when(condition, exp.Literal.number(1)).else_(exp.Literal.number(0))
    return whole(exp.Sum(this=counted))


def _effective(least: NDArray[np.float64], l: Fraction, *, holds: bool) -> float:
    """exp(entropy) of the worst class; rounding must not put it on the other side of what was decided.

    Twelve digits: the ones behind them depend on the order in which the engine adds up.
    """
    rough = float(format(math.exp(float(least.min())), ".12g"))
    return max(rough, float(l)) if holds else min(rough, math.nextafter(float(l), 0.0))
