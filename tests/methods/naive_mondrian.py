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
    orders: dict[str, list[str]] = field(default_factory=dict)
    seed: int = 0
    budget: int = 0  # rows that may be left out
    tuned: dict[str, Fraction] = field(default_factory=dict)  # WEIGHT of a column
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
        if codes and is_word(values[codes[0]]) and not tree and name in self.orders:
            codes.sort(key=lambda v: self.orders[name].index(leaf_text(values[v])))
        elif codes and is_word(values[codes[0]]) and not tree and self.target:
            codes.sort(key=lambda v: self._of_target(name, v))
        code = {v: number for number, v in enumerate(codes)} | dict.fromkeys(few, len(codes))
        code.setdefault(key(None), len(codes) + (1 if few else 0))
        return [code[key(row[name])] for row in self.rows]

    def _of_target(self, name, value):
        """The share of the most frequent class among the rows that have a value, or the mean of a numeric target."""
        here = [row[self.target] for row in self.rows if key(row[name]) == value]
        if self.numeric:
            known = [Fraction(one) for one in here if one is not None]
            return sum(known, Fraction(0)) / max(len(known), 1)
        counted = Counter(key(row[self.target]) for row in self.rows)
        classes = {key(row[self.target]): row[self.target] for row in self.rows}
        first = sorted(classes, key=lambda one: (-counted[one], place(classes[one], [])))[0]
        return Fraction(sum(key(one) == first for one in here), len(here))

    def stands_alone(self, name):
        """Texts without hierarchy, declared order and target: a frequent one stands alone."""
        words = any(is_word(row[name]) for row in self.rows)
        return words and name not in self.hierarchies and name not in self.orders and not self.target

    def is_line(self, name):
        """Numbers, dates and timestamps without a hierarchy."""
        values = [row[name] for row in self.rows if row[name] is not None]
        return bool(values) and not is_word(values[0]) and name not in self.hierarchies

    def weight(self, name):
        return self.tuned.get(name, Fraction(1))

    def branches(self, name):
        return name in self.hierarchies or self.stands_alone(name)

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

    def codes(self, number):
        """All codes of a row that are counted, each column once."""
        others = [name for name in dict.fromkeys(self.tie) if name not in self.quasi]
        others = [name for name in others if not (self.numeric and name == self.target and name not in self.secret)]
        found = [self.ranks[name][number] for name in self.quasi]
        for name in others:
            values = {key(row[name]): row[name] for row in self.rows}
            ordered = sorted(values, key=lambda v: place(values[v], []))
            found.append(ordered.index(key(self.rows[number][name])))
        return tuple(found)

    @property
    def secret(self):
        return self.tie[1:] if self.target else self.tie

    def values(self, number):
        """What makes a row's cell, in the order of cells."""
        return tuple(place(self.rows[number][name], []) for name in (*self.quasi, *self.tie))

    def persons(self, part):
        return sum(self.weights[i] for i in part)

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
    lost: bool = False  # its rows are left out
    behind: set[str] = field(default_factory=set)  # attributes in which it was left behind


def partition(table: Table, max_parts: int | None = None) -> list[Part]:
    root = Part(list(range(len(table.rows))), dict.fromkeys(table.quasi, (None, None)))
    generation = [root]
    while generation:
        for part in generation:
            split_by_gain(table, part)
        split_by_width(table, [part for part in generation if not part.children])
        generation = [child for part in generation for child in part.children if not child.lost]
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


def split_by_gain(table, part):
    """By the largest gain, if it is worth telling."""
    found = {name: best_of(table, part, name) for name in table.quasi} if table.target else {}
    options = [
        (weighed(table, part, name, found[name]), order, name)
        for order, name in enumerate(table.quasi)
        if found.get(name)
    ]
    if options:
        _, _, name = min(options)
        groups, _, gain, _ = found[name]
        price = 0 if table.numeric else (len(groups) - 1) * math.log2(len(part.rows))
        if table.numeric or round(gain * 2**20) > round(price * 2**20):
            divide(table, part, name, found[name])


def split_by_width(table, parts):
    """The widest attribute that has an allowable split, or one that can be mended; then ends of number lines."""
    for rank in range(len(table.quasi)):
        for name in table.quasi:
            for part in parts:
                ways = by_width(table, part, table.quasi)
                if not part.children and rank < len(ways) and ways[rank] == name:
                    split_along(table, part, name)
    lines = [name for name in table.quasi if table.is_line(name)]
    for rank in range(len(lines)):
        for name in table.quasi:
            for part in parts:
                ways = by_width(table, part, lines)
                if not part.children and rank < len(ways) and ways[rank] == name:
                    trim(table, part, name)


