"""Trees made by a die, and rows that try to fall between their branches."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from ppdm_sql.engines.base import Kind
from ppdm_sql.trees.tree import Attribute, Bands, Cut, Groups, Moments, Node, Tree

Draw = Callable[[random.Random], Any]


@dataclass(frozen=True)
class Column:
    """A column of the test table: its attribute, its type, what its values and thresholds are drawn from."""

    attribute: Attribute
    declared: str
    values: tuple[Any, ...]
    cuts: tuple[Decimal | str, ...] = ()  # none: it is grouped
    categories: tuple[Any, ...] = ()  # as a tree keeps the values


def decimals(*texts: str) -> tuple[Decimal, ...]:
    return tuple(map(Decimal, texts))


WORDS = (
    "",
    " ",
    "a",
    "A",
    "b",
    "é",
    "e\u0301",
    "Straße",
    "🦆",
    "o'brien",
    'say "hi"',
    "back\\slash\nline",
    "%s $1",
    "NULL",
    "zz\u202e",
)
HUGE = (-(2**63), -(2**63) + 1, -1, 0, 1, 2**53, 2**53 + 1, 2**63 - 2, 2**63 - 1)
FLOATS = (float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 0.1, 0.1 + 0.2, 0.3, 5e-324, 1e308, -1e308, 2.5)
DAYS = (date(1900, 1, 1), date(1999, 12, 31), date(2000, 1, 1), date(2024, 2, 29), date(2024, 5, 1))
TIMES = tuple(datetime(2024, 5, 1, 12) + timedelta(microseconds=step) for step in (-1, 0, 1, 10**6, 86_400 * 10**6))
ZONED = tuple(moment.replace(tzinfo=UTC) for moment in TIMES)

COLUMNS = (
    Column(Attribute("age", Kind.INTEGER, True), "INTEGER", (-5, 0, 1, 17, 18, 19, 30, 31, 99), decimals("17.5", "18", "30.0001", "-0.5", "1e40", "-1e40", "0")),
    Column(Attribute('o"b; --', Kind.INTEGER, True), "BIGINT", HUGE, decimals("9007199254740992.5", "9223372036854775807", "-9223372036854775807.5", "0.0001", "9223372036854775808")),
    Column(Attribute("paid é", Kind.DECIMAL, True, 2), "DECIMAL(18, 2)", decimals("-0.01", "0.00", "0.01", "12.34", "12.35", "9999999999999999.99"), decimals("0.001", "0.01", "12.345", "-0.009", "9999999999999999.985", "1e30")),
    Column(Attribute("wide", Kind.DECIMAL, True, 0), "DECIMAL(38, 0)", decimals("9" * 38, "-" + "9" * 38, "0"), decimals("0.5", "9" * 38 + ".5", "9" * 37 + "8.25")),
    Column(Attribute("x", Kind.FLOAT, True), "DOUBLE", FLOATS, decimals("0.1", "0.3", "0.30000000000000004", "0", "1e-400", "1e400", "2.5", "-1e308", "Infinity")),
    Column(Attribute("select", Kind.FLOAT, True), "REAL", (0.1, 0.5, float("nan"), -0.0, 3.0), decimals("0.1", "0.10000000149011612", "0.5", "0")),
    Column(Attribute("born", Kind.DATE, True), "DATE", DAYS, ("2000-01-01", "2024-02-29", "1900-01-01", "2024-05-02")),
    Column(Attribute("seen", Kind.TIMESTAMP, True), "TIMESTAMP", TIMES, ("2024-05-01 12:00:00", "2024-05-02", "2024-05-01 12:00:00.000001", "2024-05-01")),
    Column(Attribute("sent", Kind.TIMESTAMP, True, None, True), "TIMESTAMPTZ", ZONED, ("2024-05-01 12:00:00+00", "2024-05-02", "2024-05-01 14:00:01+02")),
    Column(Attribute("word", Kind.TEXT, False), "TEXT", (*WORDS, "unseen", "😶"), categories=WORDS),
    Column(Attribute("ẅord 2", Kind.TEXT, False), "TEXT", ("x", "y", "unseen"), categories=("x", "y")),
    Column(Attribute("yes", Kind.BOOLEAN, False), "BOOLEAN", (True, False), categories=(False, True)),
    Column(Attribute("code", Kind.INTEGER, False), "BIGINT", HUGE, categories=(-1, 0, 2**53, 2**53 + 1, 2**63 - 1, 2**63)),
    Column(Attribute("digit", Kind.INTEGER, False), "SMALLINT", (1, 2, 3, 4, 5, 6), categories=(1, 2, 3, 4)),
    Column(Attribute("share", Kind.FLOAT, False), "DOUBLE", FLOATS, categories=(0.0, 0.1, 0.3, float("nan"), float("inf"))),
    Column(Attribute("price", Kind.DECIMAL, False, 2), "DECIMAL(9, 2)", decimals("1.50", "2.00", "0.00", "7.25"), categories=decimals("1.5", "2", "0.000", "7.251")),
    Column(Attribute("day", Kind.DATE, False), "DATE", DAYS, categories=("1900-01-01", "2000-01-01", "2024-02-29")),
    Column(Attribute("moment", Kind.TIMESTAMP, False), "TIMESTAMP", TIMES, categories=("2024-05-01 12:00:00", "2024-05-01 12:00:00.000001", "2024-05-02 12:00:00")),
    Column(Attribute("zoned", Kind.TIMESTAMP, False, None, True), "TIMESTAMPTZ", ZONED, categories=("2024-05-01 12:00:00+00:00", "2024-05-01 12:00:01+00:00", "2024-05-01 14:00:00.000001+02:00")),
)  # fmt: skip
ATTRIBUTES = tuple(column.attribute for column in COLUMNS)
TARGET = Attribute("class", Kind.TEXT, False)


def a_split(dice: random.Random, number: int) -> Cut | Bands | Groups:
    column = COLUMNS[number]
    if column.cuts:
        return a_banding(dice, number) or Cut(number, dice.choice(column.cuts), dice.choice((None, 0, 1)))
    return a_grouping(dice, number, column.categories)


def rising(cuts: tuple[Any, ...]) -> list[Any]:
    """Thresholds in their order, by another way than the project's own."""
    if not isinstance(cuts[0], str):
        return sorted(cuts)

    def moment(text: str) -> datetime:
        found = datetime.fromisoformat(text if len(text) < 22 or "+" not in text else text + ":00")
        return found if found.tzinfo else found.replace(tzinfo=UTC)

    return sorted(cuts, key=moment)


