"""How well a partition predicts the class: trees of its parts, learned and combined on a coded copy in memory.

A search tries thousands of partitions, each with trees for every fold and part.  In the database one such tree takes
half a second, so the search works on codes in numpy: at most 200,000 rows, a seeded sample of the cells beyond that.
A part is learned once for all folds from the combinations of its values, and every partition it is in uses the same
figures.  Whether a partition may leave is measured on all rows, never on this copy.

A tree is one of C4.5's kind on categories: the split with the best gain ratio among those of at least average gain, a
branch for every value, Laplace in the leaves.  It is not pruned: pruning joins leaves that name the same class, and the
product of the parts needs how likely each class is.  Parts are combined by the product of their class
probabilities over P(class)^(parts - 1); of equal scores the more frequent class wins, then the first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.cells.cells import Ints
from ppdm_sql.methods.dmpd.counting import DmpdCells, dense
from ppdm_sql.methods.shared.columns import cell_axis
from ppdm_sql.methods.shared.discretize import cut_codes

Reals = NDArray[np.float64]
Scores = NDArray[np.float32]  # (class, row): the classes from the most frequent on
MOST_ROWS = 200_000
MOST_CATEGORIES = 16  # of a number before it is cut into intervals for the trees
_KEPT_BYTES = 400 << 20
_LEAST_BRANCH = 2
TWO = 2


@dataclass(frozen=True, repr=False)
class CodedRows:
    """Distinct rows of codes with their weights, classes and folds."""

    names: tuple[str, ...]
    codes: NDArray[np.int32]  # (row, column)
    classes: Ints
    class_count: int
    fold: Ints
    folds: int
    weights: Ints

    @property
    def total(self) -> int:
        return int(self.weights.sum())


def code_rows(table: DmpdCells, names: Sequence[str], folds: int, seed: int) -> CodedRows:
    """The cells as rows of codes, in random folds; rows of one cell and fold are one."""
    draw = np.random.default_rng(seed)
    rows = table.cells.rows
    if table.rows > MOST_ROWS:
        rows = draw.multivariate_hypergeometric(rows, MOST_ROWS, method="marginals")
    shares = draw.multinomial(rows, [1 / folds] * folds)
    cell, fold = np.nonzero(shares)
    codes = np.column_stack([tree_categories(table, name)[table.codes[name][cell]] for name in names]).astype(np.int32)
    return CodedRows(
        tuple(names), codes, table.class_codes[cell], table.classes, fold.astype(np.int64), folds, shares[cell, fold]
    )


def tree_categories(table: DmpdCells, name: str) -> Ints:
    """The category of every code of a column: numbers with many values as intervals that tell the classes apart."""
    size, column = table.sizes[name], table.cells[name]
    same = np.arange(max(size, 1))
    if size <= MOST_CATEGORIES or size != column.size:
        return same
    axis = cell_axis(table.cells, name)
    if axis.line is None:
        return same
    counts = table.count_rows(table.codes[name] * table.classes + table.class_codes, size * table.classes)
    counts = counts.reshape(size, table.classes)[: axis.ordinary]
    cuts = np.array(cut_codes(counts, counts.sum(axis=1), 1), dtype=np.int64)
    place = np.searchsorted(cuts, np.arange(axis.ordinary), side="right")
    return np.concatenate([place, len(cuts) + 1 + np.arange(size - axis.ordinary)])


# -- trees ---------------------------------------------------------------------------------------------------


def tree_probabilities(values: NDArray[np.int32], counts: Ints | Reals) -> Reals:
    """Per combination of values the class probabilities of its leaf, of a tree learned from (combination, class).

    Counts of (fold, combination, class) make a tree for every fold, all of them grown at once.
    """
    folds = 1 if counts.ndim == 2 else len(counts)
    root = np.repeat(np.arange(folds), len(values))
    flat = counts.reshape(-1, counts.shape[-1]).astype(np.float64)
    return _Trees(np.tile(values, (folds, 1)), flat, root).probabilities().reshape(counts.shape)


@dataclass
class _Trees:
    """Grown level by level, all nodes at once, from the combinations of values and their counts per class."""

    values: NDArray[np.int32]
    counts: Reals
    root: Ints  # the tree of every combination

    def probabilities(self) -> Reals:
        levels = self._grow()
        sums = np.concatenate([_sums(one, self.counts, int(one.max(initial=0)) + 1) for one in levels])
        leaf = sums[self._leaves(levels, sums)]
        found: Reals = (leaf + 1) / (leaf.sum(axis=1, keepdims=True) + leaf.shape[1])
        return found

    def _grow(self) -> list[Ints]:
        """The node of every combination after each level."""
        levels = [self.root]
        trees = int(self.root.max(initial=0)) + 1
        used = np.zeros((trees, self.values.shape[1]), dtype=bool)
        opened = np.ones(trees, dtype=bool)
        while opened.any() and len(levels) <= self.values.shape[1]:
            node = levels[-1]
            best = self._best_splits(node, used, opened)
            if not (best >= 0).any():
                break
            node, used, opened = self._send(node, best, used)
            levels.append(node)
        return levels

    def _best_splits(self, node: Ints, used: NDArray[np.bool_], opened: NDArray[np.bool_]) -> Ints:
        """Per node the attribute with the best gain ratio among those of average gain or more, or -1."""
        nodes = len(used)
        live = np.flatnonzero(opened[node] & self.counts.any(axis=1))
        here, counts = node[live], self.counts[live]
        whole = _sums(here, counts, nodes)
        before, total = _entropy(whole), whole.sum(axis=1)
        rows = np.maximum(total, 1e-9)
        gains = np.full((nodes, self.values.shape[1]), -1.0)
        ratios = gains.copy()
        for place in range(self.values.shape[1]):
            value = self.values[live, place]
            size = int(value.max(initial=0)) + 1
            branch, branches = dense(here * size + value, nodes * size)
            parts = _sums(branch, counts, branches)
            node_of = np.zeros(branches, dtype=np.int64)
            node_of[branch] = here
            sizes = parts.sum(axis=1)
            gain = (before - np.bincount(node_of, _entropy(parts), nodes)) / rows
            info = (_times_log(total) - np.bincount(node_of, _times_log(sizes), nodes)) / rows
            wide = np.bincount(node_of, sizes >= _LEAST_BRANCH, nodes) >= _LEAST_BRANCH
            fits = opened & ~used[:, place] & wide & (gain > 1e-9)
            gains[fits, place] = gain[fits]
            ratios[fits, place] = gain[fits] / np.maximum(info[fits], 1e-9)
        many = (gains > 0).sum(axis=1)
        average = np.where(many > 0, np.where(gains > 0, gains, 0).sum(axis=1) / np.maximum(many, 1), np.inf)
        ratios[gains < average[:, None] - 1e-12] = -1.0
        return np.where(ratios.max(axis=1) > 0, ratios.argmax(axis=1), -1)

    def _send(
        self, node: Ints, best: Ints, used: NDArray[np.bool_]
    ) -> tuple[Ints, NDArray[np.bool_], NDArray[np.bool_]]:
        """Combinations into the branches of their nodes; a node without a split stays one."""
        split = best[node]
        value = np.where(split >= 0, self.values[np.arange(len(node)), np.maximum(split, 0)], 0)
        size = int(self.values.max(initial=0)) + 1
        number, nodes = dense(node * size + value, len(used) * size)
        before = np.zeros(nodes, dtype=np.int64)
        before[number] = node
        used = used[before]
        attribute = best[before]
        used[np.flatnonzero(attribute >= 0), attribute[attribute >= 0]] = True
        sums = _sums(number, self.counts, nodes)
        opened = (attribute >= 0) & ((sums > 0).sum(axis=1) > 1) & (sums.sum(axis=1) >= 2 * _LEAST_BRANCH)
        return number, used, opened

    def _leaves(self, levels: Sequence[Ints], sums: Reals) -> Ints:
        """Per combination the last node on its way with enough rows: nothing was learned of an empty branch."""
        first = np.cumsum([0, *(int(one.max(initial=0)) + 1 for one in levels)])
        enough = sums.sum(axis=1) >= _LEAST_BRANCH
        node = first[0] + levels[0]
        for place in range(1, len(levels)):
            step = first[place] + levels[place]
            node = np.where(enough[step], step, node)
        found: Ints = node
        return found


def _sums(key: Ints, counts: Reals, size: int) -> Reals:
    return np.column_stack([np.bincount(key, counts[:, one], size) for one in range(counts.shape[1])])


def _times_log(number: Reals) -> Reals:
    found: Reals = number * np.log(np.maximum(number, 1))  # counts are whole numbers
    return found


def _entropy(counts: Reals) -> Reals:
    """Sum of n * log(total / n) over the last axis."""
    found: Reals = _times_log(counts.sum(axis=-1)) - _times_log(counts).sum(axis=-1)
    return found


# -- partitions ----------------------------------------------------------------------------------------------


class Wrapper:
    """The accuracy of partitions by cross-validation on fixed folds; the figures of a part are kept."""

    def __init__(self, rows: CodedRows, *, grows: bool = True) -> None:
        self.rows, self._grows = rows, grows
        self._scores: OrderedDict[tuple[int, ...], Scores] = OrderedDict()
        self._most = max(16, _KEPT_BYTES // max(len(rows.classes) * rows.class_count * 4, 1))
        self._known: dict[tuple[tuple[int, ...], ...], float] = {}
        self._order = class_order(rows)
        self._rank = np.argsort(self._order)[rows.classes]
        self._priors = self._log_priors()
        self.trained = 0  # parts that were learned
        self.tried = 0  # partitions that were looked at

    def accuracy(self, partition: Sequence[Sequence[int]]) -> float:
        """The share of rows whose class is found; parts are places of columns."""
        parts = partition if self._grows else [[place] for part in partition for place in part]
        about = tuple(sorted(tuple(sorted(part)) for part in parts))
        if about not in self._known:
            self.tried += 1
            self._known[about] = self._accuracy(about)
        return self._known[about]

    def _accuracy(self, partition: Sequence[tuple[int, ...]]) -> float:
        total = (1 - len(partition)) * self._priors
        for part in partition:
            total += self._part_scores(part)
        right = best_class(total) == self._rank
        return float(self.rows.weights[right].sum() / max(self.rows.total, 1))

    def _log_priors(self) -> Scores:
        """(class, row): the logarithms of the shares of the classes outside of the row's fold."""
        rows = self.rows
        sums = np.bincount(rows.fold * rows.class_count + rows.classes, rows.weights, rows.folds * rows.class_count)
        counts = sums.reshape(rows.folds, rows.class_count)
        rest = counts.sum(axis=0) - counts
        shares = np.log((rest + 1) / (rest.sum(axis=1, keepdims=True) + rows.class_count))
        return _as_scores(shares[rows.fold], self._order)

    def _part_scores(self, part: tuple[int, ...]) -> Scores:
        if part in self._scores:
            self._scores.move_to_end(part)
            return self._scores[part]
        found = self._learn(part)
        self._scores[part] = found
        while len(self._scores) > self._most:
            self._scores.popitem(last=False)
        return found

    def _learn(self, part: tuple[int, ...]) -> Scores:
        """(class, row): the logarithms of the class probabilities, of the tree that the row's fold has no part in."""
        self.trained += 1
        rows = self.rows
        values, number = unique_rows(rows.codes[:, list(part)])
        size, classes = len(values), rows.class_count
        key = (rows.fold * size + number) * classes + rows.classes
        counts = np.bincount(key, rows.weights, rows.folds * size * classes).reshape(rows.folds, size, classes)
        rest = counts.sum(axis=0)[None] - counts
        learned = np.log(part_probabilities(values, rest, grows=self._grows))
        return _as_scores(learned[rows.fold, number], self._order)


