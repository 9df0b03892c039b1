"""What may be printed of opened totals: no number below k, and none that follows by subtraction.

    a class with fewer than k rows is left out
    values with fewer than k rows are counted as `other`, the rarest first, until that has k; bins join a neighbour
    a cell (class, value) below k, zero included, is in the pool of its class and attribute: smallest cells first,
        until the pool has k rows and at least two cells

Where NULL may occur it is a cell as well: the rows of the class minus the known values would tell it otherwise.  Of a
pool only its cells and its sum are printed; the model spreads the sum evenly over them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.classifiers.domains import CategoricalDomain, Domain, NumericDomain
from ppdm_sql.classifiers.naive_bayes import Counted, NaiveBayes
from ppdm_sql.errors import RequirementBreached
from ppdm_sql.sharing.private.codebook import AgreedAttribute, Codebook
from ppdm_sql.trees.tree import Attribute, Value

Grid = NDArray[np.int64]  # class, value -> rows


@dataclass(frozen=True)
class Pool:
    """Cells of one class and attribute that are printed as one number; the last code is NULL."""

    codes: tuple[int, ...]
    rows: int


@dataclass(frozen=True)
class PooledAttribute:
    """An attribute as it is printed: codes[new] are the codes of the codebook that became one."""

    attribute: Attribute
    domain: Domain
    codes: tuple[tuple[int, ...], ...]
    counts: tuple[tuple[int | None, ...], ...]  # class, code, and NULL last; None: in the pool
    pools: tuple[Pool | None, ...]  # class -> its pool
    has_other: bool

    @property
    def width(self) -> int:
        return len(self.codes)


@dataclass(frozen=True)
class PooledCounts:
    """Everything that is printed of a round."""

    kept: tuple[int, ...]  # classes of the codebook
    rows: tuple[int, ...]  # of these classes
    attributes: tuple[PooledAttribute, ...]
    places: tuple[int, ...]  # of these attributes in the codebook


def pool_counts(codebook: Codebook, grid: Grid, k: int | None = None) -> PooledCounts:
    """What is printed; k of the codebook unless another is given."""
    k = codebook.k if k is None else k
    kept = [place for place, rows in enumerate(grid[:, 0]) if rows >= k]
    if not kept:
        raise RequirementBreached(f"no class has {k} rows: nothing was opened")
    found: dict[int, PooledAttribute] = {}
    for place, (start, one) in enumerate(zip(codebook.starts, codebook.attributes, strict=True)):
        counts = grid[kept, start : start + one.width]
        pooled = _pool_attribute(one, counts, grid[kept, 0], k)
        if pooled is not None:
            found[place] = pooled
    rows = tuple(int(grid[place, 0]) for place in kept)
    return PooledCounts(tuple(kept), rows, tuple(found.values()), tuple(found))


def _pool_attribute(one: AgreedAttribute, counts: Grid, rows: Grid, k: int) -> PooledAttribute | None:
    """None where fewer than k rows have a known value: then the attribute is left out."""
    merged = (
        _other_codes(one, counts.sum(axis=0), k) if not one.attribute.ordered else _bin_codes(counts.sum(axis=0), k)
    )
    if merged is None:
        return None
    named = counts.shape[1] if not one.other else counts.shape[1] - 1
    has_other = not one.attribute.ordered and any(len(codes) != 1 or codes[0] >= named for codes in merged[-1:])
    joined = np.stack([counts[:, list(codes)].sum(axis=1) for codes in merged], axis=1)
    nulls = (rows - joined.sum(axis=1))[:, None]
    cells = np.concatenate([joined, nulls], axis=1)
    seen = cells if one.nulls else joined  # NULL is known not to occur where the codebook says so
    pools = [pool_cells([int(cell) for cell in row], k) for row in seen]
    shown = tuple(
        tuple(None if pool is not None and code in pool.codes else int(cell) for code, cell in enumerate(row))
        for row, pool in zip(cells, pools, strict=True)
    )
    return PooledAttribute(
        one.attribute, _domain(one, merged, has_other=has_other), merged, shown, tuple(pools), has_other
    )


def _other_codes(one: AgreedAttribute, totals: Grid, k: int) -> tuple[tuple[int, ...], ...] | None:
    """The codes that keep their names, one by one, and last those that are `other` together."""
    named = list(range(len(totals) - one.other))
    other = [len(totals) - 1] if one.other else []
    rarest = sorted(named, key=lambda code: (totals[code], code))
    while rarest and (totals[rarest[0]] < k or (other and totals[other].sum() < k)):
        other.append(rarest.pop(0))
    if other and totals[other].sum() < k:
        return None
    parts = [(code,) for code in named if code in rarest]
    return (*parts, tuple(sorted(other))) if other else tuple(parts)


def _bin_codes(totals: Grid, k: int) -> tuple[tuple[int, ...], ...] | None:
    """Bins next to each other that are one: the smallest joins its smaller neighbour while it has fewer than k rows."""
    bins: list[tuple[tuple[int, ...], int]] = [((code,), int(rows)) for code, rows in enumerate(totals)]
    while min(rows for _, rows in bins) < k:
        if len(bins) == 1:
            return None
        at = min(range(len(bins)), key=lambda place: bins[place][1])
        beside = [place for place in (at - 1, at + 1) if 0 <= place < len(bins)]
        low, high = sorted((at, min(beside, key=lambda place: bins[place][1])))
        bins[low : high + 1] = [(bins[low][0] + bins[high][0], bins[low][1] + bins[high][1])]
    return tuple(codes for codes, _ in bins)


def _domain(one: AgreedAttribute, merged: Sequence[Sequence[int]], *, has_other: bool) -> Domain:
    if isinstance(one.domain, NumericDomain):
        return NumericDomain(tuple(one.domain.boundaries[codes[0] - 1] for codes in merged[1:]))
    kept = merged[:-1] if has_other else merged
    return CategoricalDomain(tuple(one.domain.values[codes[0]] for codes in kept))


def pool_cells(cells: Sequence[int], k: int) -> Pool | None:
    """The pool of cells that together are a printed number; None where each has k rows.

    >>> pool_cells([0, 40, 12, 3], 10), pool_cells([40, 12], 10)
    (Pool(codes=(0, 2, 3), rows=15), None)
    """
    if min(cells) >= k:
        return None
    taken: list[int] = []
    for code in sorted(range(len(cells)), key=lambda code: (cells[code], code)):
        if cells[code] >= k and len(taken) >= 2 and sum(cells[one] for one in taken) >= k:
            break
        taken.append(code)
    return Pool(tuple(sorted(taken)), sum(cells[code] for code in taken))


# -- shares of one site ------------------------------------------------------------------------------------


def dominated_cells(codebook: Codebook, pooled: PooledCounts, own: Grid, most: Fraction) -> dict[str, int]:
    """Column -> how many of its printed numbers are for more than that share one site's own rows."""
    found: Counter[str] = Counter()
    for name, printed, mine in _printed(codebook, pooled, own):
        found[name] += mine > most * printed
    return {name: cells for name, cells in found.items() if cells}


