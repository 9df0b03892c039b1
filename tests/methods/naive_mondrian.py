"""Mondrian by the rules of docs/methods/mondrian.md, over rows in Python: one part at a time, slow and obvious.

Nothing is shared with ppdm_sql.  A hierarchy is given as {leaf text: (leaf, label, ..., "*")} in the order of
its leaves.  `partition` returns the parts as lists of row numbers, `printed` what is printed for them.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

UNITS = 2**30
STEPS = (5, 2, 1)
EPOCH = datetime(1970, 1, 1)


@dataclass
class Table:
    """Rows as mappings; allowed(rows) says whether rows may be a part by the sensitive columns."""

    rows: list[dict]
    quasi: list[str]
    k: int
    hierarchies: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    target: str | None = None
    numeric: bool = False
    entity: str | None = None
    allowed: Callable[[list[dict]], bool] = lambda rows: True

    def __post_init__(self):
        self.held = {name: holders(self, name) for name in self.quasi}
        self.ranks = {name: self._ranked(name) for name in self.quasi}
        self.weights = self._weights()

    def _ranked(self, name):
        """Per row the place of its value in the column's codes; NaN and NULL come last.

        Words that fewer than k people hold share one code, after the other words.
        """
        tree = list(self.hierarchies.get(name, {}))
        held = self.held[name]
        values = {key(row[name]): row[name] for row in self.rows}
        ordered = sorted(values, key=lambda v: place(values[v], tree))
        few = [v for v in ordered if is_word(values[v]) and not tree and held[v] < self.k]
        codes = [v for v in ordered if v not in few and values[v] is not None]
        code = {v: number for number, v in enumerate(codes)} | dict.fromkeys(few, len(codes))
        code.setdefault(key(None), len(codes) + (1 if few else 0))
        return [code[key(row[name])] for row in self.rows]

    def _weights(self):
        """Each person counts in one row, the one with the first values; nobody (NULL) counts in none."""
        if self.entity is None:
            return [1] * len(self.rows)
        best = {}
        for number, row in enumerate(self.rows):
            if row[self.entity] is not None:
                values = tuple(place(row[name], []) for name in (*self.quasi, *self.tie))
                best[row[self.entity]] = min(best.get(row[self.entity], (values, number)), (values, number))
        chosen = {number for _, number in best.values()}
        return [int(number in chosen) for number in range(len(self.rows))]

    tie: Sequence[str] = ()  # the other columns that are counted: the target, then sensitive ones

    def fine(self, part):
        return sum(self.weights[i] for i in part) >= self.k and self.allowed([self.rows[i] for i in part])


FEW = object()  # stands for all words that few people hold


def is_word(value):
    return isinstance(value, str | bool)


def key(value):
    """Values that are one value in SQL: NaN is itself, minus zero is zero, True is not 1."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else ("float", value + 0.0)
    return (type(value).__name__, value)


def special(value):
    return value is None or (isinstance(value, float) and math.isnan(value))


def place(value, tree):
    if value is None:
        return (2, 0)
    if tree:
        return (0, tree.index(leaf_text(value)))
    if special(value):
        return (1, 0)
    return (0, value.encode() if isinstance(value, str) else value)


def leaf_text(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value + 0.0).replace("nan", "nan")
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime):
        text = value.isoformat(sep=" ")
        return text.rstrip("0") if value.microsecond else text
    return str(value)


# -- the partition ---------------------------------------------------------------------------------------


@dataclass
class Part:
    rows: list[int]
    region: dict[str, tuple]  # attribute -> (least boundary, greatest boundary), None where there is none
    gain: float = 0.0
    children: list[Part] = field(default_factory=list)


def partition(table: Table, max_parts: int | None = None) -> list[Part]:
    root = Part(list(range(len(table.rows))), dict.fromkeys(table.quasi, (None, None)))
    generation = [root]
    while generation:
        following = []
        for part in generation:
            split(table, part)
            following += part.children
        generation = following
    return leaves(root) if max_parts is None else best_first(root, max_parts)


def leaves(part):
    return [leaf for child in part.children for leaf in leaves(child)] if part.children else [part]


def best_first(root, most):
    """Always the part of the largest gain, of equal ones the one that was made on the earlier level, left first."""
    number, waiting = {}, [root]
    while waiting:
        part = waiting.pop(0)
        number[id(part)] = len(number)
        waiting += part.children
    frontier, done = [root], []
    while frontier:
        part = max(frontier, key=lambda p: (p.gain, -number[id(p)]))
        frontier.remove(part)
        grown = len(frontier) + len(done) + len(part.children)
        if part.children and grown <= most:
            frontier += part.children
        else:
            done.append(part)
    return done


def split(table, part):
    options = []
    for order, name in enumerate(table.quasi):
        found = best_of(table, part, name)
        if found is not None:
            groups, cost, gain, boundaries = found
            options.append((cost if table.target else -share(table, part, name), order, name, groups, gain, boundaries))
    if not options:
        return
    _, _, name, groups, gain, boundaries = min(options, key=lambda option: option[:2])
    part.gain = gain
    low, high = part.region[name]
    for number, group in enumerate(groups):
        region = dict(part.region)
        if boundaries is not None:
            region[name] = (low if number == 0 else boundaries, boundaries if number == 0 else high)
        part.children.append(Part(group, region))


