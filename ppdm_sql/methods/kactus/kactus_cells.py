"""The cells of a source as kACTUS reads them: categories, kinds, the way of every cell through the tree, and its part.

A kind is a combination of target, sensitive values and weight.  Rows of one leaf and kind are alike to the method: it
says how many of them go where, and a keyed order says which (cells/apply.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ppdm_sql.cells.cells import Cells, Codes
from ppdm_sql.cells.parts import DIVIDED, Parts, Shares
from ppdm_sql.errors import PolicyError
from ppdm_sql.induction.nominal import NominalAttribute
from ppdm_sql.induction.tree_rows import ArrayRows
from ppdm_sql.methods.base import CellJob
from ppdm_sql.methods.kactus.repair import DROPPED, ROOT, RowMoves
from ppdm_sql.methods.kactus.tree_arrays import NOTHING, KactusTree
from ppdm_sql.methods.shared.columns import Axis, cell_axis
from ppdm_sql.methods.shared.discretize import Categories, categories_of
from ppdm_sql.methods.shared.labels import marker
from ppdm_sql.source.lines import Ints
from ppdm_sql.trees.tree import Attribute

_MOST_KINDS = 1 << 62


@dataclass(frozen=True)
class Walked:
    """Rows by node and kind, and what the kinds are: per column the code of each kind."""

    node: Ints
    kind: Ints  # which of `keys`
    rows: Ints
    keys: Ints  # rising; the weight is the last digit
    codes: Mapping[str, Ints]
    weights: Ints
    cell_nodes: Ints  # per cell


@dataclass(frozen=True)
class KactusTable:
    """The cells with their categories."""

    cells: Cells
    quasi: tuple[str, ...]
    target: str
    secrets: tuple[str, ...]  # the columns that are counted with the target
    axes: Mapping[str, Axis]
    categories: tuple[Categories, ...] = ()

    @cached_property
    def class_counts(self) -> Ints:
        """Rows per class of the whole table."""
        return self._summed(self._codes(self.target), self.axes[self.target].size, self.cells.rows)

    def counts(self, name: str) -> tuple[Ints, Ints]:
        """Rows per code and class of a column, and what k counts per code."""
        size, classes = max(self.axes[name].size, 1), self.axes[self.target].size
        code = self._codes(name).astype(np.int64)
        cell = code * classes + self._codes(self.target)
        counts = self._summed(cell, size * classes, self.cells.rows).reshape(size, classes)
        return counts, self._summed(code, size, self.cells.counted)

    def _codes(self, name: str) -> Codes:
        codes = self.axes[name].codes
        assert codes is not None  # an axis of cells
        return codes

    @staticmethod
    def _summed(key: Ints, size: int, amounts: Ints) -> Ints:
        return np.bincount(key, weights=amounts, minlength=size).astype(np.int64)

    # -- the tree ----------------------------------------------------------------------------------

    @cached_property
    def category_codes(self) -> list[Ints]:
        """Per quasi-identifier the category of every cell."""
        return [one.of_code[self._codes(one.axis.info.name)] for one in self.categories]

    def tree_rows(self) -> ArrayRows:
        attributes = [
            NominalAttribute(Attribute(one.axis.info.name, one.axis.info.kind, ordered=False), max(one.size, 1))
            for one in self.categories
        ]
        classes = self._codes(self.target)
        return ArrayRows(attributes, self.category_codes, classes, self.axes[self.target].size, self.cells.rows)

    # -- walking -----------------------------------------------------------------------------------

    def kind_digits(self) -> list[tuple[str, int]]:
        """The columns of a kind, and how many codes each has."""
        return [(name, max(self.axes[name].size, 1)) for name in dict.fromkeys([self.target, *self.secrets])]

    @cached_property
    def kinds(self) -> Ints:
        """Per cell its kind as one number, without the weight."""
        key = np.zeros(len(self.cells), dtype=np.int64)
        for name, size in self.kind_digits():
            key = key * size + self._codes(name)
        return key

    def walk(self, tree: KactusTree) -> Walked:
        """Sends all cells down the tree, and counts rows by node and kind."""
        nodes = self._nodes(tree)
        weights = self.cells.weights
        if weights is None:
            parts = [(nodes, self.kinds * 2 + 1, self.cells.rows)]
        else:
            parts = [(nodes, self.kinds * 2 + 1, weights), (nodes, self.kinds * 2, self.cells.rows - weights)]
        node, key, rows = (np.concatenate(each) for each in zip(*parts, strict=True))
        node, key, rows = (each[rows > 0] for each in (node, key, rows))
        keys, kind = np.unique(key, return_inverse=True)
        pair, place = np.unique(node * len(keys) + kind, return_inverse=True)
        total = self._summed(place, len(pair), rows)
        codes, left = {}, keys // 2
        for name, size in reversed(self.kind_digits()):
            codes[name], left = left % size, left // size
        return Walked(pair // len(keys), pair % len(keys), total, keys, codes, keys % 2, nodes)

    def _nodes(self, tree: KactusTree) -> Ints:
        """The last node on the way of every cell."""
        most = max((one.size for one in self.categories), default=1)
        key = tree.parent[1:] * most + tree.category[1:]
        order = np.argsort(key)
        ordered = key[order]
        node = np.full(len(self.cells), ROOT)
        going = np.arange(len(self.cells))
        for _ in range(tree.levels):
            asked = tree.question[node[going]]
            going, asked = going[asked != NOTHING], asked[asked != NOTHING]
            category = np.zeros(len(going), dtype=np.int64)
            for number in np.unique(asked).tolist():
                mine = np.flatnonzero(asked == number)
                category[mine] = self.category_codes[number][going[mine]]
            wanted = node[going] * most + category
            place = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
            found = ordered[place] == wanted
            going = going[found]
            node[going] = order[place[found]] + 1
        return node

    # -- parts -------------------------------------------------------------------------------------

    def parts(self, walked: Walked, moves: RowMoves) -> Parts:
        """Where the rows of every cell go.

        Most leaves go to one class as a whole, kind by kind.  Where they do not, the cells of a leaf and kind are a
        bag whose rows are put in order: those that weigh 1 first, as the moves of a weight follow each other here.
        """
        targets, part = np.unique(moves.target[moves.target != DROPPED], return_inverse=True)
        classes = np.full(len(moves), DROPPED)
        classes[moves.target != DROPPED] = part
        base = walked.keys[moves.kind] // 2
        bags, place = self._bags(walked.cell_nodes, moves.leaf, base)
        order = np.lexsort([np.arange(len(moves)), 1 - walked.weights[moves.kind], bags])
        bags, classes, rows = bags[order], classes[order], moves.rows[order]
        starts = np.flatnonzero(np.diff(bags, prepend=-1))
        many = np.diff(starts, append=len(bags))
        least, most = (each.reduceat(classes, starts) for each in (np.minimum, np.maximum))
        of_bag = np.where(least == most, least, DIVIDED)
        divided = np.repeat(of_bag == DIVIDED, many)
        last = np.cumsum(rows)
        last -= np.repeat(last[starts] - rows[starts], many)
        shares = Shares(bags[divided], (last - rows + 1)[divided], last[divided], classes[divided])
        return Parts(of_bag[place], len(targets), place, shares)

    def _bags(self, nodes: Ints, leaf: Ints, kind: Ints) -> tuple[Ints, Ints]:
        """The number of the bag of every move, and of every cell."""
        kinds, number = np.unique(np.concatenate([kind, self.kinds]), return_inverse=True)
        keys = np.concatenate([leaf, nodes]) * len(kinds) + number
        bag = np.unique(keys, return_inverse=True)[1]
        return bag[: len(leaf)], bag[len(leaf) :]

    @property
    def marker(self) -> str:
        """What stands for a suppressed value."""
        return marker([one.axis for one in self.categories])

    def labels(self, shown: Ints) -> dict[str, list[str | None]]:
        """shown: (class, quasi-identifier), the category that is printed, or less than 0."""
        suppressed = self.marker
        return {
            name: [suppressed if code < 0 else one.printed[code] for code in shown[:, number].tolist()]
            for number, (name, one) in enumerate(zip(self.quasi, self.categories, strict=True))
        }


# -- reading ---------------------------------------------------------------------------------------------


def read_cells(job: CellJob) -> KactusTable:
    """The cells of a source, their columns not yet in categories."""
    source, secrets = job.source, job.sensitive
    assert source.target is not None
    axes = {name: cell_axis(job.cells, name) for name in job.cells.columns}
    bare = KactusTable(job.cells, tuple(source.quasi), source.target, tuple(secrets), axes)
    if float(np.prod([float(size) for _, size in bare.kind_digits()])) > _MOST_KINDS / 4:
        raise PolicyError(
            f"{len(secrets)} sensitive columns have too many combinations of values: publish fewer of them at a time"
        )
    return bare


def with_categories(table: KactusTable, k: int) -> KactusTable:
    """Which codes of every quasi-identifier are one category."""
    found: Sequence[Categories] = [categories_of(table.axes[name], *table.counts(name), k) for name in table.quasi]
    return replace(table, categories=tuple(found))
