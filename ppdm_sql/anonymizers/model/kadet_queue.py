"""Which splits are made next: a queue of candidates (node, attribute, level), scored by what they tell of the class.

A candidate that would make a part of a span too small goes back into the queue one level up its hierarchy, or with
the best cut that is still possible, or is dropped.  Spans only become finer, so what is forbidden once stays so;
the rows of a node do not change until it is split, so a score in the queue stays right.

One split per pass over the table would take an hour where there are private attributes.  So a round makes all splits
that cannot forbid each other anything: first all that part no span (private ones, and public ones that every span
passes as a whole), and where no node has one to offer, the others in the order of the queue, a node waiting when a
split of this round parts a span it shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from math import log2

import numpy as np

from ppdm_sql.anonymizers.model.class_demands import ClassDemands
from ppdm_sql.anonymizers.model.kadet_spans import STOPS, Branching, Cells, Spans, by_branch, grouped
from ppdm_sql.trees.candidates import Found
from ppdm_sql.trees.coded import CodedAttribute
from ppdm_sql.trees.criteria import TIE, Flags, Ints, entropy, split_information
from ppdm_sql.trees.grow import Grown
from ppdm_sql.watching import Progress

_DIGITS = 9  # scores that agree so far are equal
_SLACK = 1e-3  # C4.5: this much below the average gain still counts as average


@dataclass(frozen=True)
class Level:
    """A way to group the codes of a categorical attribute: by value, or by label of a hierarchy."""

    group: Ints  # per code
    labels: tuple[str, ...] | None = None
    rare: int | None = None  # the group of all values that are not named


@dataclass(frozen=True)
class Asked:
    """An attribute: who knows it, and its levels (of an ordered one none: it is cut)."""

    coded: CodedAttribute
    public: bool
    levels: tuple[Level, ...] = ()


@dataclass(frozen=True)
class Form:
    """ID3 ranks by gain, C4.5 by gain ratio."""

    name: str = "c45"
    weight_gain: bool = False
    mdl: bool = False
    prune: bool = True
    min_leaf: int = 1
    max_depth: int = 30

    @property
    def by_ratio(self) -> bool:
        return self.name == "c45"


@dataclass(frozen=True)
class Candidate:
    """A split of a node that would tell something; of a cut also its place."""

    node: int
    attribute: int
    level: int
    gain: float  # bits per row
    score: float
    counts: Ints = field(repr=False)  # (branch, class)
    cut: int | None = None
    above: int | None = None  # the next code that anybody has who may be in the node
    spans: Sequence[int] = ()  # of the node, when the cut was found possible


@dataclass
class _Waiting:
    """The candidates of one node: those in the queue, and those below the average gain."""

    order: tuple[int, tuple[int, ...]]
    heap: list[tuple[tuple[float, int, int], Candidate]] = field(default_factory=list)
    reserve: list[Candidate] = field(default_factory=list)
    judged: tuple[Candidate, Sequence[int], bool] | None = None  # whether the first parts no span of these

    @property
    def first(self) -> Candidate:
        return self.heap[0][1]

    @property
    def key(self) -> tuple[float, int, tuple[int, ...]]:
        """Where its first candidate stands among those of other nodes; of equal ones the nearest to the root."""
        return (self.heap[0][0][0], *self.order)

    def push(self, one: Candidate) -> None:
        heappush(self.heap, ((-one.score, one.attribute, one.level), one))

    def readmit(self, by_ratio: bool) -> None:
        """C4.5's rule, whenever nothing of the node is left in the queue: candidates of at least average gain."""
        if self.heap or not self.reserve:
            return
        average = sum(one.gain for one in self.reserve) / len(self.reserve)
        chosen = [one for one in self.reserve if not by_ratio or one.gain >= average - _SLACK]
        self.reserve = [one for one in self.reserve if by_ratio and one.gain < average - _SLACK]
        self.heap = [((-one.score, one.attribute, one.level), one) for one in chosen]
        heapify(self.heap)