def split_along(table, part, name):
    even = best_of(table, part, name, even=True)
    if even is not None:
        divide(table, part, name, (*even[:2], 0.0 if table.target else even[2], even[3]))
    elif table.branches(name):
        mend(table, part, name)


def weighed(table, part, name, found):
    """The cost of a split; what it gains counts as often as the column's weight says."""
    _, cost, gain, _ = found
    more = float(gain) * float(table.weight(name) - 1)
    if table.numeric:
        whole = float(error(table, part.rows))
        return cost - (round(more / whole * UNITS) if whole else 0)
    return cost - round(more / len(part.rows) * UNITS)


def by_width(table, part, names):
    """Attributes that have several codes in a part, the widest first."""
    return sorted((name for name in names if share(table, part, name)), key=lambda name: -share(table, part, name))


def divide(table, part, name, found):
    groups, _, part.gain, boundaries = found
    low, high = part.region[name]
    for number, group in enumerate(groups):
        region = dict(part.region)
        if boundaries is not None:
            region[name] = (low if number == 0 else boundaries, boundaries if number == 0 else high)
        part.children.append(Part(group, region, behind=set(part.behind)))
    if table.branches(name) and labels_of(table, part, name)[1]:
        part.children[-1].behind.add(name)


def share(table, part, name):
    """How much of the attribute's codes the part spreads over."""
    ranks = table.ranks[name]
    codes = [ranks[i] for i in part.rows]
    return Fraction(max(codes) - min(codes), max(len(set(ranks)) - 1, 1)) * table.weight(name)


def best_of(table, part, name, even=False):
    """(groups, cost, gain, boundary) of the attribute's best allowable split of a part, or None.

    even: of the cuts the most even one, whatever the target.
    """
    ranks = table.ranks[name]
    codes = sorted({ranks[i] for i in part.rows})
    missing = {ranks[i] for i in part.rows if special(table.rows[i][name])}
    if table.branches(name):
        groups, behind = labels_of(table, part, name)
        if not groups or (behind and not table.fine(behind)) or len(codes) < 2:
            return None
        groups = [*groups, *([behind] if behind else [])]
        return groups, *worth(table, part.rows, groups), None
    cuts = [*pairwise(codes)]
    found = []
    for below, above in cuts:
        groups = [[i for i in part.rows if ranks[i] <= below], [i for i in part.rows if ranks[i] > below]]
        if all(table.fine(group) for group in groups):
            changes = class_changes(table, part, name, below, above)
            cost, gain = worth(table, part.rows, groups)
            uneven = abs(len(groups[0]) - len(groups[1]))
            # Cuts where the class changes first, by cost; then the others, by evenness.  Where only evenness
            # counts, the cut between the values and NULL or NaN goes before all others.
            parts_missing = (even or not table.target) and below not in missing and above in missing
            rank = (0, cost, below) if table.target and changes and not even else (1, uneven, below)
            rank = (0, 0, below) if parts_missing else rank
            found.append((rank, groups, cost, gain, (below, above)))
    if not found:
        return None
    _, groups, cost, gain, gap = min(found, key=lambda option: option[0])
    return groups, cost, gain, boundary(table, name, gap)


def labels_of(table, part, name):
    """The labels that may be parts, and all rows of the others together."""
    groups = by_labels(table, part, name)
    return [g for g in groups if table.fine(g)], sorted(i for g in groups if not table.fine(g) for i in g)


def by_labels(table, part, name):
    """Groups by the highest level on which the values of the part have more than one label, and NULL."""
    tree, ranks = table.hierarchies.get(name), table.ranks[name]
    known = sorted((i for i in part.rows if table.rows[i][name] is not None), key=lambda i: (ranks[i], i))
    null = [i for i in part.rows if table.rows[i][name] is None]
    ways = {i: tree[leaf_text(table.rows[i][name])] if tree else (ranks[i], "*") for i in known}
    found = [known] if known else []
    for level in range(len(next(iter(ways.values()))) if ways else 0):
        labels = {}
        for i in known:
            labels.setdefault(ways[i][level], []).append(i)
        if len(labels) > 1:
            found = [sorted(group) for group in labels.values()]
    return [*found, *([null] if null else [])]


