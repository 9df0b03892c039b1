"""What becomes of rows that were not there: the intervals and groups of every column, class by class.

The nodes are the classes, column after column, those with the fewest groups first.  A row whose combination is no class
goes as far as one begins like it; the columns that were not asked then print the marker.  A group names the categories
that many people hold, so a row with a rare one stays where its column was not asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from ppdm_sql.methods.recoding import ROOT, TREE, RecodedColumn, RecodingNode, RecodingTree, Take
from ppdm_sql.methods.shared.labels import interval_text
from ppdm_sql.methods.tpp import columns
from ppdm_sql.source.lines import Ints


def recode_groups(
    quasi: Sequence[str],
    used: Mapping[str, tuple[columns.Column, columns.RecodedColumn]],
    groups: Ints,
    marker: str,
    values: Mapping[str, int],
) -> RecodingTree:
    """groups: per class the group of every column that trees use; values: how many each quasi-identifier has."""
    order = sorted(range(len(used)), key=lambda place: len(list(used.values())[place][1].texts))
    takes = {name: _takes(column, shown) for name, (column, shown) in used.items()}
    names, numbers, nodes = list(used), {(): ROOT}, list[RecodingNode]()
    for found in groups[:, order].tolist() if order else []:
        for depth, (place, group) in enumerate(zip(order, found, strict=True), start=1):
            path = tuple(found[:depth])
            if path in numbers:
                continue
            shown = used[names[place]][1]
            numbers[path] = len(nodes) + 1
            covered = shown.groups.count(group)
            parent, column = numbers[path[:-1]], quasi.index(names[place])
            nodes.append(RecodingNode(parent, column, takes[names[place]][group], shown.texts[group], covered))
    return RecodingTree(TREE, tuple(RecodedColumn(name, values[name], marker) for name in quasi), tuple(nodes))


def _takes(column: columns.Column, shown: columns.RecodedColumn) -> list[Take]:
    """Per group what it takes of its column."""
    if column.ordered:
        ends = pairwise([None, *shown.borders, None])
        return [_interval_take(text, *pair) for text, pair in zip(shown.texts, ends, strict=True)]
    axis, of_code = column.axis, np.array(shown.groups)
    found = []
    for group in range(len(shown.texts)):
        codes = np.flatnonzero(of_code == group).tolist()
        named = tuple(axis.texts[code] for code in codes if code != axis.null_code and column.common[code])
        found.append(Take(values=named, missing=axis.null_code in codes))
    return found


def _interval_take(text: str | None, low: str | None, high: str | None) -> Take:
    """An interval; where one value alone is in it and is printed, that value."""
    if text == interval_text(low, high):
        return Take(ranged=True, low=low, high=high)
    assert text is not None
    return Take(values=(text,))