@dataclass
class Growth:
    """A tree while it grows."""

    spans: Spans
    asked: Sequence[Asked]
    demands: ClassDemands
    form: Form
    nodes: list[Grown] = field(init=False)
    levels: dict[int, int] = field(default_factory=dict)  # node -> level of its split
    dropped: int = 0
    _open: dict[int, _Waiting] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.nodes = [Grown(0, None, 0, (), self.demands.rows(self.spans.whole))]

    def run(self, progress: Progress) -> list[Grown]:
        """The nodes of the tree, the root first."""
        fresh = self._opened([0])
        rounds = 0
        while fresh or self._open:
            progress("growing the tree", rounds, None)
            rounds += 1
            self.spans.count()
            for node in fresh:
                self._look_at(node)
            chosen = self._harmless_firsts() or self._parting_firsts()
            fresh = [son for one in chosen for son in self._split(one)]
            self.spans.send_on()
        return self.nodes

    def _opened(self, nodes: Sequence[int]) -> list[int]:
        """Those that can be split; the others are finished."""
        found = []
        for node in nodes:
            if self._can_split(self.nodes[node]):
                found.append(node)
            else:
                self.spans.finish(node)
        return found

    def _can_split(self, node: Grown) -> bool:
        rows = int(node.counts.sum())
        mixed = bool(np.count_nonzero(node.counts) > 1)
        least = 2 * self.form.min_leaf
        if all(one.public for one in self.asked) and not self.demands.class_is_public:
            least = max(least, 2 * self.demands.k)  # its rows are a span: every split parts it
        return mixed and node.depth < self.form.max_depth and rows >= least

    # -- the queue ---------------------------------------------------------------------------------

    def _look_at(self, number: int) -> None:
        node = self.nodes[number]
        first = [self._scored(number, attribute, 0) for attribute in range(len(self.asked))]
        waiting = _Waiting((node.depth, node.way), reserve=[one for one in first if one is not None])
        waiting.readmit(self.form.by_ratio)
        if waiting.heap:
            self._open[number] = waiting
        else:
            self.spans.finish(number)

    def _harmless_firsts(self) -> list[Candidate]:
        """The candidates that are their node's first and part no span: none of them can breach."""
        chosen = [waiting.first for waiting in self._open.values() if self._is_harmless(waiting)]
        for one in chosen:
            del self._open[one.node]
        return chosen

    def _is_harmless(self, waiting: _Waiting) -> bool:
        one = waiting.first
        spans = self.spans.of[one.node]
        if waiting.judged is None or waiting.judged[0] is not one or waiting.judged[1] is not spans:
            waiting.judged = one, spans, self.spans.parts_none(one.node, self._branching(one))
        return waiting.judged[2]

    def _parting_firsts(self) -> list[Candidate]:
        """In the order of the queue what is possible, a node at most once, and of nodes that share a span one."""
        chosen: list[Candidate] = []
        wait: set[int] = set()
        queue = [(waiting.key, node) for node, waiting in self._open.items()]
        heapify(queue)
        while queue:
            node = heappop(queue)[1]
            if node in wait:
                continue
            waiting = self._open[node]
            one = heappop(waiting.heap)[1]
            instead = self._instead(one)
            if instead is one:
                del self._open[node]
                wait |= self.spans.sharing(node)
                chosen.append(one)
                continue
            if instead is not None:
                waiting.push(instead)
            else:
                self.dropped += 1
                waiting.readmit(self.form.by_ratio)
            if not waiting.heap:
                del self._open[node]
                self.spans.finish(node)
            elif not self._is_harmless(waiting):  # else it is the next round's
                heappush(queue, (waiting.key, node))
        return chosen

    def _instead(self, one: Candidate) -> Candidate | None:
        """The candidate itself if it may be; else what goes into the queue in its place, if anything."""
        asked = self.asked[one.attribute]
        if not asked.public:
            return one
        if not asked.levels:
            if one.spans == self.spans.of[one.node]:
                return one
            now = self._scored(one.node, one.attribute, 0)
            return one if now is not None and now.cut == one.cut else now
        cells = self.spans.of_spans(one.node, one.attribute)
        counts = by_branch(cells, self._branching(one).branch)[2]
        if self.demands.hold(counts).all():
            return one
        if one.level + 1 == len(asked.levels):
            return None
        return self._scored(one.node, one.attribute, one.level + 1)

    # -- scores ------------------------------------------------------------------------------------

    def _scored(self, node: int, attribute: int, level: int) -> Candidate | None:
        """A candidate with its score; None if it tells nothing of the class."""
        asked = self.asked[attribute]
        cells = self.spans.of_node(node, attribute)
        if len(cells.code) < 2:
            return None
        if asked.levels:
            return self._grouped(node, attribute, level, cells)
        return self._cut(node, attribute, cells)

    def _grouped(self, node: int, attribute: int, level: int, cells: Cells) -> Candidate | None:
        counts = self.demands.rows(cells.counts)
        one = self.asked[attribute].levels[level]
        if level > 0 or one.rare is not None:
            counts = grouped(one.group[cells.code], counts)[1]
        sizes = counts.sum(axis=1)
        if len(counts) < 2 or np.count_nonzero(sizes >= self.form.min_leaf) < 2:
            return None
        gain = float(entropy(self.nodes[node].counts) - entropy(counts).sum()) / int(sizes.sum())
        return self._candidate(node, attribute, level, gain, counts)

    def _cut(self, node: int, attribute: int, cells: Cells) -> Candidate | None:
        """The best cut among those that leave every part of every span large enough; of equal ones the lowest.

        A public attribute is cut between neighbouring values of everybody who may be in the node, not only of
        those who are: the threshold parts them all.
        """
        asked = self.asked[attribute]
        codes, running = cells.code, np.cumsum(cells.counts, axis=0)
        low = running[:-1]
        if not asked.public:
            possible = np.ones(len(low), dtype=bool)
        elif self.spans.is_alone(node):
            possible = self.demands.hold(low) & self.demands.hold(running[-1] - low)
        else:
            spans = self.spans.of_spans(node, attribute)
            codes = np.unique(spans.code)
            possible = self._possible(spans, codes)
            padded = np.concatenate([np.zeros_like(running[:1]), running])
            low = padded[np.searchsorted(cells.code, codes[:-1], side="right")]
        whole, low = self.demands.rows(running[-1]), self.demands.rows(low)
        high = whole - low
        possible &= asked.coded.gaps[codes[:-1]]
        least = self.form.min_leaf
        possible &= (low.sum(axis=1) >= least) & (high.sum(axis=1) >= least)
        places = np.flatnonzero(possible)
        if not len(places):
            return None
        rows = int(whole.sum())
        low, high = low[places], high[places]
        gains = np.round((entropy(whole) - entropy(low) - entropy(high)) / rows, _DIGITS)
        best = int(np.argmax(gains))
        gain = float(gains[best])
        if self.form.mdl:
            gain -= log2(max(int(asked.coded.gaps[cells.code[:-1]].sum()), 1)) / rows
        at = places[best]
        counts = np.stack([low[best], high[best]])
        return self._candidate(node, attribute, 0, gain, counts, int(codes[at]), int(codes[at + 1]))

    def _possible(self, spans: Cells, codes: Ints) -> Flags:
        """Per cut after one of the codes, whether both sides of every span it parts may be."""
        running = np.cumsum(spans.counts, axis=0)
        last = np.flatnonzero(np.diff(spans.place, append=spans.place[-1] + 1))
        before = np.concatenate([np.zeros_like(running[:1]), running[last[:-1]]])
        low = running - before[spans.place]
        high = running[last][spans.place] - running
        inner = np.ones(len(spans.place), dtype=bool)
        inner[last] = False
        wrong = np.flatnonzero(inner)
        wrong = wrong[~(self.demands.hold(low[wrong]) & self.demands.hold(high[wrong]))]
        # such a cut stays wrong up to the span's next code
        place = np.searchsorted(codes, spans.code)
        changes = np.zeros(len(codes) + 1, dtype=np.int64)
        np.add.at(changes, place[wrong], 1)
        np.add.at(changes, place[wrong + 1], -1)
        return np.asarray(np.cumsum(changes)[: len(codes) - 1] == 0)

    def _candidate(
        self,
        node: int,
        attribute: int,
        level: int,
        gain: float,
        counts: Ints,
        cut: int | None = None,
        above: int | None = None,
    ) -> Candidate | None:
        if gain <= TIE:
            return None
        score = gain
        if self.form.by_ratio:
            score /= float(split_information(counts.sum(axis=1)))
        if self.form.weight_gain:
            score *= int(counts.sum()) / int(self.spans.whole.sum())
        score = round(score, _DIGITS)
        return Candidate(node, attribute, level, gain, score, counts, cut, above, self.spans.of[node])

    # -- splitting ---------------------------------------------------------------------------------

    def _branching(self, one: Candidate) -> Branching:
        """Which branch a code goes to: those that the node's rows have, in order; any other stops at the node."""
        asked = self.asked[one.attribute]
        if one.cut is not None:
            branch = (np.arange(asked.coded.size) > one.cut).astype(np.int64)
            return Branching(one.attribute, asked.public, branch, one.cut)
        group = asked.levels[one.level].group
        there = np.zeros(int(group.max()) + 1, dtype=bool)
        there[group[self.spans.of_node(one.node, one.attribute).code]] = True
        branch = np.where(there, np.cumsum(there) - 1, STOPS)[group]
        return Branching(one.attribute, asked.public, branch)

    def _split(self, one: Candidate) -> list[int]:
        """Makes the sons; gives those that can be split themselves."""
        node = self.nodes[one.node]
        branching = self._branching(one)
        groups: tuple[Ints, ...] = ()
        if one.cut is None:
            groups = tuple(np.flatnonzero(branching.branch == branch) for branch in range(len(one.counts)))
        gain = one.gain * int(node.counts.sum())
        node.split = Found(one.attribute, gain, one.counts, one.cut, one.above, groups=groups)
        self.levels[node.number] = one.level
        for branch, counts in enumerate(one.counts):
            son = Grown(len(self.nodes), node.number, node.depth + 1, (*node.way, branch), counts)
            self.nodes.append(son)
            node.children.append(son.number)
        self.spans.split(node.number, node.children, branching)
        return self._opened(node.children)