def a_banding(dice: random.Random, number: int) -> Bands | None:
    """Two to four cut points, bands of which some belong together; None as often as not."""
    cuts = COLUMNS[number].cuts
    if dice.random() < 0.5:
        return None
    at = rising(tuple(dice.sample(cuts, dice.randint(1, min(4, len(cuts))))))
    branches = [0]
    for _ in at:
        branches.append(dice.choice([branch for branch in range(max(branches) + 2) if branch != branches[-1]]))
    width = max(branches) + 1
    names = dice.sample(range(width), width)
    return Bands(number, tuple(at), tuple(names[to] for to in branches), dice.choice((None, *range(width))))


def a_grouping(dice: random.Random, number: int, categories: tuple[Any, ...]) -> Groups:
    named = dice.sample(categories, dice.randint(1, len(categories)))
    branches = dice.randint(2, 4)
    groups: list[list[Any]] = [[] for _ in range(branches)]
    for place, value in enumerate(named):
        groups[place % branches if place < branches else dice.randrange(branches)].append(value)
    groups = [group for group in groups if group]
    others = dice.choice((None, *range(len(groups) + 1)))
    if others == len(groups):
        groups.append([])  # values that are not named have a branch to themselves
    if dice.random() < 0.5:
        groups[dice.randrange(len(groups))].append(None)
    if len(groups) < 2:
        groups.append([])
        others = 1
    return Groups(number, tuple(map(tuple, groups)), others)


