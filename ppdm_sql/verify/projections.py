"""Judge a release of several tables that share the class alone: what joining them on the class gives.

Every table by itself is judged as any stored relation (relation.py).  Here its groups are numbered by what they print,
in that order, so the numbers can be found again from the stored tables at any time.  The combinations of groups that
a person has are known while the rows are there and are kept next to the release; the products over the classes are
made by the database, each capped after every factor so that the least of them stays exact in 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

import numpy as np
from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PpdmError, RequirementBreached
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.statements.rowtext import row_text

KEY, NUMBER, CLASS, ROWS, LEFT, PART = (f"ppdm_{word}" for word in ("key", "number", "class", "rows", "left", "part"))
MOST_JOINED = 5_000_000
TWO = 2
_NEAR = 1e-9


@dataclass(frozen=True)
class StoredPart:
    """A stored table of the release, its columns but the class, and the quasi-identifiers among them."""

    table: Name
    columns: tuple[str, ...]
    quasi: tuple[str, ...]


@dataclass(frozen=True)
class Joined:
    """What the join on the class gives: its least combination, those below k, and where one class is left."""

    smallest: int | None  # None: nothing was asked
    combinations: int
    breaching: int
    breaching_rows: int
    certain_rows: int

    @property
    def holds(self) -> bool:
        return not self.breaching


@dataclass(frozen=True)
class Numbered:
    """The groups of every part with their numbers, and what is counted in each with each class."""

    groups: tuple[Name, ...]  # (key, number)
    counts: tuple[Name, ...]  # (number, class, rows)
    classes: Name  # (key, number)


def part_column(place: int) -> str:
    """The column that has the group of a part; places count from 1."""
    return f"{PART}_{place}"


def grouped_parts(parts: Sequence[StoredPart]) -> list[StoredPart]:
    """The parts that have quasi-identifiers: without one there is nothing to tell rows apart by."""
    return [part for part in parts if part.quasi]


# -- numbers -------------------------------------------------------------------------------------------------


def number_groups(engine: Engine, parts: Sequence[StoredPart], target: str) -> Numbered:
    """Numbers the groups of the stored tables, and counts their rows by class."""
    shown = grouped_parts(parts)
    classes = _numbers(engine, parts[0].table, [target])
    groups = tuple(_numbers(engine, part.table, part.quasi) for part in shown)
    counts = tuple(
        engine.work.table("part_counts", _count_groups(engine, part, made, classes, target), analyze=True)
        for part, made in zip(shown, groups, strict=True)
    )
    return Numbered(groups, counts, classes)


def _key_text(engine: Engine, names: Sequence[str], alias: str) -> exp.Expr:
    """What a row prints in some columns, as one text that is equal exactly where they print alike."""
    return engine.exact_text(
        row_text(engine, [engine.exact_text(exp.cast(column(name, alias), "TEXT")) for name in names])
    )


def _numbers(engine: Engine, table: Name, names: Sequence[str]) -> Name:
    distinct = exp.Select(expressions=[aliased(_key_text(engine, names, "s"), KEY)]).from_(table.table("s")).distinct()
    place = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=[exp.Ordered(this=column(KEY, "d"))]))
    query = exp.Select(expressions=[column(KEY, "d"), aliased(place, NUMBER)]).from_(distinct.subquery("d"))
    return engine.work.table("part_groups", query, analyze=True)


def _count_groups(engine: Engine, part: StoredPart, groups: Name, classes: Name, target: str) -> exp.Select:
    keys = {"g": (groups, part.quasi), "y": (classes, (target,))}
    query = exp.Select(
        expressions=[aliased(column(NUMBER, "g"), NUMBER), aliased(column(NUMBER, "y"), CLASS), _count()]
    ).from_(part.table.table("s"))
    for alias, (table, names) in keys.items():
        query = query.join(table.table(alias), on=_eq(column(KEY, alias), _key_text(engine, names, "s")))
    return query.group_by(column(NUMBER, "g"), column(NUMBER, "y"))


def _count(what: exp.Expr | None = None) -> exp.Expr:
    counted = exp.Count(this=exp.Star()) if what is None else exp.Count(this=exp.Distinct(expressions=[what]))
    return aliased(exp.cast(counted, "BIGINT"), ROWS)


def _eq(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.EQ(this=left, expression=right)


def numbered_rows(
    engine: Engine, rows: Name, parts: Sequence[StoredPart], numbered: Numbered, target: str, kept: Sequence[str]
) -> Name:
    """Rows with the number of their group in every part and of their class; kept: further columns of theirs."""
    shown = grouped_parts(parts)
    picked = [*(column(name, "s") for name in kept), aliased(column(NUMBER, "y"), CLASS)]
    query = exp.Select(expressions=picked).from_(rows.table("s"))
    query = query.join(numbered.classes.table("y"), on=_eq(column(KEY, "y"), _key_text(engine, [target], "s")))
    for place, (part, made) in enumerate(zip(shown, numbered.groups, strict=True), start=1):
        query = query.select(aliased(column(NUMBER, f"g{place}"), part_column(place)))
        query = query.join(
            made.table(f"g{place}"), on=_eq(column(KEY, f"g{place}"), _key_text(engine, part.quasi, "s"))
        )
    return engine.work.table("part_numbers", query)


def person_counts(engine: Engine, numbered: Name, places: int, entity: str) -> tuple[Name, ...]:
    """The same counts in distinct persons, from rows that still know them."""
    made = []
    for place in range(1, places + 1):
        group = column(part_column(place))
        query = (
            exp.Select(expressions=[aliased(group, NUMBER), column(CLASS), _count(column(entity))])
            .from_(numbered.table())
            .group_by(group.copy(), column(CLASS))
        )
        made.append(engine.work.table("part_counts", query, analyze=True))
    return tuple(made)


def combinations_of(engine: Engine, numbered: Name, places: int) -> Name:
    """The combinations of groups that people have, numbered in their order, with their rows."""
    names = [column(part_column(place)) for place in range(1, places + 1)]
    grouped = (
        exp.Select(expressions=[*names, _count()]).from_(numbered.table()).group_by(*(one.copy() for one in names))
    )
    order = [exp.Ordered(this=column(one.name, "d")) for one in names] or [exp.Ordered(this=column(ROWS, "d"))]
    place_of = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=order))
    picked = [aliased(place_of, PART), *(column(one.name, "d") for one in names), column(ROWS, "d")]
    return engine.work.table("combinations", exp.Select(expressions=picked).from_(grouped.subquery("d")), analyze=True)


# -- joining -------------------------------------------------------------------------------------------------


def judge_join(engine: Engine, rejoin: str, combinations: Name, counts: Sequence[Name], classes: int, k: int) -> Joined:
    """What anyone who joins the tables on the class finds; counts: (number, class, rows) of every part."""
    if not counts:
        return Joined(None, 0, 0, 0, 0)
    with engine.workspace() as work:
        cap = max(_least_group(engine, counts), 1)
        joined = _joined_classes(engine, combinations, counts, cap)
        every = work.table("joined", _sums(joined, cap))
        number, few, rows, least, certain = _figures(engine, every, k)
        if rejoin == "exact" or (rejoin == "all" and classes <= TWO):
            return Joined(least, number, few, rows, certain)
        if rejoin == "all":
            query = _sums(_every_combination(engine, counts, cap), cap)
            number, few, _, least, _ = _figures(engine, work.table("joined", query), k)
            return Joined(least, number, few, 0, certain)
    if rejoin == "class":
        number, few, rows, least = _class_figures(engine, counts, k)
        return Joined(least, number, few, rows, certain)
    return Joined(None, number, 0, 0, certain)


def _least_group(engine: Engine, counts: Sequence[Name]) -> int:
    """The least group of level 1; persons of several classes count in each, which only raises the cap."""
    found = []
    for one in counts:
        sums = exp.Select(expressions=[aliased(exp.Sum(this=column(ROWS)), ROWS)]).from_(one.table())
        sums = sums.group_by(column(NUMBER))
        found.append(
            engine.fetch_one(exp.Select(expressions=[exp.Min(this=column(ROWS, "g"))]).from_(sums.subquery("g")))[0]
        )
    return min(int(one or 0) for one in found)


def _joined_classes(engine: Engine, combinations: Name, counts: Sequence[Name], cap: int) -> Name:
    """(combination, rows, class, product): the classes that a combination leaves, part after part."""
    places = range(1, len(counts) + 1)
    kept = [column(name, "c") for name in (PART, ROWS, *(part_column(place) for place in places))]
    product = _cap_at(column(ROWS, "n"), cap)
    on = _eq(column(NUMBER, "n"), column(part_column(1), "c"))
    query = exp.Select(expressions=[*kept, column(CLASS, "n"), aliased(product, LEFT)]).from_(combinations.table("c"))
    current = engine.work.table("joined_parts", query.join(counts[0].table("n"), on=on), analyze=True)
    for place in places[1:]:
        on = exp.and_(
            _eq(column(NUMBER, "n"), column(part_column(place), "c")), _eq(column(CLASS, "n"), column(CLASS, "c"))
        )
        product = _cap_at(exp.Mul(this=column(LEFT, "c"), expression=column(ROWS, "n")), cap)
        query = exp.Select(expressions=[*(one.copy() for one in kept), column(CLASS, "c"), aliased(product, LEFT)])
        query = query.from_(current.table("c")).join(counts[place - 1].table("n"), on=on)
        current = engine.work.table("joined_parts", query, analyze=True)
    return current


def _cap_at(product: exp.Expr, cap: int) -> exp.Expr:
    """In 64 bits: no factor is above the number of rows, and no product so far above the cap."""
    whole = exp.cast(product, "BIGINT")
    return (
        exp.Case()
        .when(exp.GT(this=whole, expression=exp.Literal.number(cap)), exp.cast(exp.Literal.number(cap), "BIGINT"))
        .else_(whole.copy())
    )


def _sums(joined: Name, cap: int) -> exp.Select:
    total = _cap_at(exp.Sum(this=column(LEFT)), cap)
    picked = [
        column(PART),
        aliased(exp.Max(this=column(ROWS)), ROWS),
        aliased(total, KEY),
        aliased(exp.Count(this=exp.Star()), LEFT),
    ]
    return exp.Select(expressions=picked).from_(joined.table()).group_by(column(PART))


def _figures(engine: Engine, sums: Name, k: int) -> tuple[int, int, int, int, int]:
    """Combinations, those below k, the rows in them, the least, and the rows of those that leave one class."""
    few = exp.LT(this=column(KEY), expression=exp.Placeholder(this="k"))
    alone = _eq(column(LEFT), exp.Literal.number(1))

    def where(condition: exp.Expr, amount: exp.Expr) -> exp.Expr:
        return exp.Sum(this=exp.Case().when(condition.copy(), amount).else_(exp.Literal.number(0)))

    one = exp.Literal.number(1)
    picked = [
        exp.Count(this=exp.Star()),
        where(few, one),
        where(few, column(ROWS)),
        exp.Min(this=column(KEY)),
        where(alone, column(ROWS)),
    ]
    query = exp.Select(expressions=[aliased(item, f"ppdm_f{place}") for place, item in enumerate(picked)]).from_(
        sums.table()
    )
    number, breaching, rows, least, certain = engine.fetch_one(query, k=k)
    return int(number), int(breaching or 0), int(rows or 0), int(least or 0), int(certain or 0)


def _class_figures(engine: Engine, counts: Sequence[Name], k: int) -> tuple[int, int, int, int]:
    """Groups with a class, those below k, the rows in them, the least."""
    few = exp.LT(this=column(ROWS), expression=exp.Placeholder(this="k"))
    zero, one = exp.Literal.number(0), exp.Literal.number(1)
    picked = [
        exp.Count(this=exp.Star()),
        exp.Sum(this=exp.Case().when(few.copy(), one).else_(zero)),
        exp.Sum(this=exp.Case().when(few.copy(), column(ROWS)).else_(zero.copy())),
        exp.Min(this=column(ROWS)),
    ]
    found = [
        engine.fetch_one(
            exp.Select(expressions=[aliased(item.copy(), f"ppdm_f{place}") for place, item in enumerate(picked)]).from_(
                table.table()
            ),
            k=k,
        )
        for table in counts
    ]
    sums = [sum(int(row[place] or 0) for row in found) for place in range(3)]
    return sums[0], sums[1], sums[2], min(int(row[3] or 0) for row in found)


def _every_combination(engine: Engine, counts: Sequence[Name], cap: int) -> Name:
    """The same of all combinations that the join has, with or without people."""
    groups = [
        int(
            engine.fetch_one(
                exp.Select(expressions=[exp.Count(this=exp.Distinct(expressions=[column(NUMBER)]))]).from_(one.table())
            )[0]
        )
        for one in counts
    ]
    number = reduce(lambda left, right: left * right, groups, 1)
    if number > MOST_JOINED:
        raise RequirementBreached(
            f"rejoin = all looks at {number:,} combinations of groups, more than {MOST_JOINED:,}: use rejoin = class "
            "or rejoin = exact; nothing was published"
        )
    first = exp.Select(
        expressions=[
            aliased(exp.cast(column(NUMBER, "n"), "BIGINT"), PART),
            aliased(exp.cast(exp.Literal.number(0), "BIGINT"), ROWS),
            column(CLASS, "n"),
            aliased(_cap_at(column(ROWS, "n"), cap), LEFT),
        ]
    ).from_(counts[0].table("n"))
    current = engine.work.table("joined_parts", first)
    for one, size in zip(counts[1:], groups[1:], strict=True):
        packed = exp.Add(
            this=exp.Mul(this=column(PART, "c"), expression=exp.Literal.number(size + 1)),
            expression=column(NUMBER, "n"),
        )
        product = _cap_at(exp.Mul(this=column(LEFT, "c"), expression=column(ROWS, "n")), cap)
        query = exp.Select(
            expressions=[
                aliased(exp.cast(packed, "BIGINT"), PART),
                column(ROWS, "c"),
                column(CLASS, "c"),
                aliased(product, LEFT),
            ]
        )
        query = query.from_(current.table("c")).join(one.table("n"), on=_eq(column(CLASS, "n"), column(CLASS, "c")))
        current = engine.work.table("joined_parts", query)
    return current


# -- the class of a combination --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Weights:
    """Per combination and class the attacker's weight: the product of its groups over n(class)^(parts - 1)."""

    combination: np.ndarray
    classes: np.ndarray
    factors: np.ndarray  # (row, part)
    class_rows: dict[int, int]
    known: dict[int, int]  # combination -> rows, of every combination

    def by_combination(self) -> Iterable[tuple[int, list[int], list[list[int]]]]:
        """A combination, its classes, and their factors."""
        order = np.argsort(self.combination, kind="stable")
        starts = np.flatnonzero(np.diff(self.combination[order], prepend=-1))
        for first, stop in zip(starts, [*starts[1:], len(order)], strict=True):
            rows = order[first:stop]
            yield int(self.combination[rows[0]]), self.classes[rows].tolist(), self.factors[rows].tolist()


