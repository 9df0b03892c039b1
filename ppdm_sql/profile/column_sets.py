"""Which columns together make people unique, and which columns determine one another.

Both ask about many combinations, so values become numbers first: one working table with a 64-bit hash per column, of a
sample where the relation is large.  A set of columns is then one hash of their hashes, and costs one GROUP BY of one
number.  Two different values share a hash once in about 10^19 pairs, which these figures can bear; what decides a
publication (planning/) compares values.  What the sample says of the riskiest sets and of determination is confirmed on
all rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

from sqlglot import exp

from ppdm_sql.engines.base import ColumnInfo, Engine
from ppdm_sql.profile.columns import ColumnProfile
from ppdm_sql.source.encode import canonical
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.watching import Progress

SAMPLE = 200_000  # rows
_MOST_COLUMNS = 24  # combined with one another
_IN_ONE_STATEMENT = 32
_SHOWN = 5  # sets of each size
_EXTENDED = 40  # pairs that a third column is added to
_MOST_ALONE = Fraction(1, 2)  # a column that makes more rows unique by itself needs no other one
_MOST_DETERMINED = 60  # columns compared with one another


@dataclass(frozen=True)
class ColumnSet:
    """Some columns, and how many rows nobody else agrees with in all of them."""

    columns: tuple[str, ...]
    unique_rows: int
    rows: int

    @property
    def unique_share(self) -> Fraction:
        return Fraction(self.unique_rows, max(self.rows, 1))

    def as_json(self) -> dict[str, Any]:
        return {
            "columns": list(self.columns),
            "unique_rows": self.unique_rows,
            "unique_share": float(self.unique_share),
        }


@dataclass(frozen=True)
class Determined:
    """All rows that agree in one column agree in these others too."""

    by: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Hashed:
    """The sample: a working table with one number per column."""

    table: Name
    rows: int
    sampled: bool
    numbers: Mapping[str, str]  # column -> its number's column


def hash_rows(engine: Engine, relation: Name, columns: Sequence[ColumnInfo], rows: int, sample: int = SAMPLE) -> Hashed:
    """The relation as numbers; of a large one, the rows whose own hash is smallest, which is a sample by chance."""
    numbers = {info.name: f"ppdm_h{place}" for place, info in enumerate(columns)}
    picked = [aliased(_hash(engine, info, place), numbers[info.name]) for place, info in enumerate(columns)]
    query = exp.Select(expressions=picked).from_(relation.table())
    if rows > sample:
        values = [canonical(engine, info) for info in columns]
        query = query.order_by(engine.quick_hash(values, len(columns))).limit(sample)
    return Hashed(engine.work.table("hashes", query, analyze=True), min(rows, sample), rows > sample, numbers)


def _hash(engine: Engine, info: ColumnInfo, seed: int) -> exp.Expr:
    return engine.quick_hash([canonical(engine, info)], seed)


# -- sets of columns ---------------------------------------------------------------------------------------


def columns_to_combine(profiles: Sequence[ColumnProfile]) -> list[str]:
    """The columns worth combining: no constant, none that makes people unique by itself; the best separating ones."""
    worth = [one for one in profiles if one.classes > 1 and one.unique_share <= _MOST_ALONE]
    ranked = sorted(worth, key=lambda one: one.separation, reverse=True)[:_MOST_COLUMNS]
    kept = {one.name for one in ranked}
    return [one.name for one in profiles if one.name in kept]


def riskiest_sets(
    engine: Engine, relation: Name, hashed: Hashed, columns: Sequence[ColumnInfo], names: Sequence[str], rows: int,
    progress: Progress,
) -> dict[int, tuple[ColumnSet, ...]]:  # fmt: skip
    """The sets of one, two and three columns that make the most rows unique, by their number of columns."""
    sizes = range(1, min(3, len(names)) + 1)
    unique: dict[tuple[str, ...], int] = {}
    for size in sizes:
        every = list(itertools.combinations(names, size))
        if size == 3:  # built on the pairs that say most: all triples of 24 columns would be 2,024
            pairs = sorted((one for one in unique if len(one) == 2), key=lambda one: -unique[one])[:_EXTENDED]
            every = [one for one in every if any(set(pair) <= set(one) for pair in pairs)]
        for start in range(0, len(every), _IN_ONE_STATEMENT):
            progress(f"sets of {size}", start, len(every))
            batch = every[start : start + _IN_ONE_STATEMENT]
            unique |= zip(batch, _unique_rows(engine, hashed, batch), strict=True)
    best = {
        size: sorted((one for one in unique if len(one) == size), key=lambda one: (-unique[one], one))[:_SHOWN]
        for size in sizes
    }
    if hashed.sampled:  # a sample makes rows look more unique than they are
        progress("column sets on all rows", 0, None)
        listed = [one for found in best.values() for one in found]
        unique = dict(zip(listed, _exact_unique_rows(engine, relation, columns, listed), strict=True))
    return {
        size: tuple(sorted((ColumnSet(one, unique[one], rows) for one in found), key=lambda one: -one.unique_rows))
        for size, found in best.items()
    }


def _unique_rows(engine: Engine, hashed: Hashed, sets: Sequence[Sequence[str]]) -> list[int]:
    """How many rows of the sample are alone in each set, by one statement."""
    numbers = [[column(hashed.numbers[name]) for name in names] for names in sets]
    keys = [found if len(found) == 1 else [engine.quick_hash(found, 0)] for found in numbers]
    return _count_alone(engine, [(hashed.table, key) for key in keys])


def _exact_unique_rows(
    engine: Engine, relation: Name, columns: Sequence[ColumnInfo], sets: Sequence[Sequence[str]]
) -> list[int]:
    by_name = {info.name: info for info in columns}
    return _count_alone(
        engine, [(relation, [canonical(engine, by_name[name]) for name in names]) for names in sets]
    )  # fmt: skip


def _count_alone(engine: Engine, groups: Sequence[tuple[Name, Sequence[exp.Expr]]]) -> list[int]:
    counts = [_alone(number, table, keys) for number, (table, keys) in enumerate(groups)]
    query = reduce(lambda one, other: exp.Union(this=one, expression=other, distinct=False), counts)
    found: dict[int, int] = dict(engine.fetch(query))
    return [int(found[number]) for number in range(len(groups))]


def _alone(number: int, table: Name, keys: Sequence[exp.Expr]) -> exp.Expr:
    """SELECT number, COUNT(*) of the groups of one row."""
    one = exp.EQ(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(1))
    groups = exp.Select(expressions=[aliased(exp.Literal.number(1), "ppdm_one")]).from_(table.table(), copy=False)
    groups = groups.group_by(*keys, copy=False).having(one, copy=False)
    counted = [exp.Literal.number(number), exp.Count(this=exp.Star())]
    return exp.Select(expressions=counted).from_(groups.subquery(f"ppdm_set_{number}", copy=False), copy=False)


# -- columns that determine one another --------------------------------------------------------------------


def determinations(
    engine: Engine, relation: Name, hashed: Hashed, profiles: Sequence[ColumnProfile], progress: Progress
) -> tuple[Determined, ...]:
    """Which columns follow from which other one: refuted on the sample, confirmed on all rows.

    A column that makes most rows unique determines everything, and a constant is determined by everything: neither is
    worth saying.
    """
    worth = sorted(
        (one for one in profiles if one.classes > 1 and 2 * one.classes <= one.rows),
        key=lambda one: one.classes, reverse=True,
    )[:_MOST_DETERMINED]  # fmt: skip
    found = []
    for place, one in enumerate(worth):
        progress("columns that determine others", place, len(worth))
        others = [other for other in worth if other is not one and other.classes <= one.classes]
        columns = [column(hashed.numbers[other.name]) for other in others]
        left = _followers(engine, hashed.table, [column(hashed.numbers[one.name])], columns, others)
        if left and hashed.sampled:
            exact = [_hash(engine, other.info, 0) for other in left]
            left = _followers(engine, relation, [canonical(engine, one.info)], exact, left)
        if left:
            found.append(Determined(one.name, tuple(other.name for other in left)))
    return tuple(found)


def _followers(
    engine: Engine, table: Name, keys: Sequence[exp.Expr], numbers: Sequence[exp.Expr], others: Sequence[ColumnProfile]
) -> list[ColumnProfile]:
    """The columns that have one value in every group of the keys, by one statement."""
    if not others:
        return []
    flags = [
        aliased(_flag(exp.EQ(this=exp.Min(this=number), expression=exp.Max(this=number.copy()))), f"ppdm_f{place}")
        for place, number in enumerate(numbers)
    ]
    groups = exp.Select(expressions=flags).from_(table.table()).group_by(*keys)
    least = [exp.Min(this=column(f"ppdm_f{place}")) for place in range(len(others))]
    held = engine.fetch_one(exp.Select(expressions=least).from_(groups.subquery("ppdm_groups")))
    return [other for other, flag in zip(others, held, strict=True) if flag == 1]


def _flag(condition: exp.Expr) -> exp.Expr:
    return exp.case().when(condition, exp.Literal.number(1)).else_(exp.Literal.number(0))


def repeated_columns(engine: Engine, relation: Name, profiles: Sequence[ColumnProfile]) -> dict[str, str]:
    """The columns that determine an earlier one and are determined by it, each with the first such column.

    Only columns with equally many values, unique rows and pairs of equal rows can be; those are compared on all rows.
    """
    found: dict[str, str] = {}
    first: dict[tuple[int, int, int], list[ColumnProfile]] = {}
    for one in profiles:
        alike = first.setdefault((one.classes, one.unique_rows, one.alike_pairs), [])
        same = next((other for other in alike if _say_the_same(engine, relation, other, one)), None)
        if same is None:
            alike.append(one)
        elif one.classes > 1:
            found[one.name] = same.name
    return found


def _say_the_same(engine: Engine, relation: Name, one: ColumnProfile, other: ColumnProfile) -> bool:
    keys = [canonical(engine, each.info) for each in (one, other)]
    groups = exp.Select(expressions=[aliased(exp.Literal.number(1), "ppdm_one")]).from_(relation.table())
    counted = exp.Select(expressions=[exp.Count(this=exp.Star())])
    (together,) = engine.fetch_one(counted.from_(groups.group_by(*keys).subquery("ppdm_groups")))
    return int(together) == one.classes


def equal_groups(found: Iterable[Determined]) -> Iterator[tuple[str, ...]]:
    """Columns that determine one another both ways say the same under several names.

    >>> list(equal_groups([Determined("a", ("b", "c")), Determined("b", ("a", "c")), Determined("c", ())]))
    [('a', 'b')]
    """
    by = {one.by: set(one.columns) for one in found}
    seen: set[str] = set()
    for name, others in by.items():
        same = (name, *(other for other in others if name in by.get(other, ())))
        if len(same) > 1 and name not in seen:
            seen |= set(same)
            yield tuple(sorted(same))
