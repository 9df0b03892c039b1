"""What groups of rows publish: of each column the finest thing that covers the group.

a hierarchy              the lowest level on which the whole group has one label
numbers and moments      the value, or the interval between the nearest round numbers below and above the group: a
run of intervals or periods of one level, [55, 65) as well as [55, 60), [2024-02-01, 2024-05-01) as well as 2024-02
other columns            the value, or everything
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial

import numpy as np

from ppdm_sql.cells.cells import Codes, Ints
from ppdm_sql.methods.lattice.level_recoding import range_ends
from ppdm_sql.methods.lattice.levels import ColumnLevel, LevelColumn
from ppdm_sql.methods.shared.labels import same_rows

Text = str | None
_UNKNOWN = -1
_ROUND = 100  # so many intervals or periods of a column are round enough to end a run, at most


def group_labels(
    columns: Sequence[LevelColumn], values: Sequence[Codes], group: Ints, with_hierarchy: Collection[str]
) -> tuple[Ints, dict[str, list[Text]]]:
    """Per group its class, and what every class prints; groups that print the same are one class.

    values: per column and piece the code of its value; group: per piece, rising.
    """
    starts = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
    numbers, texts = [], []
    for column, codes in zip(columns, values, strict=True):
        known: dict[Text, int] = {}
        numbers.append(_column_labels(column, codes, starts, column.name not in with_hierarchy, known))
        texts.append(list(known))
    classes = same_rows(np.column_stack(numbers))
    first = np.unique(classes, return_index=True)[1]
    return classes, {
        column.name: [shown[place] for place in number[first].tolist()]
        for column, number, shown in zip(columns, numbers, texts, strict=True)
    }


def _column_labels(column: LevelColumn, codes: Codes, starts: Ints, laddered: bool, known: dict[Text, int]) -> Ints:
    """Per group the number of its label; known: the labels so far, with their numbers."""
    found = np.full(len(starts), _UNKNOWN)
    rung, runs = _rung(column.levels) if laddered else (0, [])
    for place, level in enumerate(column.levels):
        here = level.codes[codes]
        low, high = np.minimum.reduceat(here, starts), np.maximum.reduceat(here, starts)
        covered = np.flatnonzero((found == _UNKNOWN) & (low == high))
        found[covered] = _label_numbers(low[covered], level.labels.__getitem__, known)
        if place == rung and len(runs) > 1:
            inside = np.flatnonzero((found == _UNKNOWN) & (high < len(runs)) & (high - low < len(runs) - 1))
            found[inside] = _label_numbers(low[inside] * len(runs) + high[inside], partial(_run_text, runs), known)
    return found


def _label_numbers(codes: Ints, text_of: Callable[[int], Text], known: dict[Text, int]) -> Ints:
    shown, place = np.unique(codes, return_inverse=True)
    numbers = [known.setdefault(text_of(code), len(known)) for code in shown.tolist()]
    return np.array(numbers, dtype=np.int64)[place]


def _run_text(runs: Sequence[tuple[str, str]], pair: int) -> str:
    """What a run of intervals prints; pair: its first times their number, plus its last.

    >>> _run_text([("10", "20"), ("20", "30")], 1)
    '[10, 30)'
    """
    return f"[{runs[pair // len(runs)][0]}, {runs[pair % len(runs)][1]})"


def _rung(levels: Sequence[ColumnLevel]) -> tuple[int, list[tuple[str, str]]]:
    """The finest level above the values with few intervals or periods, and their ends."""
    for place, level in enumerate(levels[1:], start=1):
        runs = _run_ends(level.labels)
        if len(runs) <= _ROUND:
            return place, runs
    return 0, []


def _run_ends(labels: Sequence[Text]) -> list[tuple[str, str]]:
    """The ends of the ranges that labels begin with; what is no range (NaN, NULL) comes after them."""
    found = []
    for label in labels:
        ends = None if label is None else range_ends(label)
        if ends is None:
            break
        found.append(ends)
    return found
