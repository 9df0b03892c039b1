"""Rare values first: after folding, every quasi-identifier alone has k rows (or persons) of each value.

Texts are put in the order of their rows, and the rarest become one value until it has k and no rare value is left.
Numbers and moments of which some value is rare become intervals that tell the classes apart (methods/shared/
discretize.py), and neighbours below k are joined.  A column without a rare value is published unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ppdm_sql.cells.cells import Cells, Ints
from ppdm_sql.methods.dmpd.counting import DmpdCells
from ppdm_sql.methods.shared.columns import Axis, cell_axis
from ppdm_sql.methods.shared.discretize import cut_codes
from ppdm_sql.methods.shared.labels import interval_text

OTHER = "other"
KNOWN = "(known)"  # a range without ends


@dataclass(frozen=True, repr=False)
class Folded:
    """A quasi-identifier as it is published; labels: per category, None for NULL; unchanged columns have none."""

    name: str
    of_code: Ints  # the category of every code of the cells' column
    size: int
    labels: tuple[str | None, ...] | None = None
    folded_rows: int = 0  # rows whose value is one of those that became one
    folded_values: int = 0
    rare_rows: int = 0  # rows of values or intervals that are still below k

    def __repr__(self) -> str:
        return f"Folded({self.name!r}, {self.size} categories)"  # the labels are data


def fold(table: DmpdCells, name: str, k: int, *, pool: bool) -> Folded:
    """The column with no value below k; without pool only numbers change, and a value can be left that is rare."""
    axis = cell_axis(table.cells, name)
    codes = axis.cell_codes.astype(np.int64)
    held = table.count(codes, axis.size)
    if not axis.size or (held >= k).all():
        return Folded(name, np.arange(axis.size), axis.size)
    of_code, labels = _categories(table, axis, codes, held, k)
    units = table.count(of_code[codes], len(labels))
    rare_rows = int(table.count_rows(of_code[codes], len(labels))[units < k].sum())
    if not pool or not rare_rows:
        if axis.line is None:
            return Folded(name, of_code, len(labels), rare_rows=rare_rows)
        return Folded(name, of_code, len(labels), tuple(labels), rare_rows=rare_rows)
    return _pool_rare(table, name, codes, of_code, labels, k)


def _categories(table: DmpdCells, axis: Axis, codes: Ints, held: Ints, k: int) -> tuple[Ints, list[str | None]]:
    """The values of a text; of numbers and moments intervals, then NaN and NULL."""
    texts: list[str | None] = [*axis.texts, *([None] if axis.null_code is not None else [])]
    if axis.line is None:
        return np.arange(axis.size), texts
    counts = table.count_rows(codes * table.classes + table.class_codes, axis.size * table.classes)
    ordinary = axis.ordinary
    cuts = cut_codes(counts.reshape(axis.size, table.classes)[:ordinary], held[:ordinary], k)
    cuts = _wide_enough(table, codes, ordinary, cuts, k)
    places = np.array(cuts, dtype=np.int64)
    of_code = np.arange(axis.size)
    of_code[:ordinary] = np.searchsorted(places, np.arange(ordinary), side="right")
    of_code[ordinary:] = len(cuts) + 1 + np.arange(axis.size - ordinary)
    met = axis.line.boundaries(places, held[places] < k) if cuts else []
    ends = [None, *met, None]
    intervals = [interval_text(low, high) for low, high in pairwise(ends)] if met else [KNOWN]
    return of_code, [*intervals, *texts[ordinary:]]


def _wide_enough(table: DmpdCells, codes: Ints, ordinary: int, cuts: Sequence[int], k: int) -> list[int]:
    """The cuts without those between which fewer than k are: distinct persons do not add up."""
    kept: list[int] = []
    for cut in [*cuts, ordinary]:
        inside = (codes >= (kept[-1] if kept else 0)) & (codes < cut)
        if int(table.count(np.where(inside, 0, 1), 2)[0]) >= k:
            kept.append(cut)
        elif cut == ordinary and kept:
            kept.pop()
    return [cut for cut in kept if cut != ordinary]


def _pool_rare(table: DmpdCells, name: str, codes: Ints, of_code: Ints, labels: Sequence[str | None], k: int) -> Folded:
    """The rarest categories as one, until it has k and no rare one is left."""
    here = of_code[codes]
    units, rows = table.count(here, len(labels)), table.count_rows(here, len(labels))
    order = np.lexsort((np.arange(len(labels)), units))
    taken = int((units < k).sum())
    while taken < len(labels):
        inside = np.isin(here, order[:taken])
        if int(table.count(np.where(inside, 0, 1), 2)[0]) >= k:
            break
        taken += 1
    gone = np.sort(order[:taken])
    kept = np.setdiff1d(np.arange(len(labels)), gone)
    place = np.full(len(labels), len(kept))
    place[kept] = np.arange(len(kept))
    other = _unlike(OTHER, labels)
    return Folded(
        name, place[of_code], len(kept) + 1, (*(labels[one] for one in kept), other),
        folded_rows=int(rows[gone].sum()), folded_values=taken,
    )  # fmt: skip


def _unlike(text: str, labels: Sequence[str | None]) -> str:
    """The text in as many brackets as no label has.

    >>> _unlike("other", ["a", "other", None])
    '(other)'
    """
    while text in labels:
        text = f"({text})"
    return text


def folded_cells(
    cells: Cells, target: str, quasi: Sequence[str], features: Sequence[str], k: int, *, pool: bool
) -> tuple[DmpdCells, dict[str, Folded]]:
    """The cells with the codes that are published, and what became of each quasi-identifier."""
    plain = DmpdCells(cells, target, {}, {})
    found = {name: fold(plain, name, k, pool=pool) for name in quasi}
    codes, sizes = {}, {}
    for name in features:
        column = cells[name]
        if name in found:
            codes[name], sizes[name] = found[name].of_code[column.codes.astype(np.int64)], found[name].size
        else:
            codes[name], sizes[name] = column.codes.astype(np.int64), column.size
    return DmpdCells(cells, target, codes, sizes), found
