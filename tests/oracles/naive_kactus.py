"""kACTUS and kACTUS-2 over rows in Python, as docs/methods/kactus.md says it: slow, obvious, for k alone.

Rows are moved about as rows, not as counts.  Which of several rows alike in class is moved is left open: compare
classes by their counts.

>>> rows = [{"a": a, "b": b, "c": c} for a, b, c in [("a1", "b1", "N")] * 5 + [("a2", "b1", "Y")] * 3]
>>> sorted(Counter(tuple(vector.items()) for vector, _ in naive_kactus(rows, ["a", "b"], "c", 3).published).items())
[((('a', 0),), 5), ((('a', 1),), 3)]
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from fractions import Fraction

from .naive_tree import Node, grow, rules, total_entropy

RARE = -1


@dataclass
class Outcome:
    """What is published: per row the categories it shows (quasi-identifier -> number, RARE is never there)."""

    published: list[tuple[dict[str, int], dict]] = field(default_factory=list)
    dropped: list[dict] = field(default_factory=list)
    category: dict[str, dict] = field(default_factory=dict)  # quasi-identifier -> value -> number

    def classes(self, target: str) -> Counter:
        found: dict[tuple, Counter] = defaultdict(Counter)
        for shown, row in self.published:
            found[tuple(sorted(shown.items()))][row[target]] += 1
        return Counter({(vector, tuple(sorted(held.items(), key=str))): 1 for vector, held in found.items()})


def key(value: object) -> object:
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


# -- categories ------------------------------------------------------------------------------------------


def entropy(rows: list[dict], target: str) -> Fraction:
    return total_entropy(list(Counter(row[target] for row in rows).values()))


def cuts(rows: list[dict], name: str, target: str, k: int) -> list[object]:
    """The least value of each interval but the first; rows have numbers or moments there."""
    values = sorted({row[name] for row in rows})
    tried = []
    for value in values[1:]:
        low, high = [row for row in rows if row[name] < value], [row for row in rows if row[name] >= value]
        if min(len(low), len(high)) >= k:
            gain = (entropy(rows, target) - entropy(low, target) - entropy(high, target)) / len(rows)
            tried.append((gain, value, low, high))
    if not tried:
        return []
    best = max(gain for gain, *_ in tried)
    gain, value, low, high = next(one for one in tried if one[0] >= best - Fraction(1, 10**9))
    kinds = [len({row[target] for row in part}) for part in (rows, low, high)]
    bits = [float(entropy(part, target) / len(part)) for part in (rows, low, high)]
    spread = kinds[0] * bits[0] - kinds[1] * bits[1] - kinds[2] * bits[2]
    price = (math.log2(len(rows) - 1) + math.log2(3 ** kinds[0] - 2) - spread) / len(rows)
    if float(gain) <= price + 1e-9:
        return []
    return [*cuts(low, name, target, k), value, *cuts(high, name, target, k)]


def categories(rows: list[dict], name: str, target: str, k: int) -> dict[object, int]:
    """value -> category; NaN and NULL are categories of their own, those held by few are RARE."""
    values = {key(row[name]) for row in rows}
    known = sorted(value for value in values if value is not None and value != "NaN")
    number: dict[object, int] = {value: place for place, value in enumerate(known)}
    if known and not isinstance(known[0], str | bool):
        starts = cuts([row for row in rows if key(row[name]) in number], name, target, k)
        number = {value: sum(value >= start for start in starts) for value in known}
    for special in ("NaN", None):
        if special in values:
            number.setdefault(special, max(number.values(), default=-1) + 1)
    held = Counter(number[key(row[name])] for row in rows)
    return {value: (place if held[place] >= k else RARE) for value, place in number.items()}


# -- the tree --------------------------------------------------------------------------------------------


@dataclass
class Branch:
    """A node: the categories on the way to it, and the rows that are its own at the moment."""

    path: dict[str, int]
    rows: list[dict]
    children: list[Branch]

    @property
    def named(self) -> bool:
        return RARE not in self.path.values()


def tree(rows: list[dict], quasi: list[str], target: str, number: dict[str, dict], min_leaf: int) -> Branch:
    """naive_tree's C4.5 over the categories; classes by their place, so that NULL is one like any other."""
    classes = class_order(rows, target)
    size = 1 + max((place for of_value in number.values() for place in of_value.values()), default=0)
    coded = []
    for place, row in enumerate(rows):
        code = {name: number[name][key(row[name])] for name in quasi}
        coded.append({name: value if value != RARE else size for name, value in code.items()})
        coded[-1] |= {"row": place, "class": classes[row[target]]}
    how = rules("c45", prune=False, rare=1, min_leaf=min_leaf)
    grown = grow(coded, [(name, False) for name in quasi], "class", how)
    return branches(grown.root, quasi, dict(enumerate(rows)), {}, size)


def branches(node: Node, quasi: list[str], original: dict[int, dict], path: dict[str, int], size: int) -> Branch:
    rows = [original[row["row"][1]] for row in node.rows]
    if not node.children or RARE in path.values():
        return Branch(path, rows, [])
    name = quasi[node.split.attribute]
    below = []
    for group, child in zip(node.split.groups, node.children, strict=True):
        category = group[0][1] if group[0][1] != size else RARE
        below.append(branches(child, quasi, original, {**path, name: category}, size))
    return Branch(path, [], below)


def class_order(rows: list[dict], target: str) -> dict[object, int]:
    known = sorted({row[target] for row in rows} - {None})
    return {value: place for place, value in enumerate([*known, None])}


# -- the repair ------------------------------------------------------------------------------------------