def _printed(codebook: Codebook, pooled: PooledCounts, own: Grid) -> Iterator[tuple[str, int, int]]:
    """Every printed number: the column, the number, and what the site has of it."""
    for place, rows in zip(pooled.kept, pooled.rows, strict=True):
        yield codebook.target.name, rows, int(own[place, 0])
    for at, one in zip(pooled.places, pooled.attributes, strict=True):
        start, name = codebook.starts[at], one.attribute.name
        for place, shown, pool in zip(pooled.kept, one.counts, one.pools, strict=True):
            mine = [int(own[place, [start + code for code in codes]].sum()) for codes in one.codes]
            mine.append(int(own[place, 0]) - sum(mine))
            yield from ((name, cell, part) for cell, part in zip(shown[:-1], mine, strict=False) if cell is not None)
            if pool is not None:
                yield name, pool.rows, sum(mine[code] for code in pool.codes)


# -- the model ---------------------------------------------------------------------------------------------


def pooled_model(codebook: Codebook, pooled: PooledCounts) -> NaiveBayes:
    """The naive Bayes model of what is printed: nothing else is in it."""
    classes: tuple[Value, ...] = tuple(codebook.classes[place] for place in pooled.kept)
    return NaiveBayes(
        tuple(one.attribute for one in pooled.attributes), codebook.target, classes, pooled.rows,
        tuple(_part(one) for one in pooled.attributes), codebook.laplace,
    )  # fmt: skip


def _part(one: PooledAttribute) -> Counted:
    rows = [_spread(shown, pool, one.width) for shown, pool in zip(one.counts, one.pools, strict=True)]
    if isinstance(one.domain, CategoricalDomain) and not one.has_other:
        rows = [[*row, 0] for row in rows]
    return Counted(one.domain, tuple(zip(*rows, strict=True)))


def _spread(shown: Sequence[int | None], pool: Pool | None, width: int) -> list[int]:
    """The counts of a class, those of its pool evenly; what does not divide goes to the first codes."""
    spread = {} if pool is None else dict(zip(pool.codes, even_parts(pool.rows, len(pool.codes)), strict=True))
    return [spread[code] if cell is None else cell for code, cell in enumerate(shown[:width])]


def even_parts(rows: int, parts: int) -> list[int]:
    """So many whole numbers with that sum.

    >>> even_parts(13, 4)
    [4, 3, 3, 3]
    """
    return [rows // parts + (place < rows % parts) for place in range(parts)]