def class_order(rows: CodedRows) -> Ints:
    """The classes from the most frequent on: of equal scores the first one wins."""
    return np.argsort(-np.bincount(rows.classes, rows.weights, rows.class_count), kind="stable")


def best_class(scores: Scores) -> Ints:
    """Per row the place of the greatest score, the first of equal ones."""
    if len(scores) == TWO:  # several times as fast
        second: Ints = (scores[1] > scores[0]).astype(np.int64)
        return second
    found: Ints = scores.argmax(axis=0)
    return found


def _as_scores(logarithms: Reals, order: Ints) -> Scores:
    return np.ascontiguousarray(logarithms[:, order].T, dtype=np.float32)


def part_probabilities(values: NDArray[np.int32], counts: Ints | Reals, *, grows: bool) -> Reals:
    """Of trees; or, for naive Bayes, of the combinations themselves."""
    if grows:
        return tree_probabilities(values, counts)
    found: Reals = (counts + 1) / (counts.sum(axis=-1, keepdims=True) + counts.shape[-1])
    return found


def unique_rows(codes: NDArray[np.int32]) -> tuple[NDArray[np.int32], Ints]:
    """The distinct rows of a table of codes, and which one each row is."""
    number, size = np.zeros(len(codes), dtype=np.int64), 1
    for column in codes.T:
        values = int(column.max(initial=0)) + 1
        number, size = dense(number * values + column, size * values)
    first = np.zeros(size, dtype=np.int64)
    first[number[::-1]] = np.arange(len(codes))[::-1]
    return codes[first], number


def held_out_accuracy(train: CodedRows, test: CodedRows, partition: Sequence[Sequence[int]], *, grows: bool) -> float:
    """Learned from some rows, asked of others: the same trees and the same combination."""
    classes, order = train.class_count, class_order(train)
    sums = np.bincount(train.classes, train.weights, classes)
    priors = np.log((sums + 1) / (sums.sum() + classes))
    total = np.tile((1 - len(partition)) * priors, (len(test.classes), 1))
    for part in partition:
        both = np.concatenate([train.codes[:, list(part)], test.codes[:, list(part)]])
        values, number = unique_rows(both)
        here, there = number[: len(train.classes)], number[len(train.classes) :]
        counts = np.bincount(here * classes + train.classes, train.weights, len(values) * classes)
        learned = part_probabilities(values, counts.reshape(len(values), classes), grows=grows)
        total = total + np.log(learned)[there]
    right = order[best_class(_as_scores(total, order))] == test.classes
    return float(test.weights[right].sum() / max(test.total, 1))