def share(table, part, name):
    """How much of the attribute's codes the part spreads over."""
    ranks = table.ranks[name]
    codes = [ranks[i] for i in part.rows]
    return Fraction(max(codes) - min(codes), max(len(set(ranks)) - 1, 1))


def best_of(table, part, name):
    """(groups, cost, gain, boundary) of the attribute's best allowable split of a part, or None."""
    ranks = table.ranks[name]
    codes = sorted({ranks[i] for i in part.rows})
    if name in table.hierarchies and not (table.rows[0] and codes and is_null(table, name, codes[-1])):
        groups = by_labels(table, part, name)
        if len(groups) < 2 or not all(table.fine(group) for group in groups):
            return None
        return groups, *worth(table, part.rows, groups), None
    cuts = [
        (below, above)
        for below, above in pairwise(codes)
        if name not in table.hierarchies or is_null(table, name, above)
    ]
    found = []
    for below, above in cuts:
        groups = [[i for i in part.rows if ranks[i] <= below], [i for i in part.rows if ranks[i] > below]]
        if all(table.fine(group) for group in groups):
            changes = class_changes(table, part, name, below, above)
            cost, gain = worth(table, part.rows, groups)
            uneven = abs(len(groups[0]) - len(groups[1]))
            # Cuts where the class changes first, by cost; then the others, by evenness.
            rank = (0, cost, below) if table.target and changes else (1, uneven, below)
            found.append((rank, groups, cost, gain, (below, above)))
    if not found:
        return None
    _, groups, cost, gain, gap = min(found, key=lambda option: option[0])
    return groups, cost, gain, boundary(table, name, gap)


def is_null(table, name, rank):
    return any(row[name] is None and table.ranks[name][i] == rank for i, row in enumerate(table.rows))


def by_labels(table, part, name):
    """Groups by the highest level on which the part has more than one label."""
    tree = table.hierarchies[name]
    ways = {i: tree[leaf_text(table.rows[i][name])] for i in part.rows if table.rows[i][name] is not None}
    if not ways:
        return [part.rows]
    for level in reversed(range(len(next(iter(ways.values()))))):
        labels = {}
        for i in sorted(ways, key=lambda i: table.ranks[name][i]):
            labels.setdefault(ways[i][level], []).append(i)
        if len(labels) > 1:
            return [sorted(group) for group in labels.values()]
    return [part.rows]


def classes(table, rows):
    """The classes of rows; of a target that is a quasi-identifier, its codes."""
    if table.target in table.quasi:
        return [table.ranks[table.target][i] for i in rows]
    return [key(table.rows[i][table.target]) for i in rows]


def class_changes(table, part, name, below, above):
    if table.numeric or table.target is None:
        return True
    ranks = table.ranks[name]
    sides = [set(classes(table, [i for i in part.rows if ranks[i] == rank])) for rank in (below, above)]
    return not (len(sides[0]) == 1 and sides[0] == sides[1])


def worth(table, rows, groups):
    """Cost and gain of a split."""
    if table.target is None:
        return 0, float(len(rows))
    if table.numeric:
        whole, left = error(table, rows), sum(error(table, group) for group in groups)
        return (round(left / whole * UNITS) if whole else 0), float(whole - left)
    whole, left = bits(table, rows), sum(bits(table, group) for group in groups)
    return round(left / len(rows) * UNITS), whole - left


def bits(table, rows):
    counts = Counter(classes(table, rows)).values()
    return len(rows) * math.log2(len(rows)) - math.fsum(count * math.log2(count) for count in counts)


def error(table, rows):
    values = [Fraction(table.rows[i][table.target]) for i in rows if table.rows[i][table.target] is not None]
    return sum(v * v for v in values) - Fraction(sum(values) ** 2, len(values)) if values else Fraction(0)


# -- boundaries ------------------------------------------------------------------------------------------


def column_values(table, name):
    """Per code its value, NaN and NULL left out; FEW for the words that few people hold."""
    ranks = table.ranks[name]
    found = {}
    for rank, row in zip(ranks, table.rows, strict=True):
        if not special(row[name]):
            few = is_word(row[name]) and table.held[name][key(row[name])] < table.k
            found[rank] = FEW if few and name not in table.hierarchies else row[name]
    return [found[rank] for rank in sorted(found)]


def boundary(table, name, gap):
    """What separates the two sides: a number or a moment, or for text the rank from which on is up."""
    below, above = gap
    values = column_values(table, name)
    if name in table.hierarchies or above >= len(values):
        return ("rank", max(below + 1, len(values)))
    if values[0] is FEW or is_word(values[0]):
        return ("rank", below + 1)
    x = roundest(values[below], values[above])
    return ("rank", next(rank for rank, value in enumerate(values) if tick(value) >= x))


