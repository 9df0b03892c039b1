"""What candidates (node, attribute, level) say of the class: for all nodes that are new in a round at once.

An ordered attribute is cut where its gain is greatest among the cuts that may be; a categorical one has a branch for
every value, or label of a level, that the node's rows have.  Where a public one has no hierarchy, values that too few
people have go on together, in one branch for all that is not named (Rest).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log2
from typing import Annotated

import numpy as np

from ppdm_sql.induction.criteria import TIE, Flags, Floats, Ints, entropy, split_information, times_log
from ppdm_sql.induction.inducers import Depth
from ppdm_sql.methods.kadet.class_sums import Entries, Sums, by_branch, grouped
from ppdm_sql.methods.kadet.kadet_cells import CellAttribute
from ppdm_sql.methods.kadet.spans import Spans
from ppdm_sql.methods.shared.class_limits import PINNED, Borders, ClassDemands
from ppdm_sql.policy.options import Choice, Switch, Whole

_DIGITS = 9  # scores that agree so far are equal


@dataclass(frozen=True)
class Level:
    """A way to group the codes of a categorical attribute: by value, or by label of a hierarchy."""

    group: Ints  # per code
    labels: tuple[str, ...] | None = None
    rare: int | None = None  # the group of all values that are not named


@dataclass(frozen=True)
class AskedAttribute:
    """An attribute: whether an attacker knows it, and its levels (of an ordered one none: it is cut)."""

    coded: CellAttribute
    public: bool
    levels: tuple[Level, ...] = ()


@dataclass(frozen=True)
class KadetOptions:
    """ID3 ranks by gain, C4.5 by gain ratio."""

    form: Annotated[str, Choice("id3", "c45")] = "c45"
    weight_gain: Annotated[bool, Switch()] = False
    mdl: Annotated[bool, Switch()] = False
    prune: Annotated[bool | None, Switch()] = None  # None: as the form does
    min_leaf: Annotated[int, Whole(1, 10**9)] = 1
    max_depth: Depth = 30
    borders: Borders = PINNED
    categories: Annotated[str, Choice("common", "all")] = "common"

    @property
    def by_ratio(self) -> bool:
        return self.form == "c45"

    @property
    def is_pruned(self) -> bool:
        return self.by_ratio if self.prune is None else self.prune

    def told(self) -> dict[str, str | int | float | bool]:
        """What was set, for the model's record."""
        return {**vars(self), "prune": self.is_pruned}


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
    named: tuple[int, ...] | None = None  # the values with a branch of their own, rising; None: all of the node

    def branch_of_value(self, values: int) -> Ints:
        """Per value its branch where only some are named: all others share the last one."""
        assert self.named is not None
        return _branch_of_value(self.named, values)


@dataclass(frozen=True)
class _Cuts:
    """Places where nodes may be cut, rising by node: the codes on both sides, and the histograms of both sides."""

    place: Ints
    below: Ints
    above: Ints
    low: Ints
    high: Ints

    def only(self, kept: Flags | Ints) -> _Cuts:
        return _Cuts(self.place[kept], self.below[kept], self.above[kept], self.low[kept], self.high[kept])


