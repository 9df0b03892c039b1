"""A full-domain recoding for rows that were not there: the classes as a tree that asks one column after the other.

A row whose labels together are a class that was published goes there.  Another one goes as far as a class begins like
it, and the columns that were not asked then print the label for everything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ppdm_sql.methods.lattice.levels import LevelColumn
from ppdm_sql.methods.recoding import TREE, RecodedColumn, RecodingNode, RecodingTree, Take
from ppdm_sql.source.calendar import period_ends
from ppdm_sql.source.hierarchy import Hierarchy

INTERVAL = re.compile(r"\[(.+), (.+)\)")


def range_ends(label: str) -> tuple[str, str] | None:
    """Where an interval or a period starts, and where what follows it does.

    >>> range_ends("[30, 35)"), range_ends("2024-Q4"), range_ends("*")
    (('30', '35'), ('2024-10-01', '2025-01-01'), None)
    """
    interval, period = INTERVAL.fullmatch(label), period_ends(label)
    if interval is not None:
        return interval[1], interval[2]
    return None if period is None else (str(period[0]), str(period[1]))


def recode_levels(
    columns: Sequence[LevelColumn],
    levels: Sequence[int],
    labels: Mapping[str, Sequence[str | None]],
    hierarchies: Mapping[str, Hierarchy],
) -> RecodingTree | None:
    """The recoding of a node; labels: of its classes.  None where a label cannot be said without listing values."""
    asked = [place for place, column in enumerate(columns) if column.levels[levels[place]].number < column.height]
    takes = {}
    for place in asked:
        found = _takes(columns[place], levels[place], columns[place].name in hierarchies)
        if found is None:
            return None
        takes[place] = found
    numbers: dict[tuple[str | None, ...], int] = {(): 0}
    nodes: list[RecodingNode] = []
    for labels_of_class in zip(*(labels[columns[place].name] for place in asked), strict=True):
        for depth, (place, label) in enumerate(zip(asked, labels_of_class, strict=True), start=1):
            path = labels_of_class[:depth]
            if path not in numbers:
                numbers[path] = len(numbers)
                taken, leaves = takes[place][label]
                nodes.append(RecodingNode(numbers[path[:-1]], place, taken, label, leaves))
    limited = [
        depth for depth, place in enumerate(asked, start=1) if columns[place].levels[-1].number < columns[place].height
    ]
    deepest = max(limited, default=0)
    unprinted = tuple(number for path, number in numbers.items() if len(path) < deepest)
    return RecodingTree(
        TREE, tuple(_column(one, hierarchies.get(one.name)) for one in columns), tuple(nodes), unprinted
    )


def _column(column: LevelColumn, hierarchy: Hierarchy | None) -> RecodedColumn:
    paths = None
    if hierarchy is not None:
        words = [
            [nodes[place].label for place in hierarchy.codes(level)] for level, nodes in enumerate(hierarchy.levels)
        ]
        paths = {leaf: tuple(word[place] for word in words) for place, leaf in enumerate(hierarchy.order)}
    return RecodedColumn(column.name, column.leaves, column.everything, paths)


def _takes(column: LevelColumn, place: int, has_hierarchy: bool) -> dict[str | None, tuple[Take, int]] | None:
    """Per label what it takes of the column, and how many leaves it stands for."""
    level = column.levels[place]
    found: dict[str | None, tuple[Take, int]] = {}
    for label, leaves in zip(level.labels, level.leaves.tolist(), strict=True):
        if label is None:
            take = Take(missing=True)
        elif has_hierarchy:
            take = Take(level=level.number, word=label)
        elif level.number == 0:
            take = Take(values=(label,))
        else:
            ends = range_ends(label)
            if ends is not None:
                take = Take(ranged=True, low=ends[0], high=ends[1])
            elif label in column.levels[0].labels:  # NaN, or a moment that no calendar has
                take = Take(values=(label,))
            else:
                return None
        found[label] = take, leaves
    return found