# -- labels that stay behind and are too few ---------------------------------------------------------------


def trim(table, part, name):
    """Without the end of a number line whose rows cost less than they make the others' label wider."""
    ranks, found = table.ranks[name], []
    for below, above in pairwise(sorted({ranks[i] for i in part.rows})):
        gap = boundary(table, name, (below, above))
        sides = [[i for i in part.rows if ranks[i] <= below], [i for i in part.rows if ranks[i] > below]]
        low, high = part.region[name]
        regions = [(low, gap), (gap, high)]
        for lost, kept in ((1, 0), (0, 1)):
            if table.fine(sides[kept]) and len(sides[lost]) <= table.budget:
                narrower = within(table, part.rows, name, part.region[name]) - within(
                    table, sides[kept], name, regions[kept]
                )
                values = len({key(row[name]) for row in table.rows})
                cost = len(sides[lost]) * sum(map(table.weight, table.quasi)) * max(values - 1, 1)
                found.append((len(sides[kept]) * narrower * table.weight(name) - cost, sides, regions, lost))
    if found:
        gain, sides, regions, lost = max(found, key=lambda one: one[0])  # of equal ones the first
        if gain > 0:
            table.budget -= len(sides[lost])
            for number, (rows, region) in enumerate(zip(sides, regions, strict=True)):
                part.children.append(Part(rows, part.region | {name: region}, behind=set(part.behind)))
                part.children[-1].lost = number == lost
            part.gain = 0.0 if table.target else float(len(part.rows))


def within(table, rows, name, region):
    """How many values of the column the label of rows in a region covers."""
    ranks = {table.ranks[name][i] for i in rows}
    if len(ranks) == 1:
        return 1
    if any(special(table.rows[i][name]) for i in rows):
        return len({key(row[name]) for row in table.rows})
    ordinary = len(column_values(table, name))
    first, stop = (end[1] if end is not None else None for end in region)
    return min(ordinary if stop is None else stop, ordinary) - (first or 0)


def mend(table, part, name):
    groups, behind = labels_of(table, part, name)
    if not groups or not behind:
        return
    pulled, merged = pull_up(table, groups, behind), merge(table, groups, behind)
    if pulled is not None and (merged is None or len(pulled) <= sum(map(len, merged))):
        widened = [(pulled, largest(table, groups))]
        kept = [[i for i in group if i not in pulled] for group in groups]
        rest = [*behind, *pulled]
    elif merged is not None:
        widened = [(group, group) for group in merged]
        kept, rest = [group for group in groups if group not in merged], [*behind, *(i for g in merged for i in g)]
    else:
        widened, kept = [(group, group) for group in groups], None
    saved = sum(len(rows) * (covered(table, part.rows, name) - covered(table, g, name, part)) for rows, g in widened)
    values = len({key(row[name]) for row in table.rows})
    price = len(behind) * sum(map(table.weight, table.quasi)) * max(values - 1, 1)
    lost = len(behind) <= table.budget and price < saved * table.weight(name)
    if lost:
        table.budget -= len(behind)
        kept, rest = groups, behind
    if kept is not None:
        part.children = [Part(sorted(group), dict(part.region), behind=set(part.behind)) for group in (*kept, rest)]
        part.children[-1].lost = lost
        part.children[-1].behind.add(name)
        part.gain = 0.0 if table.target else float(len(part.rows))


def covered(table, rows, name, part=None):
    """How many values of the column the label covers that rows get; part: of the label they have as a group of it."""
    values = {leaf_text(row[name]) for row in table.rows if row[name] is not None}
    some_null = any(row[name] is None for row in table.rows)
    here = [table.rows[i][name] for i in rows]
    if part is not None and here[0] is None:
        return 1
    if None in here:
        return len(values) + some_null
    if name not in table.hierarchies:
        ranks = {table.ranks[name][i] for i in rows}
        return (
            1
            if len(ranks) == 1
            else len(
                {*table.ranks[name]} - ({table.ranks[name][i] for i, row in enumerate(table.rows) if row[name] is None})
            )
        )
    tree = table.hierarchies[name]
    ways = [tree[leaf_text(value)] for value in here]
    whole = ways if part is None else [tree[leaf_text(table.rows[i][name])] for i in part.rows
                                       if table.rows[i][name] is not None]  # fmt: skip
    level = len(ways[0]) - 1
    while part is None and level and len({way[level - 1] for way in whole}) == 1:
        level -= 1
    if part is not None:  # the highest level on which the part has several labels; the root where it has one only
        level = max((n for n in range(len(ways[0])) if len({way[n] for way in whole}) > 1), default=len(ways[0]) - 1)
    return sum(1 for value in values if tree[value][level] == ways[0][level])


