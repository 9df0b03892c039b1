"""Which splits are made next: a queue of candidates (node, attribute, level), scored by what they say of the class.

A candidate that would make a part of a span too small goes back into the queue one level up its hierarchy, with fewer
values named where it has none, or with the best cut that is still possible, or is dropped.  Spans only become finer, so
what is forbidden once stays so; the rows of a node do not change until it is split, so a score stays right.

One split per pass over the table would take an hour where there are private attributes.  So a round makes all splits
that cannot forbid each other anything: first all that part no span (private ones, and public ones that every span
passes as a whole), and where no node has one to offer, the others in the order of the queue, a node waiting when a
split of this round parts a span it shares.  Nodes that no chain of shared spans connects know nothing of each other:
some of them may part spans while others do not yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

import numpy as np

from ppdm_sql.induction.candidates import Found
from ppdm_sql.induction.criteria import Ints
from ppdm_sql.induction.grow import Grown
from ppdm_sql.methods.kadet.row_slots import Branching
from ppdm_sql.methods.kadet.spans import STOPS, Spans
from ppdm_sql.methods.kadet.split_scores import AskedAttribute, Candidate, KadetOptions, Scores
from ppdm_sql.methods.shared.class_limits import ClassDemands
from ppdm_sql.watching import Progress

_SLACK = 1e-3  # C4.5: this much below the average gain still counts as average


@dataclass
class _Waiting:
    """The candidates of one node: those in the queue, and those below the average gain."""

    order: tuple[int, tuple[int, ...]]
    heap: list[tuple[tuple[float, int, int], Candidate]] = field(default_factory=list)
    reserve: list[Candidate] = field(default_factory=list)
    judged: tuple[Candidate, int | None] | None = None  # the first, and a span that it parts, if it does

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
    asked: Sequence[AskedAttribute]
    demands: ClassDemands
    form: KadetOptions
    nodes: list[Grown] = field(init=False)
    levels: dict[int, int] = field(default_factory=dict)  # node -> level of its split
    with_rest: set[int] = field(default_factory=set)  # nodes whose last branch is for all values that are not named
    dropped: int = 0
    _open: dict[int, _Waiting] = field(default_factory=dict)
    _branchings: dict[int, tuple[Candidate, Branching]] = field(default_factory=dict)  # by node, the last one

    def __post_init__(self) -> None:
        self._scores = Scores(self.spans, self.asked, self.demands, self.form)
        self.nodes = [Grown(0, None, 0, (), self.demands.rows(self.spans.table.whole))]

    def run(self, progress: Progress) -> list[Grown]:
        """The nodes of the tree, the root first."""
        fresh = self._opened([0])
        rounds = 0
        while fresh or self._open:
            progress("growing the tree", rounds, None)
            rounds += 1
            self.spans.count()
            self._look_at(fresh)
            chosen = self._harmless_firsts()
            chosen += self._parting_firsts(self.spans.connected([one.node for one in chosen]))
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

    def _look_at(self, fresh: Sequence[int]) -> None:
        for number, found in zip(fresh, self._scores.first(fresh), strict=True):
            node = self.nodes[number]
            waiting = _Waiting((node.depth, node.way), reserve=found)
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
        """Whether the first candidate of a node parts no span; one that does, does as long as that span is there."""
        one = waiting.first
        if not self.asked[one.attribute].public:
            return True
        if waiting.judged is None or waiting.judged[0] is not one or waiting.judged[1] not in self.spans.nodes:
            waiting.judged = one, self.spans.parted_by(one.node, self._branching(one))
        return waiting.judged[1] is None

    def _parting_firsts(self, wait: set[int]) -> list[Candidate]:
        """In the order of the queue what is possible, of nodes that share a span one; nodes that wait are left out."""
        chosen: list[Candidate] = []
        queue = [(waiting.key, node) for node, waiting in self._open.items() if node not in wait]
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
                self._branchings.pop(node, None)
                self.spans.finish(node)
            elif not self._is_harmless(waiting):  # else it is the next round's
                heappush(queue, (waiting.key, node))
        if chosen:
            self._scores.forget()
        return chosen

    def _instead(self, one: Candidate) -> Candidate | None:
        """The candidate itself if it may be; else what goes into the queue in its place, if anything.

        What was forbidden stays so: a cut that may still be is still the best one.
        """
        asked = self.asked[one.attribute]
        if not asked.public or self.demands.hold(self.spans.parts(one.node, self._branching(one))[2]).all():
            return one
        if not asked.levels:
            return self._scores.again(one.node, one.attribute, 0)
        if len(asked.levels) == 1:
            return self._scores.with_rest(one)
        if one.level + 1 == len(asked.levels):
            return None
        return self._scores.again(one.node, one.attribute, one.level + 1)

    # -- splitting ---------------------------------------------------------------------------------

    def _branching(self, one: Candidate) -> Branching:
        """Which branch a code goes to: those that the node's rows have, in order; any other stops at the node.

        Where only some are named, all others have a branch and nobody stops.
        """
        known = self._branchings.get(one.node)
        if known is not None and known[0] is one:
            return known[1]
        asked = self.asked[one.attribute]
        branch = None
        if one.named is not None:
            branch = one.branch_of_value(asked.coded.size)
        elif one.cut is None:
            group = asked.levels[one.level].group
            there = np.zeros(int(group.max()) + 1, dtype=bool)
            there[group[self.spans.of_nodes([one.node], one.attribute).code]] = True
            branch = np.where(there, np.cumsum(there) - 1, STOPS)[group]
        branching = Branching(one.attribute, asked.public, one.cut, branch)
        self._branchings[one.node] = one, branching
        return branching

    def _split(self, one: Candidate) -> list[int]:
        """Makes the sons; gives those that can be split themselves."""
        node = self.nodes[one.node]
        branching = self._branching(one)
        del self._branchings[one.node]
        groups: tuple[Ints, ...] = ()
        if one.cut is None:
            groups = tuple(np.flatnonzero(branching.branch == branch) for branch in range(len(one.counts)))
        gain = one.gain * int(node.counts.sum())
        node.split = Found(one.attribute, gain, one.counts, one.cut, one.above, groups=groups)
        self.levels[node.number] = one.level
        if one.named is not None:
            self.with_rest.add(node.number)
        for branch, counts in enumerate(one.counts):
            son = Grown(len(self.nodes), node.number, node.depth + 1, (*node.way, branch), counts)
            self.nodes.append(son)
            node.children.append(son.number)
        self.spans.split(node.number, node.children, branching)
        return self._opened(node.children)
