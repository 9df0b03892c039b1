"""The tree of kACTUS as a recoding: a row that was not in the table keeps the values on its way, and no others."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ppdm_sql.methods.kactus.tree_arrays import KactusTree
from ppdm_sql.methods.recoding import ROOT, TREE, RecodedColumn, RecodingNode, RecodingTree, Take
from ppdm_sql.methods.shared.discretize import Categories
from ppdm_sql.methods.shared.labels import interval_text


def recode_kactus(tree: KactusTree, categories: Sequence[Categories], suppressed: str) -> RecodingTree:
    """Nodes whose category is never printed are left out: their rows stay above, as those of the table do."""
    takes = [[category_take(one, category) for category in range(one.size)] for one in categories]
    number, nodes = {0: ROOT}, []
    ways = zip(tree.parent.tolist(), tree.attribute.tolist(), tree.category.tolist(), tree.named, strict=True)
    for node, (parent, attribute, category, named) in enumerate(ways):
        if node == 0 or not named or parent not in number:
            continue
        column, here = categories[attribute], takes[attribute][category]
        nodes.append(RecodingNode(number[parent], attribute, here, column.printed[category], _open(column, category)))
        number[node] = len(nodes)
    columns = tuple(RecodedColumn(one.axis.info.name, one.axis.values, suppressed) for one in categories)
    return RecodingTree(TREE, columns, tuple(nodes))


def category_take(categories: Categories, category: int) -> Take:
    """What a category that is printed takes of its column."""
    label = categories.labels[category]
    if label is None:
        return Take(rest=True)
    if label == categories.missing:
        return Take(missing=True)
    axis = categories.axis
    codes = np.flatnonzero(categories.of_code == category)
    if axis.line is None or (len(codes) and codes[0] >= axis.ordinary):  # a value by itself, or NaN
        return Take(values=(label,))
    ends = [None, *categories.boundaries, None]
    for low, high in pairwise(ends):
        if len(ends) == 2 or interval_text(low, high) == label:
            return Take(ranged=True, low=low, high=high)
    raise ValueError(f"a category of column {axis.info.name!r} is no interval of it")


def _open(categories: Categories, category: int) -> int:
    return int((categories.of_code == category).sum())
