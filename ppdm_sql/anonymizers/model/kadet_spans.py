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
class _Book:
    """The cells put together by node or by span: the place of each, and the place of every slot."""

    place: Mapping[int, int]
    of_slot: Ints  # slot -> place; the sink has none

    @classmethod
    def of(cls, slots: Mapping[_Cell, int], highest: int, side: int) -> _Book:
        place: dict[int, int] = {}
        of_slot = np.full(highest + 1, -1, dtype=np.int64)
        for cell, slot in slots.items():
            of_slot[slot] = place.setdefault(cell[side], len(place))
        return cls(place, of_slot)


@dataclass(frozen=True)
class _Added:
    """A tally added up by the places of a book; the entries of a place are in a row."""

    cells: Cells
    starts: Ints

    @classmethod
    def of(cls, tally: Tally, book: _Book, size: int) -> _Added:
        place = book.of_slot[tally.slot]
        kept = np.flatnonzero(place >= 0)
        key, counts = grouped(place[kept] * size + tally.code[kept], tally.counts[kept])
        return cls(Cells(key // size, key % size, counts), np.searchsorted(key, np.arange(len(book.place) + 1) * size))

    def one(self, place: int) -> Cells:
        here = slice(self.starts[place], self.starts[place + 1])
        code = self.cells.code[here]
        return Cells(np.zeros_like(code), code, self.cells.counts[here])

    def several(self, places: Ints) -> Cells:
        """In the order asked for, numbered from 0."""
        lengths = self.starts[places + 1] - self.starts[places]
        shift = self.starts[places] - (np.cumsum(lengths) - lengths)
        taken = np.repeat(shift, lengths) + np.arange(int(lengths.sum()))
        numbers = np.repeat(np.arange(len(places)), lengths)
        return Cells(numbers, self.cells.code[taken], self.cells.counts[taken])


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
    _cells_of: dict[int, int] = field(init=False)  # span -> how many cells it has
    _by_node: _Book = field(init=False)
    _by_span: _Book = field(init=False)
    _made: int = 1  # spans made so far
    _tallies: list[tuple[Tally, Ints]] = field(default_factory=list)  # per attribute, and where each slot starts
    _added: dict[tuple[bool, int], _Added] = field(default_factory=dict)  # of this round: by spans or not, attribute
    _parted: list[_Parted] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.nodes, self.of, self.population = {0: {0}}, {0: [0]}, {0: self.whole}
        self._table, self._table_rows = self.training.table, self.training.rows
        self._place({(0, 0): 1}, 1)
        self._counter = Counter(self.engine, self.training)

    def _place(self, slots: dict[_Cell, int], highest: int) -> None:
        self._slots, self._highest, self._cells_of = slots, highest, {}
        for _, span in slots:
            self._cells_of[span] = self._cells_of.get(span, 0) + 1
        self._by_node, self._by_span = _Book.of(slots, highest, 0), _Book.of(slots, highest, 1)

    # -- counts ------------------------------------------------------------------------------------

    def count(self) -> None:
        """Counts every cell that is still looked at, by every attribute, if rows have moved since."""
        self._added.clear()
        if self._tallies:
            return
        slots = self._highest + 1
        found: list[tuple[Tally, Ints] | None] = [None] * len(self.training.attributes)
        for attribute, tally in self._counter.count(self._table, self._table_rows, slots):
            found[attribute] = tally, np.searchsorted(tally.slot, np.arange(slots + 1))
        self._tallies = [one for one in found if one is not None]

    def of_node(self, node: int, attribute: int) -> Cells:
        """The rows that are in a node."""
        return self._sums(attribute, by_span=False).one(self._by_node.place[node])

    def of_spans(self, node: int, attribute: int) -> Cells:
        """Everybody of whom the tree says that he may be in a node; places count its spans in their order."""
        place, spans = self._by_span.place, self.of[node]
        sums = self._sums(attribute, by_span=True)
        if len(spans) == 1:
            return sums.one(place[spans[0]])
        return sums.several(np.fromiter((place[span] for span in spans), np.int64, len(spans)))

    def is_alone(self, node: int) -> bool:
        """Whether the node's rows are all the people of its only span."""
        spans = self.of[node]
        return len(spans) == 1 and self._cells_of[spans[0]] == 1 and (node, spans[0]) in self._slots

    def _sums(self, attribute: int, *, by_span: bool) -> _Added:
        """Per node, or per span, who has which code; of a round each is made once, for all nodes or spans."""
        key = (by_span, attribute)
        if key not in self._added:
            book = self._by_span if by_span else self._by_node
            self._added[key] = _Added.of(self._tallies[attribute][0], book, self.training.attributes[attribute].size)
        return self._added[key]

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
            self._tallies = []

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
        return found, _sum(key, counts, len(found))
    there = np.flatnonzero(np.bincount(key, minlength=number))
    return there, _sum(key, counts, number)[there]


def _sum(key: Ints, counts: Ints, number: int) -> Ints:
    classes = counts.shape[1]
    cell = key[:, np.newaxis] * classes + np.arange(classes)
    summed = np.bincount(cell.ravel(), weights=counts.ravel(), minlength=number * classes)  # exact below 2^53 rows
    return summed.astype(np.int64).reshape(number, classes)
