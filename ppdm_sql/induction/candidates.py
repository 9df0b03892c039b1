"""The best split of every open node along one attribute, for all nodes at once.

docs/methods/trees.md is the rule book.  Counts come as a Tally (cells sorted by node and code); sums up to a
cell are running sums, so that every cut of every node costs a few array operations together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

import numpy as np

from ppdm_sql.induction.coded_attribute import SplitAttribute
from ppdm_sql.induction.counts import Tally
from ppdm_sql.induction.criteria import Flags, Floats, Impurity, Ints, split_information

_ALL_SUBSETS = 10  # values up to which every subset is looked at when there are more than two classes
NONE = -np.inf


class Veto(Protocol):
    """Which splits a privacy method forbids.  Nodes are named by the number growth gave them."""

    def cuts(self, node: int, attribute: int, codes: Ints, low: Ints, high: Ints) -> Flags:
        """Per cut (after a code) whether it may be; low and high are the histograms of its two sides."""

    def groups(self, node: int, attribute: int, groups: list[Ints], counts: Ints) -> bool:
        """Whether a split into these groups of codes may be; counts holds one histogram per group."""


@dataclass(frozen=True)
class Rules:
    """What makes a candidate, and what it is worth."""

    impurity: Impurity
    rows: Callable[[Ints], Ints]  # rows of a histogram
    tolerance: Callable[[Ints], Floats]  # scores this near are equal; from the node's histogram
    min_leaf: int
    least_of_cut: Callable[[Ints], Ints]  # rows each side of a cut needs, from the rows of the node
    subsets: bool  # categorical attributes in two branches rather than one per value
    by_mean: bool  # a numeric response: subsets follow the order of the means
    correct: bool = False  # C4.5: a cut pays for having been chosen among many


@dataclass(frozen=True)
class Best:
    """Per node the best split along one attribute; gain is NONE where there is none."""

    gain: Floats  # total over the node's rows, less C4.5's correction
    information: Floats  # split information, for ratios
    winner: Callable[[int], Found]  # the split itself, made when it is chosen


@dataclass(frozen=True)
class Found:
    """A split in codes.  A cut goes after code `cut`, before code `above`, the next one that the node has."""

    attribute: int
    gain: float
    counts: Ints  # (branch, class)
    cut: int | None = None
    above: int | None = None
    null_branch: int | None = None
    groups: tuple[Ints, ...] = ()


@dataclass(frozen=True)
class Nodes:
    """The open nodes that are looked at: their numbers in the tree and their histograms."""

    number: Ints
    totals: Ints  # (node, class)


def best_splits(
    attribute: int, coded: SplitAttribute, tally: Tally, nodes: Nodes, rules: Rules, veto: Veto | None
) -> Best:
    """tally.slot counts nodes 0, 1, ... in the order of `nodes`."""
    if coded.attribute.ordered:
        return _cuts(attribute, coded, tally, nodes, rules, veto)
    if not rules.subsets:
        return _multiway(attribute, tally, nodes, rules, veto)
    if rules.by_mean or nodes.totals.shape[1] == 2:
        return _subsets_in_order(attribute, tally, nodes, rules, veto)
    return _subsets_of_classes(attribute, tally, nodes, rules, veto)


# -- running sums ----------------------------------------------------------------------------------------


def _up_to(tally: Tally, number: int) -> Ints:
    """Per cell the sum of the histograms of its node up to and with it."""
    running = np.cumsum(tally.counts, axis=0)
    starts = np.searchsorted(tally.slot, np.arange(number))
    before = np.zeros((number, tally.counts.shape[1]), dtype=np.int64)
    inside = starts > 0
    before[inside] = running[starts[inside] - 1]
    return np.asarray(running - before[tally.slot])


def first_best(segment: Ints, score: Floats, tolerance: Floats, number: int) -> Ints:
    """Per segment the first entry within the tolerance of the segment's best, or -1.

    >>> first_best(np.array([0, 0, 1]), np.array([1.0, 1.0 + 1e-12, NONE]), np.array([1e-9, 1e-9]), 2).tolist()
    [0, -1]
    """
    best = np.full(number, NONE)
    np.maximum.at(best, segment, score)
    near = np.flatnonzero((score >= best[segment] - tolerance[segment]) & (score > NONE))
    found = np.full(number, -1, dtype=np.int64)
    found[segment[near[::-1]]] = near[::-1]
    return found


# -- cuts of ordered attributes --------------------------------------------------------------------------


def _cuts(attribute: int, coded: SplitAttribute, tally: Tally, nodes: Nodes, rules: Rules, veto: Veto | None) -> Best:
    number = len(nodes.number)
    nulls = np.zeros_like(nodes.totals)
    if coded.null is not None:
        is_null = tally.code == coded.null
        nulls[tally.slot[is_null]] = tally.counts[is_null]
        tally = Tally(tally.slot[~is_null], tally.code[~is_null], tally.counts[~is_null])
    low = _up_to(tally, number)
    after = np.flatnonzero((tally.slot[1:] == tally.slot[:-1]) & coded.gaps[tally.code[:-1]])
    # NULL to the right first: of equal ones it is taken
    place, side = after, np.ones(len(after), dtype=np.int64)
    if coded.null is not None:
        extra = after[rules.rows(nulls)[tally.slot[after]] > 0]
        place = np.concatenate([after, extra])
        side = np.concatenate([side, np.zeros(len(extra), dtype=np.int64)])
        order = np.lexsort((-side, place))
        place, side = place[order], side[order]
    segment = tally.slot[place]
    lower = low[place] + np.where(side[:, None] == 0, nulls[segment], 0)
    upper = nodes.totals[segment] - lower
    gain = rules.impurity(nodes.totals)[segment] - rules.impurity(lower) - rules.impurity(upper)
    least = rules.least_of_cut(rules.rows(nodes.totals))[segment]
    fine = (rules.rows(lower) >= least) & (rules.rows(upper) >= least)
    if veto is not None:
        fine &= _allowed_cuts(veto, attribute, nodes, segment, tally.code[place], lower, upper, fine)
    score = np.where(fine, gain, NONE)
    chosen = first_best(segment, score, rules.tolerance(nodes.totals), number)
    total, information = _of_chosen(chosen, score, number), np.zeros(number)
    has = chosen >= 0
    sizes = np.stack([rules.rows(lower)[chosen[has]], rules.rows(upper)[chosen[has]]], axis=-1)
    information[has] = split_information(sizes)
    if rules.correct:
        cuts = np.bincount(tally.slot[after], minlength=number)  # all of them, also those with too few rows
        total = total - np.log2(np.maximum(cuts, 1))

    def winner(node: int) -> Found:
        at = chosen[node]
        has_null = int(rules.rows(nulls)[node]) > 0
        return Found(
            attribute,
            float(total[node]),
            np.stack([lower[at], upper[at]]),
            cut=int(tally.code[place[at]]),
            above=int(tally.code[place[at] + 1]),
            null_branch=int(side[at]) if has_null else None,
        )

    return Best(total, information, winner)


def _allowed_cuts(
    veto: Veto, attribute: int, nodes: Nodes, segment: Ints, codes: Ints, lower: Ints, upper: Ints, fine: Flags
) -> Flags:
    allowed = np.zeros(len(fine), dtype=bool)
    for node in np.unique(segment[fine]):
        here = np.flatnonzero(fine & (segment == node))
        allowed[here] = veto.cuts(int(nodes.number[node]), attribute, codes[here], lower[here], upper[here])
    return allowed


def _of_chosen(chosen: Ints, score: Floats, number: int) -> Floats:
    total = np.full(number, NONE)
    has = chosen >= 0
    total[has] = score[chosen[has]]
    return total


# -- one branch per value --------------------------------------------------------------------------------


def _multiway(attribute: int, tally: Tally, nodes: Nodes, rules: Rules, veto: Veto | None) -> Best:
    number = len(nodes.number)
    sizes = rules.rows(tally.counts)
    branches = np.bincount(tally.slot, minlength=number)
    filled = np.bincount(tally.slot, weights=sizes >= rules.min_leaf, minlength=number)
    left = np.bincount(tally.slot, weights=rules.impurity(tally.counts), minlength=number)
    rows = np.maximum(rules.rows(nodes.totals), 1)
    logs = np.bincount(tally.slot, weights=sizes * np.log2(np.maximum(sizes, 1)), minlength=number)
    information = np.log2(rows) - logs / rows
    fine = (branches >= 2) & (filled >= 2)
    starts = np.searchsorted(tally.slot, np.arange(number + 1))

    def codes_of(node: int) -> slice:
        return slice(starts[node], starts[node + 1])

    if veto is not None:
        for node in np.flatnonzero(fine):
            groups = [tally.code[place : place + 1] for place in range(starts[node], starts[node + 1])]
            fine[node] = veto.groups(int(nodes.number[node]), attribute, groups, tally.counts[codes_of(int(node))])
    gain = np.where(fine, rules.impurity(nodes.totals) - left, NONE)

    def winner(node: int) -> Found:
        codes = tally.code[codes_of(node)]
        groups = tuple(codes[place : place + 1] for place in range(len(codes)))
        return Found(attribute, float(gain[node]), tally.counts[codes_of(node)], groups=groups)

    return Best(gain, information, winner)


# -- two branches ----------------------------------------------------------------------------------------


def _subsets_in_order(attribute: int, tally: Tally, nodes: Nodes, rules: Rules, veto: Veto | None) -> Best:
    """Two classes or a numeric response: the best of all subsets is a cut of the order of shares or means."""
    number = len(nodes.number)
    rows = rules.rows(tally.counts)
    share = tally.counts[:, 1] / np.maximum(rows, 1)  # equal fractions give equal floats
    order = np.lexsort((tally.code, share, tally.slot))
    tally, share = Tally(tally.slot[order], tally.code[order], tally.counts[order]), share[order]
    low = _up_to(tally, number)
    place = np.flatnonzero((tally.slot[1:] == tally.slot[:-1]) & (share[1:] != share[:-1]))
    segment, lower = tally.slot[place], low[place]
    upper = nodes.totals[segment] - lower
    gain = rules.impurity(nodes.totals)[segment] - rules.impurity(lower) - rules.impurity(upper)
    fine = (rules.rows(lower) >= rules.min_leaf) & (rules.rows(upper) >= rules.min_leaf)
    starts = np.searchsorted(tally.slot, np.arange(number + 1))

    def sides(at: int) -> tuple[Ints, Ints]:
        """The codes of both branches, the one with the least code first."""
        node = segment[at]
        first = np.sort(tally.code[starts[node] : place[at] + 1])
        second = np.sort(tally.code[place[at] + 1 : starts[node + 1]])
        return (first, second) if first[0] < second[0] else (second, first)

    if veto is not None:
        for at in np.flatnonzero(fine):
            first, second = sides(int(at))
            counts = _in_order(tally.code[starts[segment[at]] : place[at] + 1], first, lower[at], upper[at])
            fine[at] = veto.groups(int(nodes.number[segment[at]]), attribute, [first, second], counts)
    score = np.where(fine, gain, NONE)
    chosen = _first_in_words(segment, score, rules.tolerance(nodes.totals), number, lambda at: sides(at)[0].tolist())
    total = _of_chosen(chosen, score, number)

    def winner(node: int) -> Found:
        at = int(chosen[node])
        first, second = sides(at)
        counts = _in_order(tally.code[starts[node] : place[at] + 1], first, lower[at], upper[at])
        return Found(attribute, float(total[node]), counts, groups=(first, second))

    return Best(total, np.ones(number), winner)


def _in_order(prefix: Ints, first: Ints, lower: Ints, upper: Ints) -> Ints:
    """The histograms of both branches; the prefix of the order is the first branch or the second."""
    return np.stack([lower, upper] if prefix.min() == first[0] else [upper, lower])


def _first_in_words(
    segment: Ints, score: Floats, tolerance: Floats, number: int, words: Callable[[int], list[int]]
) -> Ints:
    """Like first_best, but of equal ones the first as a list of codes: only ties are spelled out."""
    chosen = first_best(segment, score, tolerance, number)
    best = np.full(number, NONE)
    np.maximum.at(best, segment, score)
    near = (score >= best[segment] - tolerance[segment]) & (score > NONE)
    tied = np.bincount(segment[near], minlength=number)
    for node in np.flatnonzero(tied > 1):
        chosen[node] = min(np.flatnonzero(near & (segment == node)), key=lambda at: words(int(at)))
    return chosen


def _subsets_of_classes(attribute: int, tally: Tally, nodes: Nodes, rules: Rules, veto: Veto | None) -> Best:
    """More than two classes: no order holds the best subset, so the nodes are looked at one by one."""
    number = len(nodes.number)
    starts = np.searchsorted(tally.slot, np.arange(number + 1))
    found: dict[int, Found] = {}
    gains = np.full(number, NONE)
    for node in range(number):
        here = slice(starts[node], starts[node + 1])
        best = _best_subset(attribute, tally.code[here], tally.counts[here], nodes, node, rules, veto)
        if best is not None:
            found[node], gains[node] = best, best.gain
    return Best(gains, np.ones(number), found.__getitem__)


def _best_subset(
    attribute: int, codes: Ints, counts: Ints, nodes: Nodes, node: int, rules: Rules, veto: Veto | None
) -> Found | None:
    if len(codes) < 2:
        return None
    members = _all_subsets(len(codes)) if len(codes) <= _ALL_SUBSETS else _class_orders(counts)
    lower = members.astype(np.int64) @ counts
    total = nodes.totals[node]
    upper = total - lower
    gain = rules.impurity(total) - rules.impurity(lower) - rules.impurity(upper)
    fine = (rules.rows(lower) >= rules.min_leaf) & (rules.rows(upper) >= rules.min_leaf)
    if veto is not None:
        for at in np.flatnonzero(fine):
            groups = [codes[members[at]], codes[~members[at]]]
            fine[at] = veto.groups(int(nodes.number[node]), attribute, groups, np.stack([lower[at], upper[at]]))
    if not fine.any():
        return None
    score = np.where(fine, gain, NONE)
    near = np.flatnonzero(score >= score.max() - rules.tolerance(total[None])[0])
    at = min(near, key=lambda n: codes[members[n]].tolist())
    both = (codes[members[at]], codes[~members[at]])
    return Found(attribute, float(gain[at]), np.stack([lower[at], upper[at]]), groups=both)


def _all_subsets(size: int) -> Flags:
    """Every way to put values into two branches; the first value is in the first branch."""
    subsets = [(0, *others) for more in range(size - 1) for others in combinations(range(1, size), more)]
    members = np.zeros((len(subsets), size), dtype=bool)
    for row, subset in enumerate(subsets):
        members[row, list(subset)] = True
    return members


def _class_orders(counts: Ints) -> Flags:
    """The cuts of one order per class, by the share of that class; equal shares stay together."""
    size, classes = counts.shape
    rows = np.maximum(counts.sum(axis=1), 1)
    found = []
    for number in range(classes):
        share = counts[:, number] / rows
        for limit in np.unique(share)[:-1]:
            below = share <= limit
            found.append(below if below[0] else ~below)
    return np.array(found, dtype=bool).reshape(-1, size)