class Repair:
    def __init__(self, target: str, classes: dict[object, int], k: int, options: dict) -> None:
        self.target, self.order, self.k = target, classes, k
        self.threshold = Fraction(options.get("swap_threshold", 0))
        self.second = options.get("method", "kactus2") == "kactus2"
        self.pool = options.get("pool_non_complying", True)
        self.at_root = options.get("compensate_at_root", False)
        self.join = options.get("join_existing_group", False)
        self.strict = options.get("strict_swap", False)
        self.published: list[tuple[dict[str, int], dict]] = []

    def emit(self, rows: list[dict], path: dict[str, int]) -> None:
        self.published += [(path, row) for row in rows]

    def bits(self, rows: list[dict]) -> float:
        return round(float(entropy(rows, self.target) / len(rows)), 9) if rows else 0.0

    def of(self, rows: list[dict], wanted: object) -> list[dict]:
        return [row for row in rows if row[self.target] == wanted]

    def run(self, root: Branch) -> list[dict]:
        """Gives the rows that are dropped."""
        for child in root.children:
            self.collapse(child)
        if self.at_root:
            self.settle(root)
        else:
            for child in root.children:
                if child.named and len(child.rows) >= self.k:
                    self.emit(child.rows, child.path)
                else:
                    root.rows += child.rows
        if len(root.rows) >= self.k or (self.join and any(not path for path, _ in self.published)):
            self.emit(root.rows, {})
            return []
        return root.rows

    def collapse(self, node: Branch) -> None:
        for child in node.children:
            self.collapse(child)
        if node.children:
            self.settle(node)

    def settle(self, parent: Branch) -> None:
        kids = [child for child in parent.children if child.rows]
        if sum(len(child.rows) for child in kids) >= self.k:
            for child in kids:
                if not child.named and len(child.rows) >= self.k:
                    self.emit(child.rows, parent.path)
                    child.rows = []
            large = [child for child in kids if len(child.rows) >= self.k]
            small = [child for child in kids if 0 < len(child.rows) < self.k]
            if self.second:
                self.swap(large, small)
            self.suppress(large, [child for child in small if child.rows], parent)
            for child in large:
                self.emit(child.rows, child.path)
                child.rows = []
        rest = [row for child in kids for row in child.rows]
        if self.join and any(path == parent.path for path, _ in self.published):
            self.emit(rest, parent.path)
        else:
            parent.rows += rest
        parent.children = []

    def swap(self, large: list[Branch], small: list[Branch]) -> None:
        for child in small:
            required = self.k - len(child.rows)
            if not child.named or Fraction(required, self.k) > self.threshold:
                continue
            trials = []
            for giver in large:
                spare = len(giver.rows) - self.k
                if spare > required or (spare == required and not self.strict):
                    left, taken = self.virtual_swap(list(giver.rows), list(child.rows), required)
                    trials.append((self.bits(left), len(trials), giver, left, taken))
            if trials:
                _, _, giver, left, taken = min(trials, key=lambda one: one[:2])
                giver.rows = left
                self.emit(taken, child.path)
                child.rows = []

    def virtual_swap(self, giver: list[dict], taker: list[dict], required: int) -> tuple[list[dict], list[dict]]:
        for _ in range(required):
            ranked = sorted(
                self.order,
                key=lambda one: (
                    self.bits([*taker, {self.target: one}]),
                    -len(self.of(taker, one)),
                    self.order[one],
                ),
            )
            wanted = ranked[0] if self.of(giver, ranked[0]) else self.purest(giver)
            row = self.of(giver, wanted)[0]
            giver.remove(row)
            taker.append(row)
        return giver, taker

    def purest(self, rows: list[dict]) -> object:
        def after(one: object) -> tuple:
            without = list(rows)
            without.remove(self.of(rows, one)[0])
            return self.bits(without), -len(self.of(rows, one)), self.order[one]

        return min({row[self.target] for row in rows}, key=after)

    def suppress(self, large: list[Branch], small: list[Branch], parent: Branch) -> None:
        if self.pool:
            pool = Branch({}, [row for child in small for row in child.rows], [])
            if pool.rows and self.help(large, pool, parent):
                for child in small:
                    child.rows = []
        elif self.second:
            for giver in large:
                for child in small:
                    if child.rows and self.help([giver], child, parent):
                        child.rows = []
        else:
            for child in small:
                if self.help(large, child, parent):
                    child.rows = []

    def help(self, large: list[Branch], lot: Branch, parent: Branch) -> bool:
        required = max(self.k - len(lot.rows), 0)
        spares = [len(giver.rows) - self.k for giver in large]
        if required and (max(spares, default=0) if self.second else sum(spares)) < required:
            return False
        taken = []
        for giver, spare in zip(large, spares, strict=True):
            if self.second and spare < required:
                continue
            for _ in range(min(required, spare)):
                row = self.of(giver.rows, self.purest(giver.rows))[0] if self.second else giver.rows[0]
                giver.rows.remove(row)
                taken.append(row)
                required -= 1
        self.emit([*lot.rows, *taken], parent.path)
        return True


def naive_kactus(rows: list[dict], quasi: list[str], target: str, k: int, min_leaf: int = 2, **options) -> Outcome:
    number = {name: categories(rows, name, target, k) for name in quasi}
    root = tree(rows, quasi, target, number, min_leaf)
    repair = Repair(target, class_order(rows, target), k, options)
    if root.children:
        dropped = repair.run(root)
    else:
        repair.emit(root.rows, {})
        dropped = []
    return Outcome(repair.published, dropped, number)
