"""Who can be told from whom while a tree grows: spans, the nodes they list, and what has been counted of both.

A span is a set of people with equal answers to all public tests; it lists the nodes they may be in.  A private test
sends a span to all sons at once, a public one parts it by its people's own values.  The rows are in slots (their node,
their span), so one count of the slots gives both: a node is the sum of its slots, and so is the population of a span.
Neither changes as long as it is there: only new ones are counted.

    Friedman et al., algorithm 1         here
    node.Spans, span.Nodes               Spans.of, Spans.nodes
    span.Population                      the slots of a span; Spans.population has their class counts
    Split                                Spans.split, and Spans.send_on for the rows
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ppdm_sql.induction.counts import Tally
from ppdm_sql.induction.criteria import Ints
from ppdm_sql.methods.kadet.class_sums import Entries, Sums, by_branch, put_together
from ppdm_sql.methods.kadet.kadet_cells import KadetTable
from ppdm_sql.methods.kadet.row_slots import Branching, Leaving, Rows, Slot

STOPS = -1  # no row of the node has this code: it ends at the node
_DONE = -1  # finished nodes are one, for rows that move: only their span matters


@dataclass(frozen=True)
class _Parted:
    """How a node was split: its sons, its spans, and where each of them goes if not everywhere."""

    branching: Branching
    node: int
    sons: Sequence[int]
    spans: Sequence[int]
    parts: Mapping[int, Mapping[int, int]] | None  # span -> branch -> span
    renewed: bool  # the parts are new spans


@dataclass
class Spans:
    """The bookkeeping of one tree."""

    table: KadetTable
    public: Sequence[int]  # attributes
    nodes: dict[int, set[int]] = field(init=False)  # span -> the open leaves it lists
    of: dict[int, list[int]] = field(init=False)  # open leaf -> the spans that list it
    population: dict[int, Ints] = field(init=False)  # span -> class counts
    _rows: Rows = field(init=False)
    _made: int = 1  # spans made so far
    _of_node: dict[int, tuple[Sequence[Sums], int]] = field(default_factory=dict)  # open leaf -> sums, its place
    _places: dict[int, int] = field(default_factory=dict)  # span -> its place in _of_span; of those that share nodes
    _of_span: dict[int, Sums] = field(default_factory=dict)  # public attribute -> sums
    _places_of: dict[int, tuple[list[int], Ints]] = field(default_factory=dict)  # open leaf -> those of its spans
    _entering: dict[int, tuple[Sequence[Sums], int]] = field(default_factory=dict)  # spans of one node that was split
    _parts: dict[int, tuple[Branching, list[int], tuple[Ints, Ints, Ints]]] = field(default_factory=dict)  # by node
    _parted: list[_Parted] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.nodes, self.of, self.population = {0: {0}}, {0: [0]}, {0: self.table.whole}
        self._rows = Rows(self.table)

    # -- counts ------------------------------------------------------------------------------------

    def count(self) -> None:
        """Counts the nodes and the spans that are new."""
        slots, tallies = self._rows.count()
        fresh = {node: place for place, node in enumerate(dict.fromkeys(n for n, _ in slots if self._is_new(n)))}
        if fresh:
            sums = self._added([node for node, _ in slots], tallies, fresh, range(len(tallies)))
            self._of_node |= {node: (list(sums.values()), place) for node, place in fresh.items()}
        spans = dict.fromkeys(span for _, span in slots if span not in self._places and self.nodes[span])
        shared = [span for span in spans if span not in self._entering and not self._is_of_one(span)]
        if shared or self._entering:
            self._enter(slots, tallies, {span: place for place, span in enumerate(shared)})
            self._entering.clear()

    def _is_new(self, node: int) -> bool:
        return node in self.of and node not in self._of_node

    def _is_of_one(self, span: int) -> bool:
        """Whether the people of a span are the rows of an open leaf, all of them, and can be in no other."""
        slots, nodes = self._rows.slots.get(span, {}), self.nodes[span]
        return slots.keys() == nodes and len(nodes) == 1 and self.of[next(iter(nodes))] == [span]

    def _added(
        self, keys: Sequence[int], tallies: Sequence[Tally], places: Mapping[int, int], wanted: Sequence[int]
    ) -> dict[int, Sums]:
        """The tallies of some attributes added up by the node or the span of the slots, if it has a place."""
        of_slot = np.fromiter((places.get(key, -1) for key in keys), np.int64, len(keys))
        return {
            number: Sums.of_tally(tallies[number], of_slot, len(places), self.table.attributes[number].size)
            for number in wanted
        }

    def _enter(self, slots: Sequence[Slot], tallies: Sequence[Tally], places: Mapping[int, int]) -> None:
        """New spans into the sums by span; those that are no longer looked at leave them."""
        kept = {span: place for span, place in self._places.items() if self.nodes.get(span)}
        old = np.fromiter(kept.values(), np.int64, len(kept))
        entering = {span: one for span, one in self._entering.items() if self.nodes.get(span)}
        fresh = self._added([span for _, span in slots], tallies, places, self.public) if places else {}
        self._places = {span: place for place, span in enumerate((*kept, *entering, *places))}
        self._places_of.clear()
        for attribute in self.public if self._places else ():
            parts = [(self._of_span[attribute].several(old), len(kept))] if kept else []
            parts += [(sums[attribute].one(place), 1) for sums, place in entering.values()]
            parts += [(fresh[attribute].entries, len(places))] if places else []
            self._of_span[attribute] = put_together(parts)

    def of_nodes(self, nodes: Sequence[int], attribute: int) -> Entries:
        """The rows that are in nodes which became open leaves together; places count them in their order."""
        sums = self._of_node[nodes[0]][0][attribute]
        if len(nodes) == 1:
            return sums.one(self._of_node[nodes[0]][1])
        return sums.several(np.fromiter((self._of_node[node][1] for node in nodes), np.int64, len(nodes)))

    def of_spans(self, node: int, attribute: int) -> Entries:
        """Everybody of whom the tree says that he may be in a node; places count its spans in their order."""
        if self.is_alone(node):
            return self.of_nodes([node], attribute)
        sums, places = self.sums_of_spans(node, attribute)
        return sums.one(int(places[0])) if len(places) == 1 else sums.several(places)

    def sums_of_spans(self, node: int, attribute: int) -> tuple[Sums, Ints]:
        """All sums by span, and the places of those that list a node which is not alone."""
        spans, known = self.of[node], self._places_of.get(node)
        if known is None or known[0] is not spans:
            known = spans, np.fromiter((self._places[span] for span in spans), np.int64, len(spans))
            self._places_of[node] = known
        return self._of_span[attribute], known[1]

    def is_alone(self, node: int) -> bool:
        """Whether the node's rows are all the people of its only span."""
        spans = self.of[node]
        return len(spans) == 1 and self._rows.slots[spans[0]].keys() == {node}

    # -- splitting ---------------------------------------------------------------------------------

    def split(self, node: int, sons: Sequence[int], branching: Branching) -> None:
        """Replaces a leaf by its sons; the rows follow with send_on."""
        found = None
        if branching.public:
            found = self.parts(node, branching)
        elif self.is_alone(node) and self.of[node][0] not in self._places:
            self._entering[self.of[node][0]] = self._of_node[node]
        spans = self.of.pop(node)
        for son in sons:
            self.of[son] = []
        for span in spans:
            self.nodes[span].discard(node)
        renewed, parts = False, None
        if found is None:
            self.of |= {son: list(spans) for son in sons}
            for span in spans:
                self.nodes[span].update(sons)
        elif len(found[0]) == len(spans):  # each of them goes one way
            parts = {span: {taken: span} for span, taken in zip(spans, found[1].tolist(), strict=True)}
            for span, taken in zip(spans, found[1].tolist(), strict=True):
                self._list(span, [] if taken == STOPS else [sons[taken]])
        else:
            parts, renewed = self._part(spans, sons, *found), True
        self._parted.append(_Parted(branching, node, sons, spans, parts, renewed))

    def _list(self, span: int, sons: Sequence[int]) -> None:
        self.nodes[span].update(sons)
        for son in sons:
            self.of[son].append(span)

    def parted_by(self, node: int, branching: Branching) -> int | None:
        """A span that a public split would part, if there is one: else each goes one way as a whole."""
        first = self.of[node][0]
        if self.is_alone(node) or self._is_parted(first, branching):
            return first
        place = self.parts(node, branching)[0]
        twice = np.flatnonzero(place[1:] == place[:-1])
        return self.of[node][place[twice[0]]] if len(twice) else None

    def _is_parted(self, span: int, branching: Branching) -> bool:
        taken = branching.of(self._of_span[branching.attribute].one(self._places[span]).code)
        return bool((taken != taken[0]).any())

    def parts(self, node: int, branching: Branching) -> tuple[Ints, Ints, Ints]:
        """The populated parts that a public split makes of the spans of its node: place of the span, branch, counts."""
        known = self._parts.get(node)
        if known is None or known[0] is not branching or known[1] is not self.of[node]:
            entries = self.of_spans(node, branching.attribute)
            found = by_branch(entries.place, branching.of(entries.code), branching.highest, entries.counts)
            known = self._parts[node] = branching, self.of[node], found
        return known[2]

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
        self._of_node.pop(node, None)
        self._parts.pop(node, None)

    def sharing(self, node: int) -> set[int]:
        """The open leaves that share a span with one: a split of either can forbid a split of the other."""
        return set().union(*(self.nodes[span] for span in self.of[node]))

    def connected(self, nodes: Collection[int]) -> set[int]:
        """The open leaves that share a span with one of these, or with one that does, and so on."""
        found, waiting, spans = set(nodes), set(nodes), set[int]()
        while waiting:
            more = set[int]().union(*(self.of[node] for node in waiting)) - spans
            spans |= more
            waiting = set[int]().union(*(self.nodes[span] for span in more)) - found
            found |= waiting
        return found

    # -- the rows ----------------------------------------------------------------------------------

    def send_on(self) -> None:
        """Every row to its new slot; rows of spans that list no open leaf are no longer looked at."""
        live = {span for span, nodes in self.nodes.items() if nodes}
        leaving: list[Leaving] = []
        for one in self._parted:
            leaving += self._leaving(one, live)
            del self._of_node[one.node]
            self._parts.pop(one.node, None)
        self._parted.clear()
        self._rows.send_on(leaving, live)

    def _leaving(self, one: _Parted, live: set[int]) -> Iterator[Leaving]:
        """Of spans that were parted all slots, else those of the node that was split."""
        for span in one.spans:
            slots = self._rows.slots.get(span, {})
            if one.renewed:
                finished = [(node, span) for node in slots if node != one.node and node not in self.of]
                groups = [[(node, span)] for node in slots if node == one.node or node in self.of]
                groups += [finished] if finished else []
            else:
                groups = [[(one.node, span)]] if one.node in slots else []
            if groups:
                parts = dict.fromkeys(range(len(one.sons)), span) if one.parts is None else one.parts[span]
                parts = {branch: part for branch, part in parts.items() if part in live}
                yield from (Leaving(group, one.branching, self._going(one, group[0][0], parts)) for group in groups)

    def _going(self, one: _Parted, node: int, parts: Mapping[int, int]) -> dict[int, Slot]:
        """Where the rows of a node go; those of a finished one stay where they are, unless their span is a new one."""
        done = _DONE if one.renewed else one.node
        if node != one.node:
            there = node if node in self.of else done
            return {branch: (there, part) for branch, part in parts.items()}
        return {
            branch: (one.sons[branch] if one.sons[branch] in self.of else done, part)
            for branch, part in parts.items()
            if branch != STOPS  # none of its rows does
        }
