"""A C4.5 over codes that treats a missing value as Quinlan's does: the row goes down every branch, in shares.

The inducers of trees/ take NULL for a value of its own, which is right for data in which it is one.  A release of
kACTUS is full of cells that are merely withheld, and the papers' C4.5 (Weka's J48) reads them as unknown.

It runs on encoded rows in Python, because a row in shares is no longer a row of a table: every level would write
every spread row once per branch.  It gets one line per distinct row with its weight (encode_rows.py), so this is
quick enough in plain numpy.  Unpruned trees, then error-based pruning at 0.25, at least two rows in two branches,
gain ratio among attributes of at least average gain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.induction.prune import extra_errors

Codes = NDArray[np.int64]
Weights = NDArray[np.float64]
_LEAST, _CONFIDENCE, _BOTHER, _TINY = 2.0, 0.25, 0.1, 1e-6


@dataclass
class C45Tree:
    """A node: rows per class, and the children by the code of an attribute."""

    counts: Weights
    attribute: int = -1
    children: dict[int, C45Tree] = field(default_factory=dict)

    def predict(self, codes: Codes) -> Codes:
        """The likeliest class of each row; of equally likely ones the first."""
        return np.asarray(self.shares(codes).argmax(axis=1), dtype=np.int64)

    def shares(self, codes: Codes) -> Weights:
        """How likely each row is of each class.  A value without a branch is answered by the node itself.

        A missing value is answered by all branches, in the shares of the training rows that went there.
        """
        total = max(float(self.counts.sum()), _TINY)
        found = np.tile(self.counts / total, (len(codes), 1))
        if not self.children:
            return found
        column = codes[:, self.attribute]
        spread = np.flatnonzero(column < 0)
        found[spread] = 0.0
        weights = {code: float(child.counts.sum()) for code, child in self.children.items()}
        for code, child in self.children.items():
            here = np.flatnonzero(column == code)
            if len(here):
                found[here] = child.shares(codes[here])
            if len(spread):
                found[spread] += weights[code] / sum(weights.values()) * child.shares(codes[spread])
        return found


def learn(codes: Codes, classes: Codes, weights: Weights, number: int, *, prune: bool = True) -> C45Tree:
    """codes: (row, attribute), -1 for a missing value; number: of classes."""
    tree = _grow(codes, classes, weights, number, frozenset(range(codes.shape[1])))
    if prune:
        _prune(tree)
    return tree


def _grow(codes: Codes, classes: Codes, weights: Weights, number: int, left: frozenset[int]) -> C45Tree:
    node = C45Tree(np.bincount(classes, weights, number).astype(np.float64))
    if weights.sum() < 2 * _LEAST or (node.counts > _TINY).sum() < 2:
        return node
    node.attribute = _choose_split(codes, classes, weights, number, sorted(left))
    if node.attribute < 0:
        return node
    column = codes[:, node.attribute]
    known = column >= 0
    sizes = np.bincount(column[known], weights[known])
    for code in np.flatnonzero(sizes > 0).tolist():
        share = np.where(known, column == code, sizes[code] / sizes.sum()) * weights
        here = share > _TINY
        below = left - {node.attribute}
        node.children[code] = _grow(codes[here], classes[here], share[here], number, below)
    return node


def _choose_split(codes: Codes, classes: Codes, weights: Weights, number: int, left: Sequence[int]) -> int:
    total = weights.sum()
    gains, ratios, names = [], [], []
    for attribute in left:
        column = codes[:, attribute]
        known = column >= 0
        if not known.any():
            continue
        size = int(column.max()) + 1
        flat = np.bincount(column[known] * number + classes[known], weights[known], size * number)
        table = flat.astype(np.float64).reshape(size, number)
        sizes = table.sum(axis=1)
        if (sizes >= _LEAST).sum() < 2:
            continue
        gain = (_bits(table.sum(axis=0)) - sum(map(_bits, table))) / total
        if gain > 1e-9:
            gains.append(gain)
            ratios.append(gain / (_bits(np.append(sizes, total - sizes.sum())) / total))
            names.append(attribute)
    if not gains:
        return -1
    enough = np.array(gains) >= np.mean(gains) - 1e-3
    return names[int(np.argmax(np.where(enough, ratios, -1)))]


def _bits(counts: Weights) -> float:
    """Entropy times rows."""
    some = counts[counts > _TINY]
    total = some.sum()
    return float(total * np.log2(total) - (some * np.log2(some)).sum()) if len(some) else 0.0


def _prune(node: C45Tree) -> float:
    """Subtree replacement; gives the errors that are expected of the node on new rows."""
    rows = float(node.counts.sum())
    errors = rows - float(node.counts.max())
    alone = errors + _extra(rows, errors)
    if not node.children:
        return alone
    below = sum(_prune(child) for child in node.children.values())
    if alone <= below + _BOTHER:
        node.children = {}
        return alone
    return below


def _extra(rows: float, errors: float) -> float:
    """Like extra_errors, between whole numbers of errors as C4.5 does it for rows in shares."""
    some = extra_errors(rows, max(errors, 1.0), _CONFIDENCE)  # type: ignore[arg-type]
    if errors >= 1:
        return some
    none = rows * float(1 - _CONFIDENCE ** (1 / rows)) if rows > 0 else 0.0
    return none if errors <= 0 else none + errors * (some - none)