def read_weights(engine: Engine, combinations: Name, counts: Sequence[Name], hidden: int | None) -> Weights:
    """What an attacker weighs; hidden: the number of the class that does not count (NULL), or None."""
    places = range(1, len(counts) + 1)
    picked = [
        column(PART, "c"),
        column(CLASS, "n1"),
        *(aliased(column(ROWS, f"n{place}"), f"ppdm_n{place}") for place in places),
    ]
    query = exp.Select(expressions=picked).from_(combinations.table("c"))
    for place in places:
        on = [_eq(column(NUMBER, f"n{place}"), column(part_column(place), "c"))]
        on += [_eq(column(CLASS, f"n{place}"), column(CLASS, "n1"))] if place > 1 else []
        query = query.join(counts[place - 1].table(f"n{place}"), on=exp.and_(*on))
    read = engine.arrays(query)
    told = read[CLASS] != (-1 if hidden is None else hidden)
    factors = np.column_stack([read[f"ppdm_n{place}"] for place in places])[told].astype(np.int64)
    sums = (
        exp.Select(expressions=[column(CLASS), aliased(exp.Sum(this=column(ROWS)), ROWS)])
        .from_(counts[0].table())
        .group_by(column(CLASS))
    )
    every = engine.fetch(exp.Select(expressions=[column(PART), column(ROWS)]).from_(combinations.table()))
    return Weights(
        read[PART][told].astype(np.int64), read[CLASS][told].astype(np.int64), factors,
        {int(one): int(rows) for one, rows in engine.fetch(sums)}, {int(one): int(rows) for one, rows in every},
    )  # fmt: skip


def heads(weights: Weights) -> dict[int, Fraction]:
    """Per combination the greatest share of a class, exactly; 1 where no class is known."""
    found = dict.fromkeys(weights.known, Fraction(1))
    kept: dict[tuple[tuple[int, ...], ...], Fraction] = {}
    for combination, classes, factors in weights.by_combination():
        about = (tuple(classes), *map(tuple, factors))
        if about not in kept:
            kept[about] = _head(weights, classes, factors)
        found[combination] = kept[about]
    return found


def _head(weights: Weights, classes: Sequence[int], factors: Sequence[Sequence[int]]) -> Fraction:
    each = [
        Fraction(reduce(lambda left, right: left * right, row, 1), weights.class_rows[one] ** (len(row) - 1))
        for one, row in zip(classes, factors, strict=True)
    ]
    total = sum(each, Fraction(0))
    if not total:
        raise PpdmError("a combination of groups has no rows; run the statement again")
    return max(each) / total