def a_tree(seed: int, nodes: int = 30, depth: int = 8, *, regression: bool = False, chain: bool = False) -> Tree:
    """A tree whose counts add up.  chain: every node splits off little, so that it gets as deep as may be."""
    dice = random.Random(seed)
    made: list[dict[str, Any]] = [{"parent": None, "depth": 0, "split": None, "children": ()}]
    open_nodes = [0]
    while open_nodes and len(made) < nodes:
        number = open_nodes.pop(-1 if chain else dice.randrange(len(open_nodes)))
        if made[number]["depth"] == depth:
            continue
        split = a_split(dice, dice.randrange(len(COLUMNS)))
        width = split.width
        children = tuple(range(len(made), len(made) + width))
        made[number] |= {"split": split, "children": children}
        for _ in children:
            made.append({"parent": number, "depth": made[number]["depth"] + 1, "split": None, "children": ()})
        open_nodes += dice.sample(children, width)
    counts = counted(dice, made, 1 if regression else 3)
    return Tree(
        ATTRIBUTES,
        Attribute("cost", Kind.DECIMAL, True, 2) if regression else TARGET,
        () if regression else ("healthy", "ill 'n tired", "é\n"),
        tuple(
            Node(number, **entry, counts=counts[number], gain=dice.random(), moments=moments(dice, counts[number]) if regression else None)
            for number, entry in enumerate(made)
        ),
        "regression" if regression else "cart",
        {"min_leaf": 2, "confidence": 0.25, "exact": True, "criterion": "gini"},
    )  # fmt: skip


def counted(dice: random.Random, made: list[dict[str, Any]], classes: int) -> list[tuple[int, ...]]:
    counts: list[list[int]] = [[0] * classes for _ in made]
    for number in reversed(range(len(made))):
        if not made[number]["children"]:
            counts[number] = [dice.randint(1, 40) for _ in range(classes)]
        if made[number]["parent"] is not None:
            above = counts[made[number]["parent"]]
            for place, count in enumerate(counts[number]):
                above[place] += count
    return [tuple(count) for count in counts]


def moments(dice: random.Random, counts: tuple[int, ...]) -> Moments:
    return Moments(counts[0], Decimal(dice.randint(-(10**9), 10**9)) / 1000, dice.random())


def rows(seed: int, count: int) -> list[tuple[Any, ...]]:
    """Rows with NULLs, with values on and next to the thresholds, and with values no tree names."""
    dice = random.Random(seed)
    return [
        (number, *(None if dice.random() < 0.12 else dice.choice(column.values) for column in COLUMNS))
        for number in range(count)
    ]


SCHEMA = {"id": "INTEGER"} | {column.attribute.name: column.declared for column in COLUMNS}


def single(value: float | None) -> float | None:
    """A REAL as the number the database holds."""
    return value if value is None else float(struct.unpack("f", struct.pack("f", value))[0])


def as_mapping(row: tuple[Any, ...]) -> dict[str, Any]:
    """The row as it comes from the database."""
    return {
        name: single(value) if kind == "REAL" else value
        for (name, kind), value in zip(SCHEMA.items(), row, strict=True)
    }


def cut_tree(name: str, kind: Kind, at: str, nulls: int | None = None) -> Tree:
    nodes = (
        Node(0, None, 0, (3, 5), Cut(0, Decimal(at), nulls), (1, 2)),
        Node(1, 0, 1, (3, 1)),
        Node(2, 0, 1, (0, 4)),
    )
    return Tree((Attribute(name, kind, True),), TARGET, ("no", "yes"), nodes)


def one_split_trees(number: int) -> list[Tree]:
    """One split of a column in every way: each threshold, NULL to each side or to none; groups with and without."""
    column = COLUMNS[number]
    splits: list[Cut | Bands | Groups] = [Cut(number, at, nulls) for at in column.cuts for nulls in (None, 0, 1)]
    dice = random.Random(number)
    if column.cuts:
        splits += [split for split in (a_banding(dice, number) for _ in range(12)) if split is not None]
    else:
        one_by_one = tuple((value,) for value in column.categories)
        splits = [
            Groups(number, one_by_one),
            Groups(number, (*one_by_one, (None,))),
            Groups(number, (*one_by_one, ()), len(one_by_one)),
        ]
        splits += [a_grouping(dice, number, column.categories) for _ in range(6)]
    return [
        Tree(ATTRIBUTES, TARGET, ("no", "yes"), (
            Node(0, None, 0, (width, width), split, tuple(range(1, width + 1))),
            *(Node(child, 0, 1, (1, 1)) for child in range(1, width + 1)),
        ))
        for split in splits
        for width in [split.width]
    ]  # fmt: skip