@dataclass
class Scores:
    """Candidates of the nodes of one tree."""

    spans: Spans
    asked: Sequence[AskedAttribute]
    demands: ClassDemands
    form: KadetOptions
    _possible: dict[tuple[int, tuple[int, ...]], tuple[Ints, Ints]] = field(default_factory=dict)
    _wrong: dict[int, tuple[Sums, Flags]] = field(default_factory=dict)  # attribute -> all spans, cuts they forbid

    def first(self, nodes: Sequence[int]) -> list[list[Candidate]]:
        """Per node of those that became open leaves together, the candidates by value, in the order of attributes."""
        found: list[list[Candidate]] = [[] for _ in nodes]
        for attribute in range(len(self.asked)) if nodes else ():
            for place, one in self._scored(nodes, attribute, 0):
                found[place].append(one)
        return found

    def again(self, node: int, attribute: int, level: int) -> Candidate | None:
        """The candidate as it is now; None if it says nothing of the class."""
        return next((one for _, one in self._scored([node], attribute, level)), None)

    def with_rest(self, one: Candidate) -> Candidate | None:
        """A split by value that would make too small a part, with fewer values named; None if that says nothing.

        A value that too few people of a span have joins the rest, and so does, as long as the rest itself is too small,
        the named value that the fewest people have.
        """
        named = self._nameable(one)
        if not named:
            return None
        values = self.asked[one.attribute].coded.size
        entries = self.spans.of_nodes([one.node], one.attribute)
        branch = _branch_of_value(named, values)[entries.code]
        counts = grouped(branch, self.demands.rows(entries.counts))[1]
        here = np.zeros(len(counts), dtype=np.int64)
        found = self._by_branch([one.node], one.attribute, 0, here, counts, named)
        return found[0][1] if found else None

    def _nameable(self, one: Candidate) -> tuple[int, ...]:
        """The values that can keep a branch of their own, so that every part of every span is large enough."""
        people = self.spans.of_spans(one.node, one.attribute)
        values = self.asked[one.attribute].coded.size
        held = np.bincount(people.code, weights=self.demands.people(people.counts).sum(axis=-1), minlength=values)
        there = np.unique(self.spans.of_nodes([one.node], one.attribute).code).tolist()
        named = list(there if one.named is None else one.named)
        while named:
            branch = _branch_of_value(named, values)[people.code]
            _, parts, counts = by_branch(people.place, branch, len(named), people.counts)
            wrong = set(parts[~self.demands.hold(counts)].tolist())
            if not wrong:
                break
            small = {named[place] for place in wrong if place < len(named)}
            small = small or {min(named, key=lambda value: (held[value], value))}
            named = [value for value in named if value not in small]
        return tuple(named)

    def forget(self) -> None:
        """Spans were parted: most of what was found out about the old ones is of no use."""
        self._possible.clear()

    def _scored(self, nodes: Sequence[int], attribute: int, level: int) -> list[tuple[int, Candidate]]:
        entries = self.spans.of_nodes(nodes, attribute)
        if self.asked[attribute].levels:
            return self._by_value(nodes, attribute, level, entries)
        return self._by_cut(nodes, attribute, entries)

    # -- categorical -------------------------------------------------------------------------------

    def _by_value(
        self, nodes: Sequence[int], attribute: int, level: int, entries: Entries
    ) -> list[tuple[int, Candidate]]:
        counts, place = self.demands.rows(entries.counts), entries.place
        one = self.asked[attribute].levels[level]
        if level > 0 or one.rare is not None:
            width = int(one.group.max(initial=0)) + 1
            key, counts = grouped(place * width + one.group[entries.code], counts)
            place = key // width
        return self._by_branch(nodes, attribute, level, place, counts)

    def _by_branch(
        self,
        nodes: Sequence[int],
        attribute: int,
        level: int,
        place: Ints,
        counts: Ints,
        named: tuple[int, ...] | None = None,
    ) -> list[tuple[int, Candidate]]:
        """Candidates whose branches have these class counts, rising by the place of the node."""
        sizes = counts.sum(axis=1)
        bounds = np.searchsorted(place, np.arange(len(nodes) + 1))
        large = np.bincount(place[sizes >= self.form.min_leaf], minlength=len(nodes))
        here = np.flatnonzero(large >= 2)
        if not len(here):
            return []
        rows = np.add.reduceat(sizes, bounds[:-1])
        totals = np.add.reduceat(counts, bounds[:-1], axis=0)
        gains = (entropy(totals[here]) - _totals(entropy(counts), bounds, here)) / rows[here]
        here, gains = here[gains > TIE], gains[gains > TIE]
        information = np.ones(len(here))
        if self.form.by_ratio:
            information = (times_log(rows[here]) - _totals(times_log(sizes), bounds, here)) / rows[here]
        return [
            (
                at,
                self._candidate(
                    nodes[at], attribute, level, gain, told, counts[bounds[at] : bounds[at + 1]], named=named
                ),
            )
            for at, gain, told in zip(here.tolist(), gains.tolist(), information.tolist(), strict=True)
        ]

    # -- ordered -----------------------------------------------------------------------------------

    def _by_cut(self, nodes: Sequence[int], attribute: int, entries: Entries) -> list[tuple[int, Candidate]]:
        """The best cut among those that leave every part of every span large enough; of equal ones the lowest.

        A public attribute is cut between neighbouring values of everybody who may be in the node, not only of
        those who are: the threshold parts them all.
        """
        gaps = self.asked[attribute].coded.gaps
        cuts, _, whole = _all_cuts(entries, entries.ends(len(nodes)))
        own = cuts
        cuts = self._allowed(nodes, attribute, cuts) if self.asked[attribute].public else cuts.only(gaps[cuts.below])
        low, high = self.demands.rows(cuts.low), self.demands.rows(cuts.high)
        least = self.form.min_leaf
        large = (low.sum(axis=1) >= least) & (high.sum(axis=1) >= least)
        cuts, low, high = cuts.only(large), low[large], high[large]
        if not len(cuts.place):
            return []
        whole = self.demands.rows(whole)
        rows = whole.sum(axis=1)
        gains = np.round((entropy(whole)[cuts.place] - entropy(low) - entropy(high)) / rows[cuts.place], _DIGITS)
        best = _first_greatest(cuts.place, gains)
        halves = np.stack([low[best], high[best]], axis=1)
        information = split_information(halves.sum(axis=2)) if self.form.by_ratio else np.ones(len(best))
        tried = np.bincount(own.place[gaps[own.below]], minlength=len(nodes)) if self.form.mdl else None
        found = []
        for at, counts, told in zip(best.tolist(), halves, information.tolist(), strict=True):
            node, gain = int(cuts.place[at]), float(gains[at])
            if tried is not None:
                gain -= log2(max(int(tried[node]), 1)) / int(rows[node])
            if gain > TIE:
                sides = int(cuts.below[at]), int(cuts.above[at])
                found.append((node, self._candidate(nodes[node], attribute, 0, gain, told, counts, *sides)))
        return found

    def _allowed(self, nodes: Sequence[int], attribute: int, cuts: _Cuts) -> _Cuts:
        """Of the cuts of a public attribute those that may be.

        The rows of a node that shares its spans say where a cut makes a difference; it is made at the first place
        from there on that is possible for everybody who may be in the node.
        """
        size, gaps = self.asked[attribute].coded.size, self.asked[attribute].coded.gaps
        alone = np.fromiter((self.spans.is_alone(node) for node in nodes), bool, len(nodes))[cuts.place]
        fine = alone & gaps[cuts.below]
        sure = np.flatnonzero(fine)
        fine[sure] = self.demands.hold(cuts.low[sure]) & self.demands.hold(cuts.high[sure])
        if alone.all():
            return cuts.only(fine)
        number, codes, following = self._shared(nodes, attribute, size)
        rest = np.flatnonzero(~alone)
        shift = number[cuts.place[rest]] * size
        at = np.searchsorted(codes, cuts.below[rest] + shift)
        inside = at < len(codes)
        rest, at, shift = rest[inside], at[inside], shift[inside]
        before = codes[at] - shift < cuts.above[rest]
        rest, at, shift = rest[before], at[before], shift[before]
        fine[rest] = True
        below, above = cuts.below.copy(), cuts.above.copy()
        below[rest], above[rest] = codes[at] - shift, following[at]
        return _Cuts(cuts.place, below, above, cuts.low, cuts.high).only(fine)

    def _shared(self, nodes: Sequence[int], attribute: int, size: int) -> tuple[Ints, Ints, Ints]:
        """Nodes numbered by their spans; all possible cuts, as number * size + code, and the next code of each."""
        numbers: dict[tuple[int, ...], int] = {}
        codes, following = [], []
        of_node = np.zeros(len(nodes), dtype=np.int64)
        for place, node in enumerate(nodes):
            if self.spans.is_alone(node):
                continue
            key = tuple(self.spans.of[node])
            if key not in numbers:
                numbers[key] = len(numbers)
                below, above = self._possible_cuts(node, attribute)
                codes.append(below + numbers[key] * size)
                following.append(above)
            of_node[place] = numbers[key]
        return of_node, np.concatenate(codes), np.concatenate(following)

    def _possible_cuts(self, node: int, attribute: int) -> tuple[Ints, Ints]:
        """The codes after which a node may be cut for all that its spans allow, and the next code of each."""
        key = (attribute, tuple(self.spans.of[node]))
        if key not in self._possible:
            sums, places = self.spans.sums_of_spans(node, attribute)
            at = sums.at(places)
            codes, rank = _ranked(sums.entries.code[at], self.asked[attribute].coded.size)
            # a cut that is wrong for a span stays so up to the span's next code
            wrong = np.flatnonzero(self._wrong_cuts(attribute, sums)[at])
            number = len(codes)
            changes = np.bincount(rank[wrong], minlength=number) - np.bincount(rank[wrong + 1], minlength=number)
            possible = (np.cumsum(changes) == 0) & self.asked[attribute].coded.gaps[codes]
            possible[-1:] = False
            chosen = np.flatnonzero(possible)
            self._possible[key] = codes[chosen], codes[chosen + 1]
        return self._possible[key]

    def _wrong_cuts(self, attribute: int, sums: Sums) -> Flags:
        """Per entry of all spans, whether a cut after its code would make a side of its span that may not be."""
        known = self._wrong.get(attribute)
        if known is None or known[0] is not sums:
            ends = sums.starts[1:] - 1
            cuts, at = _all_cuts(sums.entries, ends)[:2]
            wrong = np.zeros(len(sums.entries.code), dtype=bool)
            wrong[at] = ~(self.demands.hold(cuts.low) & self.demands.hold(cuts.high))
            known = self._wrong[attribute] = sums, wrong
        return known[1]

    def _candidate(
        self,
        node: int,
        attribute: int,
        level: int,
        gain: float,
        information: float,
        counts: Ints,
        cut: int | None = None,
        above: int | None = None,
        named: tuple[int, ...] | None = None,
    ) -> Candidate:
        score = gain / information
        if self.form.weight_gain:
            score *= int(counts.sum()) / int(self.spans.table.whole.sum())
        return Candidate(node, attribute, level, gain, round(score, _DIGITS), counts, cut, above, named)


