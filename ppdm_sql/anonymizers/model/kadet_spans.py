"""Who can be told from whom while a tree grows: spans, the nodes they list, and where the rows are.

A span is a set of people with equal answers to all public tests; it lists the nodes they may be in.  A private test
sends a span to all sons at once, a public one parts it by its people's own values.  Python holds which span lists
which nodes; the rows are in cells (their node, their span), and a cell is a slot of the coded table.  So one count
of the slots gives both: a node is the sum of its cells, and so is the population of a span.

    Friedman et al., algorithm 1         here
    node.Spans, span.Nodes               Spans.of, Spans.nodes
    span.Population                      the cells of a span; Spans.population has their class counts
    Split                                Spans.split, and Spans.send_on for the rows
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ppdm_sql.engines.base import Engine
from ppdm_sql.statements.names import Name
from ppdm_sql.trees.coded import Training
from ppdm_sql.trees.counts import Counter, Tally
from ppdm_sql.trees.criteria import Ints
from ppdm_sql.trees.routing import Routes, route

STOPS = -1  # no row of the node has this code: it ends at the node
_DONE = -1  # all finished nodes are one, for rows: only their span matters
_DENSE = 1 << 10  # keys that are added up in an array, however few are there
_Cell = tuple[int, int]  # node, span


@dataclass(frozen=True)
class Branching:
    """A split in codes: the branch of every code of the attribute."""

    attribute: int
    public: bool
    branch: Ints
    cut: int | None = None  # of a cut: the last code of the first branch


@dataclass(frozen=True)
class Cells:
    """Entries (place, code, class counts) of some cells, rising by place and code; a place is a node or a span."""

    place: Ints
    code: Ints
    counts: Ints


@dataclass(frozen=True)
class _Parted:
    """How a node was split: its sons, and the parts of each of its spans by branch."""

    branching: Branching
    node: int
    sons: Sequence[int]
    parts: Mapping[int, Mapping[int, int]]  # span -> branch -> span


@dataclass
class Spans:
    """The bookkeeping of one tree."""

    engine: Engine
    training: Training
    whole: Ints  # class counts of all rows
    nodes: dict[int, set[int]] = field(init=False)  # span -> the open leaves it lists
    of: dict[int, list[int]] = field(init=False)  # open leaf -> the spans that list it
    population: dict[int, Ints] = field(init=False)  # span -> class counts
    _table: Name = field(init=False)
    _table_rows: int = field(init=False)
    _slots: dict[_Cell, int] = field(init=False)
    _highest: int = field(init=False)  # slot in use
    _in_span: dict[int, list[int]] = field(init=False)  # span -> slots of its cells
    _made: int = 1  # spans made so far
    _tallies: list[tuple[Tally, Ints]] = field(default_factory=list)  # per attribute, and where each slot starts
    _parted: list[_Parted] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.nodes, self.of, self.population = {0: {0}}, {0: [0]}, {0: self.whole}
        self._table, self._table_rows = self.training.table, self.training.rows
        self._place({(0, 0): 1}, 1)
        self._counter = Counter(self.engine, self.training)

    def _place(self, slots: dict[_Cell, int], highest: int) -> None:
        self._slots, self._highest, self._in_span = slots, highest, {}
        for (_, span), slot in slots.items():
            self._in_span.setdefault(span, []).append(slot)

    # -- counts ------------------------------------------------------------------------------------

    def count(self) -> None:
        """Counts every cell that is still looked at, by every attribute."""
        slots = self._highest + 1
        found: list[tuple[Tally, Ints] | None] = [None] * len(self.training.attributes)
        for attribute, tally in self._counter.count(self._table, self._table_rows, slots):
            found[attribute] = tally, np.searchsorted(tally.slot, np.arange(slots + 1))
        self._tallies = [one for one in found if one is not None]

    def of_node(self, node: int, attribute: int) -> Cells:
        """The rows that are in a node."""
        slots = [slot for span in self.of[node] if (slot := self._slots.get((node, span))) is not None]
        return self._entries(attribute, [slots])

    def of_spans(self, node: int, attribute: int) -> Cells:
        """Everybody of whom the tree says that he may be in a node; places count its spans in their order."""
        return self._entries(attribute, [self._in_span[span] for span in self.of[node]])

    def is_alone(self, node: int) -> bool:
        """Whether the node's rows are all the people of its only span."""
        spans = self.of[node]
        return len(spans) == 1 and self._in_span[spans[0]] == [self._slots.get((node, spans[0]))]

    def _entries(self, attribute: int, places: Sequence[Sequence[int]]) -> Cells:
        tally, starts = self._tallies[attribute]
        if len(places) == 1 and len(places[0]) == 1:
            here = slice(starts[places[0][0]], starts[places[0][0] + 1])
            code = tally.code[here]
            return Cells(np.zeros_like(code), code, tally.counts[here])
        slots = [slot for group in places for slot in group]
        taken = np.concatenate([np.arange(starts[slot], starts[slot + 1]) for slot in slots])
        lengths = [starts[slot + 1] - starts[slot] for slot in slots]
        place = np.repeat(np.repeat(np.arange(len(places)), [len(group) for group in places]), lengths)
        size = self.training.attributes[attribute].size
        key, counts = grouped(place * size + tally.code[taken], tally.counts[taken])
        return Cells(key // size, key % size, counts)

    # -- splitting ---------------------------------------------------------------------------------

    def split(self, node: int, sons: Sequence[int], branching: Branching) -> None:
        """Replaces a leaf by its sons; the rows follow with send_on."""
        found = None
        if branching.public:
            found = by_branch(self.of_spans(node, branching.attribute), branching.branch)
        spans = self.of.pop(node)
        for son in sons:
            self.of[son] = []
        for span in spans:
            self.nodes[span].discard(node)
        parts: dict[int, dict[int, int]] = {}
        if found is None:
            for span in spans:
                self._list(span, sons)
        elif len(found[0]) == len(spans):  # each of them goes one way
            for span, taken in zip(spans, found[1].tolist(), strict=True):
                self._list(span, [] if taken == STOPS else [sons[taken]])
        else:
            parts = self._part(spans, sons, *found)
        self._parted.append(_Parted(branching, node, sons, parts))

    def _list(self, span: int, sons: Sequence[int]) -> None:
        self.nodes[span].update(sons)
        for son in sons:
            self.of[son].append(span)

    def parts_none(self, node: int, branching: Branching) -> bool:
        """Whether a split parts no span: it is private, or each span goes one way as a whole."""
        if not branching.public:
            return True
        if self.is_alone(node):
            return False
        return len(by_branch(self.of_spans(node, branching.attribute), branching.branch)[0]) == len(self.of[node])

    def _part(
        self, spans: Sequence[int], sons: Sequence[int], place: Ints, branch: Ints, counts: Ints
    ) -> dict[int, dict[int, int]]:
        """New spans for the parts of old ones, in all books; per old span and branch the new one."""
        parts: dict[int, dict[int, int]] = {span: {} for span in spans}
        for span, taken, population in zip((spans[p] for p in place), branch.tolist(), counts, strict=True):
            fresh, self._made = self._made, self._made + 1
            parts[span][taken] = fresh
            self.population[fresh] = population
            self.nodes[fresh] = set(self.nodes[span])
            self._list(fresh, [] if taken == STOPS else [sons[taken]])
        gone = set(spans)
        for other in {other for span in spans for other in self.nodes[span]}:
            kept: list[int] = []
            for span in self.of[other]:
                kept.extend(parts[span].values() if span in gone else (span,))
            self.of[other] = kept
        for span in spans:
            del self.nodes[span], self.population[span]
        return parts

    def finish(self, node: int) -> None:
        """A leaf that stays one: nothing has to be asked of its spans for its sake."""
        for span in self.of.pop(node):
            self.nodes[span].discard(node)

    def sharing(self, node: int) -> set[int]:
        """The open leaves that share a span with one: a split of either can forbid a split of the other."""
        return set().union(*(self.nodes[span] for span in self.of[node]))

    def send_on(self) -> None:
        """Every row to its new cell; rows of spans that list no open leaf are not looked at any more."""
        live = {span for spans in self.of.values() for span in spans}
        split_spans = {span: one for one in self._parted for span in one.parts}
        split_nodes = {one.node: one for one in self._parted}
        cells: dict[_Cell, int] = {}
        routes = Routes(self._highest + 1)

        def target(node: int, span: int) -> int:
            if span not in live:
                return 0
            return cells.setdefault((node if node in self.of else _DONE, span), len(cells) + 1)

        for (node, span), slot in self._slots.items():
            one = split_spans.get(span) or split_nodes.get(node)
            if one is None:
                routes.stays(slot, target(node, span))
                continue
            going = {}
            for branch in self._branches(slot, one.branching):
                there = one.sons[branch] if node == one.node and branch != STOPS else node
                going[branch] = target(there, one.parts[span][branch] if one.parts else span)
            _add_route(routes, slot, one.branching, going)
        self._parted.clear()
        if not routes.used:  # nothing that is still looked at was split: the cells stay what they are
            self._place({cell: slot for cell, slot in self._slots.items() if cell[1] in live}, self._highest)
        elif cells:
            rows = int(sum(int(self.population[span].sum()) for span in live))
            self._table, self._table_rows = route(
                self.engine, self.training, self._table, routes, live=rows, rows=self._table_rows
            )
            self._place(cells, len(cells))

    def _branches(self, slot: int, branching: Branching) -> list[int]:
        """The branches that rows of a cell take."""
        tally, starts = self._tallies[branching.attribute]
        codes = tally.code[starts[slot] : starts[slot + 1]]
        return [int(branch) for branch in np.unique(branching.branch[codes])]

    def close(self) -> None:
        self.engine.drop_table(self._table, temporary=True)


def class_counts(engine: Engine, training: Training) -> Ints:
    """The histogram of all rows, which any attribute gives."""
    _, tally = next(iter(Counter(engine, training).count(training.table, training.rows, 2)))
    return np.asarray(tally.counts.sum(axis=0))


def _add_route(routes: Routes, slot: int, branching: Branching, going: Mapping[int, int]) -> None:
    if not any(going.values()):
        return
    if branching.cut is not None:
        routes.cuts(slot, branching.attribute, branching.cut, None, going.get(0, 0), going.get(1, 0))
        return
    routes.groups(slot, branching.attribute, [going.get(branch, 0) for branch in branching.branch.tolist()])


def by_branch(cells: Cells, branch: Ints) -> tuple[Ints, Ints, Ints]:
    """The populated parts of places by branch: place, branch, class counts."""
    width = int(branch.max(initial=0)) + 2
    key, counts = grouped(cells.place * width + branch[cells.code] + 1, cells.counts)
    return key // width, key % width - 1, counts


def grouped(key: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Histograms added up by key, and the keys that there are, rising.

    >>> grouped(np.array([7, 1, 7]), np.array([[1, 0], [2, 2], [0, 3]]))[1].tolist()
    [[2, 2], [1, 3]]
    """
    number = int(key.max(initial=0)) + 1
    if number > _DENSE + 4 * len(key):
        found, key = np.unique(key, return_inverse=True)
        return found, _added(key, counts, len(found))
    there = np.flatnonzero(np.bincount(key, minlength=number))
    return there, _added(key, counts, number)[there]


def _added(key: Ints, counts: Ints, number: int) -> Ints:
    found = np.zeros((number, counts.shape[1]), dtype=np.int64)
    np.add.at(found, key, counts)
    return found
