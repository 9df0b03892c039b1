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
from ppdm_sql.methods.dmpd.counting import DmpdCells
from ppdm_sql.methods.shared.columns import cell_axis
from ppdm_sql.methods.shared.discretize import cut_codes

Reals = NDArray[np.float64]
MOST_ROWS = 200_000
MOST_CATEGORIES = 16  # of a number before it is cut into intervals for the trees
_KEPT_BYTES = 400 << 20
_LEAST_BRANCH = 2


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
    """Per combination of values the class probabilities of its leaf, of a tree learned from (combination, class)."""
    return _Tree(values, counts.astype(np.float64)).probabilities()


@dataclass
class _Tree:
    """Grown level by level, all nodes at once, from the combinations of values and their counts per class."""

    values: NDArray[np.int32]
    counts: Reals

    def probabilities(self) -> Reals:
        levels = self._grow()
        sums = self._node_counts(levels)
        node = self._leaves(levels, sums)
        leaf = sums[node]
        found: Reals = (leaf + 1) / (leaf.sum(axis=1, keepdims=True) + leaf.shape[1])
        return found

    def _grow(self) -> list[Ints]:
        """The node of every combination after each level."""
        levels = [np.zeros(len(self.values), dtype=np.int64)]
        used = np.zeros((1, self.values.shape[1]), dtype=bool)
        opened = np.array([True])
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
        whole = self._sums(node, nodes)
        before = _entropy(whole)
        total = np.maximum(whole.sum(axis=1), 1e-9)
        gains = np.full((nodes, self.values.shape[1]), -1.0)
        ratios = gains.copy()
        for place in range(self.values.shape[1]):
            size = int(self.values[:, place].max(initial=0)) + 1
            parts = self._sums(node * size + self.values[:, place], nodes * size).reshape(nodes, size, -1)
            sizes = parts.sum(axis=2)
            gain = (before - _entropy(parts).sum(axis=1)) / total
            info = _entropy(sizes) / total
            fits = opened & ~used[:, place] & ((sizes >= _LEAST_BRANCH).sum(axis=1) >= _LEAST_BRANCH) & (gain > 1e-9)
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
        key = node * (int(self.values.max(initial=0)) + 1) + value
        keys, first, number = np.unique(key, return_index=True, return_inverse=True)
        before = node[first]
        used = used[before].copy()
        attribute = best[before]
        used[np.flatnonzero(attribute >= 0), attribute[attribute >= 0]] = True
        sums = self._sums(number, len(keys))
        opened = (attribute >= 0) & ((sums > 0).sum(axis=1) > 1) & (sums.sum(axis=1) >= 2 * _LEAST_BRANCH)
        return number, used, opened

    def _sums(self, key: Ints, size: int) -> Reals:
        return np.column_stack(
            [np.bincount(key, weights=self.counts[:, one], minlength=size) for one in range(self.counts.shape[1])]
        )

    def _node_counts(self, levels: Sequence[Ints]) -> Reals:
        """The class counts of all nodes, level after level."""
        return np.concatenate([self._sums(one, int(one.max(initial=0)) + 1) for one in levels])

    def _leaves(self, levels: Sequence[Ints], sums: Reals) -> Ints:
        """Per combination the last node on its way with enough rows: nothing was learned of an empty branch."""
        first = np.cumsum([0, *(int(one.max(initial=0)) + 1 for one in levels)])
        node = first[0] + levels[0]
        for place in range(1, len(levels)):
            step = first[place] + levels[place]
            node = np.where(sums[step].sum(axis=1) >= _LEAST_BRANCH, step, node)
        found: Ints = node
        return found


def _entropy(counts: Reals) -> Reals:
    """Sum of n * log(total / n) over the last axis."""
    total = counts.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = np.where(counts > 0, counts * np.log(np.where(counts > 0, counts, 1)), 0).sum(axis=-1)
        found: Reals = np.where(total > 0, total * np.log(np.where(total > 0, total, 1)), 0) - inner
        return found


# -- partitions ----------------------------------------------------------------------------------------------