def _branch_of_value(named: Sequence[int], values: int) -> Ints:
    branch = np.full(values, len(named))
    branch[list(named)] = np.arange(len(named))
    return branch


def _all_cuts(entries: Entries, ends: Ints) -> tuple[_Cuts, Ints, Ints]:
    """A cut after every entry of a place but its last; where these entries are; and the histograms of the places."""
    running = np.cumsum(entries.counts, axis=0)
    before = np.concatenate([np.zeros_like(running[:1]), running[ends[:-1]]])
    whole = running[ends] - before
    inner = np.ones(len(entries.place), dtype=bool)
    inner[ends] = False
    at = np.flatnonzero(inner)
    place = entries.place[at]
    low = running[at] - before[place]
    return _Cuts(place, entries.code[at], entries.code[at + 1], low, whole[place] - low), at, whole


def _ranked(codes: Ints, size: int) -> tuple[Ints, Ints]:
    """The codes that there are, rising, and of each which of them it is."""
    if len(codes) * 8 < size:
        found, rank = np.unique(codes, return_inverse=True)
        return found, rank
    there = np.zeros(size, dtype=bool)
    there[codes] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[codes]


def _first_greatest(place: Ints, score: Floats) -> Ints:
    """Of rising places, where the first of the greatest scores of each is.

    >>> _first_greatest(np.array([0, 0, 0, 4, 4]), np.array([1.0, 3.0, 3.0, 2.0, 0.0])).tolist()
    [1, 3]
    """
    starts = np.flatnonzero(np.diff(place, prepend=-1))
    number = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(place)))
    greatest = np.flatnonzero(score == np.maximum.reduceat(score, starts)[number])
    return greatest[np.flatnonzero(np.diff(number[greatest], prepend=-1))]


def _totals(values: Floats, bounds: Ints, places: Ints) -> Floats:
    """The values of some places added up.

    Places of equal length together: a sum is that of its values alone to the last bit, whatever else is looked at.
    """
    lengths = bounds[places + 1] - bounds[places]
    found = np.empty(len(places))
    for length in np.unique(lengths):
        these = np.flatnonzero(lengths == length)
        found[these] = values[bounds[places[these]][:, np.newaxis] + np.arange(length)].sum(axis=1)
    return found