def largest(table, groups):
    return max(groups, key=table.persons)  # of equal ones the first


def pull_up(table, groups, behind):
    """Rows of the largest label that go with those behind: as many as are missing, or 2, 4, ... times as many."""
    giving = largest(table, groups)
    lacking = max(table.k - table.persons(behind), 0)
    wanted = max(lacking, 1)
    if table.persons(giving) - wanted < table.k:
        return None
    cells = {}
    for i in sorted(giving, key=lambda i: (-table.weights[i], i)):
        cells.setdefault(table.values(i), []).append(i)
    ways = {values: hashed(table.seed, table.codes(rows[0])) for values, rows in cells.items()}
    turns = [cells[values] for values in sorted(cells, key=lambda values: (ways[values], values))]
    in_turn = [rows[n] for n in range(max(map(len, turns))) for rows in turns if n < len(rows)]
    while wanted < len(giving):
        taken = in_turn[:wanted]
        left = [i for i in giving if i not in taken]
        if table.persons(left) < table.k:
            return None
        if table.persons(taken) >= lacking and table.fine([*behind, *taken]) and table.fine(left):
            return taken
        wanted *= 2
    return None


def merge(table, groups, behind):
    """The smallest labels, as few as are needed, so that one at least is not among them."""
    smallest = sorted(groups, key=table.persons)
    for number in range(1, len(groups)):
        merged = smallest[:number]
        if table.fine([*behind, *(i for group in merged for i in group)]):
            return merged
    return None


def hashed(seed, codes):
    """64 bits from a seed and codes, code by code (splitmix64)."""
    most, value = 2**64 - 1, seed
    for code in codes:
        value = ((value ^ code) + 0x9E3779B97F4A7C15) & most
        value = ((value ^ value >> 30) * 0xBF58476D1CE4E5B9) & most
        value = ((value ^ value >> 27) * 0x94D049BB133111EB) & most
        value ^= value >> 31
    return value


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
    if table.stands_alone(name):
        texts = [leaf_text(value) for value in column if value is not FEW]
        braces = 1 + max((len(text) - len(text.lstrip("{")) for text in texts), default=0)
        return "{" * braces + "other" + "}" * braces if texts and (name in part.behind or len(ranks) == 1) else marker
    if len(ranks) == 1:
        return listed(column, min(ranks), min(ranks) + 1) if len(column) > 1 else marker
    first, stop = (end[1] if end is not None else None for end in part.region[name])
    first, stop = first or 0, min(len(column) if stop is None else stop, len(column))
    if first == 0 and stop == len(column):
        return marker
    if column[0] is FEW or is_word(column[0]):
        return listed(column, first, stop, by_target=bool(table.target) and name not in table.orders)
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


def listed(column, first, stop, by_target=False):
    texts = [leaf_text(value) for value in column if value is not FEW]
    named = [escape(leaf_text(value)) for value in column[first:stop] if value is not FEW]
    further = FEW in column[first:stop]
    if by_target:
        values = sorted(leaf_text(value) for value in column[first:stop] if value is not FEW)
        named, further = [escape(value) for value in values[:5]], further or len(values) > 5
    elif len(named) > 5:
        named = [f"{named[0]} .. {named[-1]}"]
    braces = 1 + max((len(text) - len(text.lstrip("{")) for text in texts), default=0)
    return "{" * braces + ", ".join([*named, *(["..."] if further else [])]) + "}" * braces


def escape(text):
    return re.sub(r"\.\.+", r"\\\g<0>", "".join("\\" + letter if letter in "\\,{}" else letter for letter in text))


def number_text(table, name, column, rank, held):
    """The boundary below the value of this rank; a value that few hold is avoided where something else fits."""
    if not 0 < rank < len(column):
        return None
    low, high = column[rank - 1], column[rank]
    x = roundest(low, high, open_end=held[key(high)] < table.k)
    if isinstance(low, datetime):
        return leaf_text(EPOCH + timedelta(microseconds=int(x)))
    if isinstance(low, date):
        return date.fromordinal(int(x)).isoformat()
    return format(Decimal(x.numerator) / Decimal(x.denominator), "f") if x.denominator > 1 else str(int(x))
