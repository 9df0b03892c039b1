"""Decision and regression trees as docs/methods/trees.md says it, over rows in Python: slow, obvious, exact.

Every figure is a Fraction; logarithms are Decimals of 60 digits made Fractions.  A cut is the gap (v1, v2) it
lies in: which number of the gap is printed is not this module's business.

A value is a place (group, value), so that places sort as the rule book says: known values, NaN, the rare categories
together, NULL.

>>> days = '''sunny hot high weak no, sunny hot high strong no, overcast hot high weak yes, rain mild high weak yes,
... rain cool normal weak yes, rain cool normal strong no, overcast cool normal strong yes, sunny mild high weak no,
... sunny cool normal weak yes, rain mild normal weak yes, sunny mild normal strong yes, overcast mild high strong yes,
... overcast hot normal weak yes, rain mild high strong no'''
>>> names = ["outlook", "temperature", "humidity", "wind", "play"]
>>> rows = [dict(zip(names, day.split())) for day in days.split(",")]
>>> grown = grow(rows, [(name, False) for name in names[:4]], "play", rules("id3", rare=1))
>>> names[grown.root.split.attribute], round(float(grown.root.gain / 14), 4)
('outlook', 0.2467)
>>> [len(node.rows) for node in grown.nodes()]
[14, 4, 5, 2, 3, 5, 3, 2]
>>> grower = Grower(grown.table, rules("c45", rare=1))
>>> ratio, gain, split = grower.by_ratio(grown.root.rows)[0]
>>> names[split.attribute], round(float(ratio), 3), round(float(gain), 3)
('outlook', 0.156, 0.247)

Four points, two levels: SSE 100.5 in all, 0.5 on either side of the gap between 2 and 10.

>>> rows = [{"x": x, "y": y} for x, y in [(1, 0), (2, 1), (10, 10), (11, 11)]]
>>> root = grow(rows, [("x", True)], "y", rules("regression", min_leaf=1, max_depth=1)).root
>>> root.split.gap, root.gain
((2, 10), Fraction(100, 1))
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise
from statistics import NormalDist

KNOWN, NAN, RARE, NULL = range(4)
Place = tuple[int, object]
Row = dict[str, Place]

TIE = Fraction(1, 10**9)
MIN_LEAF = {"id3": 1, "c45": 2, "cart": 7, "regression": 7}
SUBSETS = 10  # values up to which all subsets are tried


@dataclass(frozen=True)
class Rules:
    inducer: str
    min_leaf: int
    criterion: str = "gini"
    max_depth: int = 30
    max_leaves: int | None = None
    min_gain: Fraction = Fraction(0)
    confidence: float = 0.25
    prune: bool = True
    complexity: Fraction = Fraction(1, 1000)
    mdl: bool = True
    rare: int = 5


def rules(inducer: str, **options: object) -> Rules:
    """The rules of an inducer; fractions as they are written (0.1 is a tenth)."""
    exact = {name: Fraction(str(options.pop(name))) for name in ("min_gain", "complexity") if name in options}
    return replace(Rules(inducer, MIN_LEAF[inducer]), **options, **exact)


# -- rows and values -------------------------------------------------------------------------------------


class NothingLeft(Exception):
    """No row to learn from."""


def place(value: object) -> Place:
    """Where a value stands.  Texts compare by code points, which is the order of their UTF-8 bytes."""
    if value is None:
        return (NULL, 0)
    if isinstance(value, float) and math.isnan(value):
        return (NAN, 0)
    return (KNOWN, value)


@dataclass
class Table:
    """The rows that are learned from, every value a place, and the response as whole numbers of 1/unit."""

    attributes: Sequence[tuple[str, bool]]  # name, ordered
    target: str
    rows: list[Row]
    left_out: int
    classes: list[Place]  # empty: the target is a response
    unit: int = 1


def table_of(rows: Sequence[dict], attributes: Sequence[tuple[str, bool]], target: str, how: Rules) -> Table:
    """Categories are rare in the whole table, before rows without a (frequent) class are left out."""
    placed = [{name: place(value) for name, value in row.items()} for row in rows]
    for name, ordered in attributes:
        if not ordered:
            merge_rare(placed, name, how.rare)
    used = [row for row in placed if row[target] != (NULL, 0)]
    if how.inducer != "regression":
        sizes = Counter(row[target] for row in used)
        used = [row for row in used if sizes[row[target]] >= how.rare]
    if not used:
        raise NothingLeft
    table = Table(attributes, target, used, len(rows) - len(used), sorted({row[target] for row in used}))
    return with_response(table) if how.inducer == "regression" else table


def merge_rare(rows: list[Row], name: str, rare: int) -> None:
    held = Counter(row[name] for row in rows)
    for row in rows:
        if row[name] != (NULL, 0) and held[row[name]] < rare:
            row[name] = (RARE, 0)


def with_response(table: Table) -> Table:
    exact = [Fraction(row[table.target][1]) for row in table.rows]
    unit = math.lcm(*(number.denominator for number in exact))
    for row, number in zip(table.rows, exact, strict=True):
        row[table.target] = (KNOWN, int(number * unit))
    return replace(table, classes=[], unit=unit)


# -- splits ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cut:
    """Up to gap[0] to the first child, from gap[1] on to the second."""

    attribute: int
    below: Place
    above: Place
    nulls: int | None

    @property
    def gap(self) -> tuple[object, object]:
        return plain(self.below), plain(self.above)

    @property
    def order(self) -> tuple:
        return (self.attribute, self.below, self.nulls == 0)

    def branch(self, value: Place) -> int:
        if value == (NULL, 0):
            return self.nulls
        return 0 if value <= self.below else 1


@dataclass(frozen=True)
class Groups:
    attribute: int
    groups: tuple[tuple[Place, ...], ...]

    @property
    def order(self) -> tuple:
        return (self.attribute, self.groups[0])

    def branch(self, value: Place) -> int:
        return next(number for number, group in enumerate(self.groups) if value in group)

    @property
    def named(self) -> tuple[tuple[object, ...], ...]:
        return tuple(tuple(plain(value) for value in group if value[0] != RARE) for group in self.groups)

    @property
    def others(self) -> int | None:
        return next((number for number, group in enumerate(self.groups) if (RARE, 0) in group), None)


Split = Cut | Groups


def plain(value: Place) -> object:
    return {KNOWN: value[1], NAN: math.nan, NULL: None}[value[0]]


@dataclass(eq=False)
class Node:
    rows: list[Row]
    way: tuple[int, ...] = ()  # the branches taken from the root
    split: Split | None = None
    gain: Fraction = Fraction(0)  # as the table of scores in the rule book has it
    children: list[Node] = field(default_factory=list)

    @property
    def depth(self) -> int:
        return len(self.way)

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            yield from child.walk()

    def leaves(self) -> list[Node]:
        return [node for node in self.walk() if not node.children]

    def cut_back(self) -> None:
        self.split, self.gain, self.children = None, Fraction(0), []


@dataclass
class Grown:
    table: Table
    root: Node

    def nodes(self) -> list[Node]:
        return list(self.root.walk())

    def counts(self, node: Node) -> tuple[int, ...]:
        if not self.table.classes:
            return (len(node.rows),)
        held = Counter(row[self.table.target] for row in node.rows)
        return tuple(held[value] for value in self.table.classes)

    def response(self, node: Node) -> list[Fraction]:
        return [Fraction(row[self.table.target][1], self.table.unit) for row in node.rows]


# -- choosing a split ------------------------------------------------------------------------------------


@cache
def n_log_n(n: int) -> Fraction:
    """n * log2(n) to 60 digits."""
    with localcontext() as context:
        context.prec = 70
        exact = Decimal(n) * Decimal(n).ln() / Decimal(2).ln()
        return Fraction(int(exact.scaleb(60)), 10**60)


def total_entropy(counts: Sequence[int]) -> Fraction:
    """n H, as n log n - sum of n_c log n_c."""
    return n_log_n(sum(counts)) - sum(n_log_n(count) for count in counts)


class Grower:
    def __init__(self, table: Table, how: Rules) -> None:
        self.table, self.how = table, how
        self.entropy = how.inducer in ("id3", "c45") or (how.inducer == "cart" and how.criterion == "entropy")

    def impurity(self, rows: list[Row]) -> Fraction:
        """n H, n Gini or SSE."""
        found = [row[self.table.target] for row in rows]
        if not self.table.classes:
            return self.sse([value for _, value in found])
        counts = list(Counter(found).values())
        if self.entropy:
            return total_entropy(counts)
        return len(rows) - Fraction(sum(count * count for count in counts), len(rows))

    def sse(self, response: list[int]) -> Fraction:
        n = len(response)
        return Fraction(n * sum(y * y for y in response) - sum(response) ** 2, n * self.table.unit**2)

    def tolerance(self, rows: list[Row]) -> Fraction:
        return TIE * (self.impurity(rows) if not self.table.classes else len(rows))

    def parts(self, rows: list[Row], split: Split) -> list[list[Row]]:
        name = self.table.attributes[split.attribute][0]
        parts: list[list[Row]] = [[] for _ in range(len(split.groups) if isinstance(split, Groups) else 2)]
        for row in rows:
            parts[split.branch(row[name])].append(row)
        return parts

    def candidates(self, rows: list[Row], attribute: int) -> list[Split]:
        name, ordered = self.table.attributes[attribute]
        values = sorted({row[name] for row in rows})
        found: list[Split] = []
        if ordered:
            sides = (1, 0) if (NULL, 0) in values else (None,)
            found = [Cut(attribute, *pair, side) for pair in gaps(values) for side in sides]
        elif self.how.inducer in ("id3", "c45"):
            found = [Groups(attribute, tuple((value,) for value in values))] if len(values) > 1 else []
        else:
            found = [Groups(attribute, two) for two in self.subsets(rows, name, values)]
        return [split for split in found if self.big_enough(rows, split)]

    def big_enough(self, rows: list[Row], split: Split) -> bool:
        need = Fraction(self.how.min_leaf)
        if self.how.inducer == "c45" and isinstance(split, Cut):
            need = max(need, min(Fraction(25), Fraction(len(rows), 10 * len(self.table.classes))))
        return sum(len(part) >= need for part in self.parts(rows, split)) >= 2

    def subsets(self, rows: list[Row], name: str, values: list[Place]) -> set[tuple[tuple[Place, ...], ...]]:
        """Every division in two that is a candidate, the part with the least value first."""
        firsts: list[tuple[Place, ...]] = []
        if len(self.table.classes) > 2 and len(values) <= SUBSETS:
            firsts = [some for size in range(1, len(values)) for some in combinations(values, size)]
        else:
            for share in self.shares(rows, name):
                firsts += [tuple(v for v in values if share[v] <= limit) for limit in sorted(set(share.values()))[:-1]]
        both = [(first, tuple(value for value in values if value not in first)) for first in firsts]
        return {tuple(sorted(two)) for two in both}

    def shares(self, rows: list[Row], name: str) -> list[dict[Place, Fraction]]:
        """What the values are put in order by: mean response, share of the second class, share of each class."""
        responses: dict[Place, list[Place]] = {}
        for row in rows:
            responses.setdefault(row[name], []).append(row[self.table.target])
        if not self.table.classes:
            return [{value: Fraction(sum(y for _, y in held), len(held)) for value, held in responses.items()}]
        asked = self.table.classes[1:] if len(self.table.classes) == 2 else self.table.classes
        return [{v: Fraction(held.count(one), len(held)) for v, held in responses.items()} for one in asked]

    def information(self, rows: list[Row], split: Split) -> Fraction:
        return self.impurity(rows) - sum(self.impurity(part) for part in self.parts(rows, split))

    def choose(self, rows: list[Row], depth: int) -> tuple[Split, Fraction] | None:
        """The split and its gain in total, or None: the node stays a leaf."""
        if depth >= self.how.max_depth or len(rows) < 2 * self.how.min_leaf or self.impurity(rows) == 0:
            return None
        if self.how.inducer == "c45":
            chosen = [(split, gain * len(rows)) for _, gain, split in self.by_ratio(rows)]
        else:
            chosen = self.by_gain(rows, range(len(self.table.attributes)))
        if not chosen or chosen[0][1] < self.how.min_gain * self.impurity(self.table.rows):
            return None
        return chosen[0]

    def by_gain(self, rows: list[Row], attributes: Sequence[int]) -> list[tuple[Split, Fraction]]:
        """The best of the candidates, with those that equal it after it; none when the best gains nothing."""
        splits = [split for attribute in attributes for split in self.candidates(rows, attribute)]
        scored = [(split, self.information(rows, split)) for split in splits]
        return equal_best(scored, self.tolerance(rows))

    def by_ratio(self, rows: list[Row]) -> list[tuple[Fraction, Fraction, Split]]:
        """C4.5: (ratio, corrected gain per row, split) of the best, then of those that equal it."""
        kept = []
        for attribute in range(len(self.table.attributes)):
            for split, gain in self.by_gain(rows, [attribute])[:1]:
                corrected = gain / len(rows) - self.correction(rows, split)
                kept += [(split, corrected)] if corrected > TIE else []
        if not kept:
            return []
        average = sum(gain for _, gain in kept) / len(kept)
        ratios = {}
        for split, gain in kept:
            if gain >= average - Fraction(1, 1000):
                sizes = [len(part) for part in self.parts(rows, split)]
                ratios[split] = (gain * len(rows) / total_entropy(sizes), gain)
        best = equal_best([(split, ratio) for split, (ratio, _) in ratios.items()], TIE)
        return [(ratio, ratios[split][1], split) for split, ratio in best]

    def correction(self, rows: list[Row], split: Split) -> Fraction:
        if isinstance(split, Groups) or not self.how.mdl:
            return Fraction(0)
        name = self.table.attributes[split.attribute][0]
        cuts = len(gaps(sorted({row[name] for row in rows})))
        return n_log_n(cuts) / cuts / len(rows)


def gaps(values: list[Place]) -> list[tuple[Place, Place]]:
    """Neighbouring known values with something between them."""
    known = [value for value in values if value != (NULL, 0)]
    return [two for two in pairwise(known) if two != ((KNOWN, math.inf), (NAN, 0))]


def equal_best(scored: list[tuple[Split, Fraction]], tolerance: Fraction) -> list[tuple[Split, Fraction]]:
    best = max((score for _, score in scored), default=Fraction(0))
    if best <= tolerance:
        return []
    return sorted(((s, score) for s, score in scored if score >= best - tolerance), key=lambda pair: pair[0].order)


# -- growing ---------------------------------------------------------------------------------------------


def grow(rows: Sequence[dict], attributes: Sequence[tuple[str, bool]], target: str, how: Rules) -> Grown:
    """The tree of a table, pruned where the rules say so."""
    table = table_of(rows, attributes, target, how)
    grower, root = Grower(table, how), Node(table.rows)
    if how.max_leaves is None:
        grow_all(grower, root)
    else:
        grow_best_first(grower, root, how.max_leaves)
    if how.prune and how.inducer == "c45":
        prune_by_confidence(grower, root)
    if how.prune and how.inducer in ("cart", "regression"):
        prune_weakest_links(grower, root)
    return Grown(table, root)


def divide(grower: Grower, node: Node, split: Split, gain: Fraction) -> None:
    node.split, node.gain = split, gain
    parts = grower.parts(node.rows, split)
    node.children = [Node(part, (*node.way, number)) for number, part in enumerate(parts)]


def grow_all(grower: Grower, node: Node) -> None:
    chosen = grower.choose(node.rows, node.depth)
    if chosen:
        divide(grower, node, *chosen)
        for child in node.children:
            grow_all(grower, child)


def grow_best_first(grower: Grower, root: Node, max_leaves: int) -> None:
    waiting = {root: grower.choose(root.rows, 0)}
    while any(waiting.values()):
        splits = {node: chosen for node, chosen in waiting.items() if chosen}
        best = max(gain for _, gain in splits.values()) - grower.tolerance(root.rows)
        node = min((n for n, (_, gain) in splits.items() if gain >= best), key=lambda n: (n.depth, n.way))
        branches = len(grower.parts(node.rows, splits[node][0]))
        if len(root.leaves()) - 1 + branches > max_leaves:
            return
        divide(grower, node, *splits[node])
        del waiting[node]
        waiting |= {child: grower.choose(child.rows, child.depth) for child in node.children}


# -- pruning ---------------------------------------------------------------------------------------------


def risk(grower: Grower, node: Node) -> Fraction:
    """R of a node made a leaf: its errors, or its SSE."""
    if not grower.table.classes:
        return grower.impurity(node.rows)
    return Fraction(len(node.rows) - max(Counter(row[grower.table.target] for row in node.rows).values()))


def extra_errors(n: int, e: int, confidence: float) -> float:
    """What C4.5 adds to the e errors of n rows.

    >>> [round(extra_errors(n, 0, 0.25) / n, 3) for n in (6, 9, 1)]  # Quinlan's example
    [0.206, 0.143, 0.75]
    >>> round(1 + extra_errors(16, 1, 0.25), 2)  # 2.51 with the exact binomial
    2.48
    """
    if e == 0:
        return n * (1 - confidence ** (1 / n))
    if e + 0.5 >= n:
        return max(n - e, 0)
    z, f = NormalDist().inv_cdf(1 - confidence), (e + 0.5) / n
    root = math.sqrt(f / n - f * f / n + z * z / (4 * n * n))
    return (f + z * z / (2 * n) + z * root) / (1 + z * z / n) * n - e


def prune_by_confidence(grower: Grower, node: Node) -> float:
    """Bottom-up; gives back the predicted errors of what is left below the node."""
    errors = int(risk(grower, node))
    as_leaf = errors + extra_errors(len(node.rows), errors, grower.how.confidence)
    if not node.children:
        return as_leaf
    below = sum(prune_by_confidence(grower, child) for child in node.children)
    if as_leaf <= below + 0.1:
        node.cut_back()
        return as_leaf
    return below


def prune_weakest_links(grower: Grower, root: Node) -> None:
    limit = grower.how.complexity * risk(grower, root)

    def link(node: Node) -> Fraction:
        leaves = node.leaves()
        return (risk(grower, node) - sum(risk(grower, leaf) for leaf in leaves)) / (len(leaves) - 1)

    while root.children:
        weakest = min((node for node in root.walk() if node.children), key=link)
        if link(weakest) > limit:
            return
        weakest.cut_back()