def tick(value):
    """A value on an exact number line; infinities are put just beyond by the caller's random tables: not used."""
    if isinstance(value, datetime):
        return Fraction((value - EPOCH) // timedelta(microseconds=1))
    if isinstance(value, date):
        return Fraction(value.toordinal())
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def roundest(low, high, open_end=False):
    """The roundest x with low < x <= high (or < high), by trying coarse steps before fine ones."""
    low_tick, high_tick = tick(low), tick(high)

    def fits(x):
        return low_tick < x < high_tick or (x == high_tick and not open_end)

    for candidates in ladder(low, high):
        inside = [x for x in candidates if fits(x)]
        if inside:
            return min(inside)
    return high_tick  # nothing strictly between


def ladder(low, high):
    if isinstance(low, datetime):
        yield from calendar(low, high, lambda d: tick(datetime(d.year, d.month, d.day)))
        for seconds in (43200, 21600, 10800, 3600, 1800, 900, 300, 60, 30, 15, 5, 1):
            yield multiples(low, high, Fraction(seconds * 10**6))
        for power in range(5, -1, -1):
            for base in STEPS:
                yield multiples(low, high, Fraction(base * 10**power))
    elif isinstance(low, date):
        yield from calendar(low, high, tick)
    else:
        whole = isinstance(low, int)
        for power in range(12, -1 if whole else -12, -1):
            for base in STEPS:
                yield multiples(low, high, base * Fraction(10) ** power)


def multiples(low, high, step):
    first = tick(low) // step + 1
    return [first * step] if first * step <= tick(high) else []


def calendar(low, high, to_tick):
    days = [date(low.year, low.month, low.day) + timedelta(days=n) for n in range((high - low).days + 2)]
    for step in (1000, 500, 200, 100, 50, 20, 10, 5, 2, 1):
        yield [to_tick(d) for d in days if d.month == d.day == 1 and d.year % step == 0]
    for months in (6, 3, 1):
        yield [to_tick(d) for d in days if d.day == 1 and (d.month - 1) % months == 0]
    yield [to_tick(d) for d in days if d.day in (1, 11, 21)]
    yield [to_tick(d) for d in days if d.day in (1, 6, 11, 16, 21, 26)]
    yield [to_tick(d) for d in days]


# -- what is printed -------------------------------------------------------------------------------------


def printed(table: Table, part: Part, name: str, marker: str = "*") -> str | None:
    values = [table.rows[i][name] for i in part.rows]
    ranks = {table.ranks[name][i] for i in part.rows}
    column = column_values(table, name)
    if len(ranks) == 1 and (values[0] is None or special(values[0]) or column[min(ranks)] is not FEW):
        return None if values[0] is None else leaf_text(values[0])
    if any(special(value) for value in values):
        return marker
    if name in table.hierarchies:
        ways = [table.hierarchies[name][leaf_text(value)] for value in values]
        return next(labels[0] for labels in zip(*ways, strict=True) if len(set(labels)) == 1)
    if len(ranks) == 1:
        return listed(column, min(ranks), min(ranks) + 1) if len(column) > 1 else marker
    first, stop = (end[1] if end is not None else None for end in part.region[name])
    first, stop = first or 0, min(len(column) if stop is None else stop, len(column))
    if first == 0 and stop == len(column):
        return marker
    if column[0] is FEW or is_word(column[0]):
        return listed(column, first, stop)
    held = table.held[name]
    low, high = (number_text(table, name, column, rank, held) for rank in (first, stop))
    if first == 0:
        return f"< {high}"
    return f">= {low}" if stop == len(column) else f"[{low}, {high})"


def holders(table, name):
    """Per value how many rows, or persons, hold it."""
    held = {}
    for number, row in enumerate(table.rows):
        who = number if table.entity is None else row[table.entity]
        held.setdefault(key(row[name]), set()).add(who)
    return {value: len(who - {None}) for value, who in held.items()}


def listed(column, first, stop):
    texts = [leaf_text(value) for value in column if value is not FEW]
    named = [escape(leaf_text(value)) for value in column[first:stop] if value is not FEW]
    if len(named) > 12:
        named = [f"{named[0]} .. {named[-1]}"]
    braces = 1 + max((len(text) - len(text.lstrip("{")) for text in texts), default=0)
    return "{" * braces + ", ".join([*named, *(["..."] if FEW in column[first:stop] else [])]) + "}" * braces


def escape(text):
    return re.sub(r"\.\.+", r"\\\g<0>", "".join("\\" + letter if letter in "\\,{}" else letter for letter in text))


def number_text(table, name, column, rank, held):
    """The boundary below the value of this rank; a value that few hold is avoided where something else fits."""
    if not 0 < rank < len(column):
        return None
    low, high = column[rank - 1], column[rank]
    x = roundest(low, high, open_end=held[key(high)] < table.k)
    if isinstance(low, datetime):
        moment = EPOCH + timedelta(microseconds=int(x))
        return moment.date().isoformat() if moment.time().isoformat() == "00:00:00" else leaf_text(moment)
    if isinstance(low, date):
        return date.fromordinal(int(x)).isoformat()
    return format(Decimal(x.numerator) / Decimal(x.denominator), "f") if x.denominator > 1 else str(int(x))
