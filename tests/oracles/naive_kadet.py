"""kADET over rows in Python: the queue of Friedman et al., algorithm 1, with its omissions repaired; slow and obvious.

A queue over all nodes, worked off in rounds, and one set of rows per span.  It knows nothing of ppdm_sql.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import log2

TIE, DIGITS, SLACK = 1e-9, 9, 1e-3
RARE = ("rare",)  # the branch of all values of a private attribute that few rows have
REST = ("rest",)  # the branch of all values of a public attribute that are not named at a node


@dataclass(frozen=True)
class Attribute:
    """levels: of a categorical one, value -> its labels from level 1 on, in the order of the hierarchy."""

    name: str
    ordered: bool
    public: bool
    levels: Mapping[object, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Setup:
    attributes: Sequence[Attribute]
    target: str
    k: int
    allowed: Callable[[list[dict]], bool]  # of the rows of a part
    class_is_public: bool = False
    by_ratio: bool = True
    weight_gain: bool = False
    mdl: bool = False
    min_leaf: int = 1
    max_depth: int = 30


@dataclass(eq=False)
class Node:
    rows: list[int]
    depth: int
    way: tuple[int, ...]
    split: tuple | None = None  # (attribute, level, None or (value below, value above))
    sons: dict = field(default_factory=dict)  # value, label, RARE, or 0 and 1 of a cut
    queue: dict[int, Candidate] = field(default_factory=dict)  # by attribute
    reserve: list[Candidate] = field(default_factory=list)


@dataclass
class Candidate:
    attribute: int
    level: int
    gain: float
    score: float
    cut: tuple | None = None
    named: frozenset | None = None  # of a split by value with a rest: the values that have a branch of their own


@dataclass
class Span:
    rows: list[int]
    leaves: list[Node]


def first(node: Node) -> Candidate:
    return min(node.queue.values(), key=lambda one: (-one.score, one.attribute))


def entropy(classes: Sequence) -> float:
    return -sum(n / len(classes) * log2(n / len(classes)) for n in Counter(classes).values())


class Kadet:
    """The tree and the spans of a table; `root` is None when even the whole table breaks the requirements."""

    def __init__(self, rows: Sequence[dict], setup: Setup) -> None:
        self.rows, self.setup = rows, setup
        self.dropped = 0
        everybody = list(range(len(rows)))
        self.root: Node | None = Node(everybody, 0, ())
        self.nodes = [self.root]
        if setup.class_is_public:
            classes = sorted({row[setup.target] for row in rows}, key=str)
            parts = [[r for r in everybody if rows[r][setup.target] == c] for c in classes]
        else:
            parts = [everybody]
        self.spans = [Span(part, [self.root]) for part in parts]
        if all(self.fine(part) for part in parts):
            self.look_at(self.root)
            while self.round():
                pass
        else:
            self.root = None

    # -- the queue

    def round(self) -> bool:
        """All splits that are their node's first and part no span; where there is none, those that share no span."""
        open_nodes = [node for node in self.nodes if node.split is None and node.queue]
        if not open_nodes:
            return False
        chosen = [(node, first(node)) for node in open_nodes if self.parts_none(node, first(node))]
        if not chosen:
            chosen = self.parting_splits(open_nodes)
        made = [son for node, one in chosen for son in self.split(node, one)]
        for son in made:
            self.look_at(son)
        return True

    def parting_splits(self, open_nodes: list[Node]) -> list[tuple[Node, Candidate]]:
        chosen: list[tuple[Node, Candidate]] = []
        while open_nodes:
            node = min(open_nodes, key=lambda n: (-first(n).score, n.depth, n.way))
            one = first(node)
            del node.queue[one.attribute]
            if self.decide(node, one):
                chosen.append((node, one))
                shared = [leaf for s in self.spans if node in s.leaves for leaf in s.leaves]
                open_nodes = [other for other in open_nodes if other not in shared]
            elif not node.queue or self.parts_none(node, first(node)):
                open_nodes.remove(node)
        return chosen

    def decide(self, node: Node, one: Candidate) -> bool:
        """Whether a candidate may be; if not, what takes its place in the queue is put there."""
        attribute = self.setup.attributes[one.attribute]
        again = None
        if attribute.ordered:
            again = self.scored(node, one.attribute, 0)
            if again is not None and again.cut == one.cut:
                return True
        elif not self.breaches(node, one):
            return True
        elif not attribute.levels:
            again = self.with_rest(node, one)
        elif one.level + 1 < max(len(labels) for labels in attribute.levels.values()):
            again = self.scored(node, one.attribute, one.level + 1)
        if again is not None:
            node.queue[again.attribute] = again
        else:
            self.dropped += 1
            self.admit(node)
        return False

    def with_rest(self, node: Node, one: Candidate) -> Candidate | None:
        """Values that make too small a part join the rest; then the one that fewest have, while the rest is too small."""
        value_of = lambda row: self.rows[row][self.setup.attributes[one.attribute].name]  # noqa: E731
        named = {value_of(row) for row in node.rows} if one.named is None else set(one.named)
        people = Counter(value_of(row) for span in self.spans if node in span.leaves for row in span.rows)
        while named:
            tried = Candidate(one.attribute, 0, 0, 0, named=frozenset(named))
            wrong = {
                branch
                for span in self.spans
                if node in span.leaves
                for branch, rows in self.parts(node, span, tried).items()
                if not self.fine(rows)
            }
            if not wrong:
                break
            small = wrong & named
            order = lambda v: (people[v], v.encode() if isinstance(v, str) else v)  # noqa: E731
            named -= small or {min(named, key=order)}
        if not named:
            return None
        return self.scored(node, one.attribute, 0, frozenset(named))

    def parts_none(self, node: Node, one: Candidate) -> bool:
        if not self.setup.attributes[one.attribute].public:
            return True
        return all(len(self.parts(node, span, one)) == 1 for span in self.spans if node in span.leaves)

    def look_at(self, node: Node) -> None:
        classes = {self.rows[r][self.setup.target] for r in node.rows}
        if len(classes) < 2 or node.depth >= self.setup.max_depth or len(node.rows) < 2 * self.setup.min_leaf:
            return
        first = [self.scored(node, number, 0) for number in range(len(self.setup.attributes))]
        node.reserve = [one for one in first if one is not None]
        self.admit(node)

    def admit(self, node: Node) -> None:
        if node.queue or not node.reserve:
            return
        average = sum(one.gain for one in node.reserve) / len(node.reserve)
        enough = [one for one in node.reserve if not self.setup.by_ratio or one.gain >= average - SLACK]
        node.reserve = [one for one in node.reserve if one not in enough]
        node.queue = {one.attribute: one for one in enough}

    # -- candidates

    def branch(self, number: int, level: int, cut: tuple | None, row: int, named: frozenset | None = None) -> object:
        attribute = self.setup.attributes[number]
        value = self.rows[row][attribute.name]
        if cut is not None:
            return int(value > cut[0])
        if named is not None:
            return value if value in named else REST
        if level > 0:
            return attribute.levels[value][level - 1]
        if not attribute.public and sum(other[attribute.name] == value for other in self.rows) < self.setup.k:
            return RARE
        return value

    def sons_of(
        self, node: Node, number: int, level: int, cut: tuple | None, some: frozenset | None = None
    ) -> dict[object, list[int]]:
        """The rows of a node by branch, in the order of the branches."""
        parts: dict[object, list[int]] = {}
        for row in node.rows:
            parts.setdefault(self.branch(number, level, cut, row, some), []).append(row)
        if level > 0:
            order = list(dict.fromkeys(labels[level - 1] for labels in self.setup.attributes[number].levels.values()))
            return {label: parts[label] for label in order if label in parts}
        last = [b for b in (RARE, REST) if b in parts]
        named = sorted((b for b in parts if b not in last), key=lambda b: b.encode() if isinstance(b, str) else b)
        return {b: parts[b] for b in (*named, *last)}

    def scored(self, node: Node, number: int, level: int, named: frozenset | None = None) -> Candidate | None:
        if self.setup.attributes[number].ordered:
            return self.best_cut(node, number)
        sons = self.sons_of(node, number, level, None, named)
        if len(sons) < 2 or sum(len(rows) >= self.setup.min_leaf for rows in sons.values()) < 2:
            return None
        return self.candidate(node, number, level, self.gain(node, sons), sons, None, named)

    def best_cut(self, node: Node, number: int) -> Candidate | None:
        attribute = self.setup.attributes[number]
        near = [s for s in self.spans if node in s.leaves]
        people = [r for s in near for r in s.rows] if attribute.public else node.rows
        values = sorted({self.rows[r][attribute.name] for r in people})
        best = None
        for low, high in pairwise(values):
            cut = (low, high)
            sons = self.sons_of(node, number, 0, cut)
            if len(sons) < 2 or any(len(rows) < self.setup.min_leaf for rows in sons.values()):
                continue
            if attribute.public and self.breaches(node, Candidate(number, 0, 0, 0, cut)):
                continue
            gain = round(self.gain(node, sons), DIGITS)
            if best is None or gain > best[0]:
                best = gain, sons, cut
        if best is None:
            return None
        gain, sons, cut = best
        if self.setup.mdl:
            own = {self.rows[r][attribute.name] for r in node.rows}
            gain -= log2(max(len(own) - 1, 1)) / len(node.rows)
        return self.candidate(node, number, 0, gain, sons, cut)

    def gain(self, node: Node, sons: dict) -> float:
        classes = lambda rows: [self.rows[r][self.setup.target] for r in rows]  # noqa: E731
        left = sum(len(rows) / len(node.rows) * entropy(classes(rows)) for rows in sons.values())
        return entropy(classes(node.rows)) - left

    def candidate(self, node, number, level, gain, sons, cut, named=None) -> Candidate | None:
        if gain <= TIE:
            return None
        score = gain
        if self.setup.by_ratio:
            score /= entropy([branch for branch, rows in enumerate(sons.values()) for _ in rows])
        if self.setup.weight_gain:
            score *= len(node.rows) / len(self.rows)
        return Candidate(number, level, gain, round(score, DIGITS), cut, named)

    # -- spans

    def fine(self, rows: list[int]) -> bool:
        return len(rows) >= self.setup.k and self.setup.allowed([self.rows[r] for r in rows])

    def parts(self, node: Node, span: Span, one: Candidate) -> dict[object, list[int]]:
        """The people of a span by branch; a value that the node has no row of stops there."""
        there = self.sons_of(node, one.attribute, one.level, one.cut, one.named)
        found: dict[object, list[int]] = {}
        for row in span.rows:
            branch = self.branch(one.attribute, one.level, one.cut, row, one.named)
            found.setdefault(branch if branch in there else None, []).append(row)
        return found

    def breaches(self, node: Node, one: Candidate) -> bool:
        near = [s for s in self.spans if node in s.leaves]
        return any(not self.fine(rows) for s in near for rows in self.parts(node, s, one).values())

    def split(self, node: Node, one: Candidate) -> list[Node]:
        node.split = (self.setup.attributes[one.attribute].name, one.level, one.cut)
        sons = self.sons_of(node, one.attribute, one.level, one.cut, one.named)
        for place, (branch, rows) in enumerate(sons.items()):
            node.sons[branch] = Node(rows, node.depth + 1, (*node.way, place))
        spans = []
        for span in self.spans:
            if node not in span.leaves:
                spans.append(span)
                continue
            others = [leaf for leaf in span.leaves if leaf is not node]
            if not self.setup.attributes[one.attribute].public:
                spans.append(Span(span.rows, [*others, *node.sons.values()]))
                continue
            for branch, rows in self.parts(node, span, one).items():
                son = [node.sons[branch]] if branch is not None else []
                spans.append(Span(rows, [*others, *son]))
        self.spans = spans
        self.nodes += node.sons.values()
        return list(node.sons.values())

    def partition(self) -> set[frozenset[int]]:
        return {frozenset(span.rows) for span in self.spans}