class Wrapper:
    """The accuracy of partitions by cross-validation on fixed folds; the figures of a part are kept."""

    def __init__(self, rows: CodedRows, *, grows: bool = True) -> None:
        self.rows, self._grows = rows, grows
        self._scores: OrderedDict[tuple[int, ...], NDArray[np.float32]] = OrderedDict()
        self._most = max(16, _KEPT_BYTES // max(len(rows.classes) * rows.class_count * 4, 1))
        self._known: dict[tuple[tuple[int, ...], ...], float] = {}
        self._priors = self._log_priors()
        self.trained = 0  # parts that were learned
        self.tried = 0  # partitions that were looked at

    def accuracy(self, partition: Sequence[Sequence[int]]) -> float:
        """The share of rows whose class is found; parts are places of columns."""
        about = tuple(sorted(tuple(sorted(part)) for part in partition))
        if about not in self._known:
            self.tried += 1
            self._known[about] = self._accuracy(about)
        return self._known[about]

    def _accuracy(self, partition: Sequence[tuple[int, ...]]) -> float:
        rows = self.rows
        total = (1 - len(partition)) * self._priors[rows.fold]
        for part in partition:
            total = total + self._part_scores(part)
        order = np.argsort(-np.bincount(rows.classes, rows.weights, rows.class_count), kind="stable")
        found = order[np.argmax(total[:, order], axis=1)]
        return float(rows.weights[found == rows.classes].sum() / max(rows.total, 1))

    def _log_priors(self) -> Reals:
        rows = self.rows
        sums = np.bincount(rows.fold * rows.class_count + rows.classes, rows.weights, rows.folds * rows.class_count)
        counts = sums.reshape(rows.folds, rows.class_count)
        rest = counts.sum(axis=0) - counts
        found: Reals = np.log((rest + 1) / (rest.sum(axis=1, keepdims=True) + rows.class_count))
        return found

    def _part_scores(self, part: tuple[int, ...]) -> NDArray[np.float32]:
        if part in self._scores:
            self._scores.move_to_end(part)
            return self._scores[part]
        found = self._learn(part)
        self._scores[part] = found
        while len(self._scores) > self._most:
            self._scores.popitem(last=False)
        return found

    def _learn(self, part: tuple[int, ...]) -> NDArray[np.float32]:
        """Per row the logarithms of the class probabilities, of the tree that its fold has no part in."""
        self.trained += 1
        rows = self.rows
        values, number = unique_rows(rows.codes[:, list(part)])
        size, classes = len(values), rows.class_count
        key = (rows.fold * size + number) * classes + rows.classes
        counts = np.bincount(key, rows.weights, rows.folds * size * classes).reshape(rows.folds, size, classes)
        rest = counts.sum(axis=0)[None] - counts
        learned = [part_probabilities(values, one, grows=self._grows) for one in rest]
        return np.log(np.stack(learned))[rows.fold, number].astype(np.float32)


def part_probabilities(values: NDArray[np.int32], counts: Reals, *, grows: bool) -> Reals:
    """Of a tree; or, for naive Bayes, of the combinations themselves."""
    if grows:
        return tree_probabilities(values, counts)
    found: Reals = (counts + 1) / (counts.sum(axis=1, keepdims=True) + counts.shape[1])
    return found


def unique_rows(codes: NDArray[np.int32]) -> tuple[NDArray[np.int32], Ints]:
    """The distinct rows of a table of codes, and which one each row is."""
    number = np.zeros(len(codes), dtype=np.int64)
    for column in codes.T:
        number = np.unique(number * (int(column.max(initial=0)) + 1) + column, return_inverse=True)[1]
    _, first = np.unique(number, return_index=True)
    return codes[first], number


def held_out_accuracy(train: CodedRows, test: CodedRows, partition: Sequence[Sequence[int]], *, grows: bool) -> float:
    """Learned from some rows, asked of others: the same trees and the same combination."""
    classes = train.class_count
    sums = np.bincount(train.classes, train.weights, classes)
    priors = np.log((sums + 1) / (sums.sum() + classes))
    total = np.tile((1 - len(partition)) * priors, (len(test.classes), 1))
    for part in partition:
        both = np.concatenate([train.codes[:, list(part)], test.codes[:, list(part)]])
        values, number = unique_rows(both)
        here, there = number[: len(train.classes)], number[len(train.classes) :]
        counts = np.bincount(here * classes + train.classes, train.weights, len(values) * classes)
        counts = counts.reshape(len(values), classes)
        learned = (
            tree_probabilities(values, counts)
            if grows
            else (counts + 1) / (counts.sum(axis=1, keepdims=True) + classes)
        )
        total = total + np.log(learned)[there]
    order = np.argsort(-sums, kind="stable")
    found = order[np.argmax(total[:, order], axis=1)]
    return float(test.weights[found == test.classes].sum() / max(test.total, 1))
