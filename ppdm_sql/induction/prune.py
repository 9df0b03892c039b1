"""Pruning: a subtree becomes a leaf, nothing else.

Raising a branch into its parent's place is not offered: it sends rows another way than they came, and a tree
that is k-anonymous by its spans can lose that (see docs/methods/trees.md).
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from statistics import NormalDist

from ppdm_sql.induction.criteria import TIE, squared_error
from ppdm_sql.induction.grow import Grown

_BOTHER = 0.1  # C4.5: a leaf may have this many predicted errors more than the subtree it replaces


def error_based(nodes: list[Grown], confidence: float) -> None:
    """C4.5: a subtree is replaced when a leaf is not expected to make more errors on new rows."""

    def cost(node: Grown) -> float:
        rows = int(node.counts.sum())
        errors = rows - int(node.counts.max())
        return errors + extra_errors(rows, errors, confidence)

    _replace(nodes, cost, _BOTHER)


def weakest_link(nodes: list[Grown], complexity: float, *, regression: bool) -> None:
    """CART: every leaf costs `complexity` times the root's error, and the cheapest tree stays.

    Cutting the weakest link again and again ends at the same tree, which is the smallest of the cheapest ones.
    """

    def error(node: Grown) -> float:
        if regression:
            return float(squared_error(node.counts))
        return float(node.counts.sum() - node.counts.max())

    price = complexity * error(nodes[0])
    _replace(nodes, lambda node: error(node) + price, TIE * max(error(nodes[0]), 1.0))


def _replace(nodes: list[Grown], cost: Callable[[Grown], float], slack: float) -> None:
    """Bottom-up; children have greater numbers than their parents."""
    costs = [0.0] * len(nodes)
    for node in reversed(nodes):
        costs[node.number] = cost(node)
        if node.split is None:
            continue
        below = sum(costs[child] for child in node.children)
        if costs[node.number] <= below + slack:
            node.split, node.children = None, []
        else:
            costs[node.number] = below


def extra_errors(rows: int, errors: int, confidence: float) -> float:
    """How many more errors than seen a leaf is expected to make: the upper limit of the binomial, as C4.5 takes it.

    >>> round(extra_errors(6, 0, 0.25), 3), round(extra_errors(16, 1, 0.25), 3), extra_errors(3, 3, 0.25)
    (1.238, 1.476, 0)
    """
    if errors == 0:
        return rows * (1 - confidence ** (1 / rows)) if rows else 0.0
    if errors + 0.5 >= rows:
        return max(rows - errors, 0)
    z = NormalDist().inv_cdf(1 - confidence)
    share = (errors + 0.5) / rows
    spread = z * sqrt(share / rows - share * share / rows + z * z / (4 * rows * rows))
    return (share + z * z / (2 * rows) + spread) / (1 + z * z / rows) * rows - errors
