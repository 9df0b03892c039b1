"""Groups of rows that follow each other on a curve: made diverse first, then joined until they meet the policy.

Ghinita, Karras, Kalnis, Mamoulis: Fast Data Anonymization with Low Information Loss (VLDB 2007), section 5: one bucket
per sensitive value, and groups of rows with different values, those first that come first on the curve.  Their rule can
leave rows over.  Here a value that would be too frequent among the rows that are left must be in the next group
(`must`), so that no row is left over: with L values per group, no value ever has more than one L-th of the rows left.

Rows of a cell are alike, so groups that would take their rows from the same cells are made together, as one block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ppdm_sql.cells.cells import Ints
from ppdm_sql.methods.mondrian.level_counts import Histogram
from ppdm_sql.methods.shared.limits import Demands
from ppdm_sql.source.lines import Flags

_LEAST_WINDOW, _MOST_WINDOW = 16, 4096  # groups that are tried at once
_MOST_COUNTS = 1 << 20  # counts that are written out at once


@dataclass(frozen=True)
class Blocks:
    """Rows of cells that stay together, sorted by block; a cell can give rows to several blocks."""

    block: Ints  # per piece
    cell: Ints
    start: Ints  # how many rows of the cell came before
    rows: Ints

    def with_cells(self, order: Ints, more: Ints, rows: Ints) -> Blocks:
        """These and further whole cells, a block each, all by their first cell on the curve."""
        place = np.zeros(len(rows), dtype=np.int64)
        place[order] = np.arange(len(order))
        starts = np.flatnonzero(np.append(True, self.block[1:] != self.block[:-1]))
        first = np.append(np.minimum.reduceat(place[self.cell], starts), place[more])
        moved = np.empty(len(first), dtype=np.int64)
        moved[np.argsort(first, kind="stable")] = np.arange(len(first))
        block = moved[np.append(self.block, len(starts) + np.arange(len(more)))]
        sorted_pieces = np.argsort(block, kind="stable")
        cell = np.append(self.cell, more)
        start, amount = np.append(self.start, np.zeros_like(more)), np.append(self.rows, rows[more])
        return Blocks(*(one[sorted_pieces] for one in (block, cell, start, amount)))


def whole_blocks(order: Ints, alike: Ints, rows: Ints) -> Blocks:
    """One block per combination; order: the cells along the curve, alike: per cell which combination it has."""
    of_cell = alike[order]
    new = np.append(True, of_cell[1:] != of_cell[:-1])
    return Blocks(np.cumsum(new) - 1, order, np.zeros(len(order), dtype=np.int64), rows[order])


def sized_blocks(order: Ints, units: Ints, rows: Ints, k: int) -> Blocks:
    """One block per cell; of one with 2k and more, k rows by themselves, so that joining these spares the others.

    Rows that count for k come first in their cell.
    """
    large = units[order] >= 2 * k
    block = np.cumsum(1 + large) - 1
    pieces = np.repeat(order, 1 + large)
    start = np.zeros(len(pieces), dtype=np.int64)
    start[block[large]] = k
    taken = rows[pieces]
    taken[block[large]] -= k
    taken[block[large] - 1] = k
    return Blocks(np.arange(len(pieces)), pieces, start, taken)


def can_be_diverse(totals: Ints, least: int) -> bool:
    """Whether groups of `least` different values can be made of all rows."""
    return bool(totals.max(initial=0) * least <= totals.sum())


def diverse_blocks(order: Ints, values: Ints, rows: Ints, least: int, k: int) -> Blocks:
    """Blocks of groups, each with one row of `least` different values or some more; every row is in one.

    order: cells along the curve; values: per cell its sensitive value.  A block has k rows and a second one the rest
    where there are enough: see sized_blocks.
    """
    heads = _Heads(order, values, rows)
    found: list[tuple[Ints, Ints, Ints]] = []
    while heads.left:
        taken, many = heads.next_groups(least)
        cells, start = heads.take(taken, many)
        first = -(-k // len(taken))
        sizes = [many] if many * len(taken) < 2 * k or many <= first else [first, many - first]
        for count in sizes:
            found.append((cells, start, np.full(len(cells), count)))
            start = start + count
    smallest = [int(heads.place[cells].min()) for cells, _, _ in found]
    by_place = sorted(range(len(found)), key=smallest.__getitem__)
    block = np.repeat(np.arange(len(found)), [len(found[place][0]) for place in by_place])
    cell, start, size = (np.concatenate([found[place][part] for place in by_place]) for part in range(3))
    return Blocks(block, cell, start, size)


class _Heads:
    """Per sensitive value its rows along the curve, and the first cell that still has some."""

    def __init__(self, order: Ints, values: Ints, rows: Ints) -> None:
        self.place = np.zeros(len(rows), dtype=np.int64)  # of a cell on the curve
        self.place[order] = np.arange(len(order))
        self._rows = rows
        sorted_cells = order[np.argsort(values[order], kind="stable")]
        present, first = np.unique(values[sorted_cells], return_index=True)
        self._cells, self._next, self._stop = sorted_cells, first, np.append(first[1:], len(sorted_cells))
        self._used = np.zeros(len(present), dtype=np.int64)  # of the rows of the first cell
        self._count = np.add.reduceat(rows[sorted_cells], first)  # rows left per value
        self._head = self.place[sorted_cells[first]]  # the place of the first cell
        self.left = int(self._count.sum())

    def next_groups(self, least: int) -> tuple[Ints, int]:
        """The values whose first rows are the next group, and how many groups in a row that is true of."""
        size, must = least, self._count * least > self.left - least
        while int(must.sum()) > size:
            size = int(must.sum())
            must = self._count * least > self.left - size
        forced, others = np.flatnonzero(must), np.flatnonzero(~must & (self._count > 0))
        wanted = size - len(forced)
        if wanted < len(others):
            others_taken = others[np.argpartition(self._head[others], wanted)[:wanted]] if wanted else others[:0]
        else:
            others_taken = others
        taken = np.sort(np.append(forced, others_taken))
        return taken, self._repeats(taken, must, least, size)

    def _repeats(self, taken: Ints, must: Flags, least: int, size: int) -> int:
        """For how many groups the same cells are taken: none runs out, and no further value becomes a must.

        Before group j (from 0) a value must be taken if count * least > left - (j + 1) * size; the counts of values
        that are taken, and the rows left, are smaller by then.  A group of more than `least` values has musts alone.
        """
        repeats = int((self._rows[self._cells[self._next[taken]]] - self._used[taken]).min())
        spare = self.left - size - self._count * least  # of a value that is no must: 0 or more
        is_taken = np.zeros(len(must), dtype=bool)
        is_taken[taken] = True
        waiting = ~must & ~is_taken & (self._count > 0)
        if waiting.any():
            repeats = min(repeats, int(spare[waiting].min()) // size + 1)
        return repeats

    def take(self, taken: Ints, many: int) -> tuple[Ints, Ints]:
        """The cells of the first rows of these values, and where the rows start; they are gone then."""
        cells, start = self._cells[self._next[taken]], self._used[taken].copy()
        self._used[taken] += many
        self._count[taken] -= many
        self.left -= many * len(taken)
        ended = taken[self._used[taken] == self._rows[cells]]
        self._next[ended] += 1
        self._used[ended] = 0
        more = ended[self._next[ended] < self._stop[ended]]
        self._head[more] = self.place[self._cells[self._next[more]]]
        return cells, start


# -- joining ---------------------------------------------------------------------------------------------


def join_blocks(units: Ints, histograms: Sequence[Histogram], demands: Demands) -> Ints:
    """Per block its group: the blocks in their order, each joined to the next until the policy is met.

    A requirement that holds of two groups holds of both together, but a group that holds can fail with further rows
    that do not.  So every next end is tried, and a rest that does not hold takes back groups until it does.
    units: per block what k counts; histograms: the sensitive values per block, by block.
    """
    ends = _Walk(units, histograms, demands).ends()
    starts = np.zeros(len(units), dtype=np.int64)
    starts[ends[:-1]] = 1
    return np.cumsum(starts)


class _Walk:
    def __init__(self, units: Ints, histograms: Sequence[Histogram], demands: Demands) -> None:
        self._running = np.append(0, np.cumsum(units))
        self._histograms, self._demands = histograms, demands
        self._bounds = [np.searchsorted(one.cell, np.arange(len(units) + 1)) for one in histograms]

    def ends(self) -> list[int]:
        """Where each group ends; the last one takes what is left."""
        blocks, start, window = len(self._running) - 1, 0, _LEAST_WINDOW
        found: list[int] = []
        while start < blocks:
            wanted = self._of_size(start, window)
            if not wanted:
                break
            fine = self._hold(start, wanted)
            good = len(wanted) if fine.all() else int(fine.argmin())
            found += wanted[:good]
            start = found[-1] if found else 0
            window = min(window * 2, _MOST_WINDOW)
            if good < len(wanted):
                end = self._first_that_holds(start, wanted[good])
                if end is None:
                    break
                found.append(end)
                start, window = end, _LEAST_WINDOW
        return self._with_rest(found)

    def _with_rest(self, ends: list[int]) -> list[int]:
        """What is left after the last end joins the groups before it, as many as are needed."""
        blocks = len(self._running) - 1
        if ends and ends[-1] == blocks:
            return ends
        while ends:
            ends.pop()
            if not ends or self._hold(ends[-1], [blocks])[0]:
                break
        return [*ends, blocks]

    def _of_size(self, start: int, most: int) -> list[int]:
        """The ends of the next groups by k alone, at most so many."""
        found: list[int] = []
        while len(found) < most:
            end = int(np.searchsorted(self._running, self._running[start] + self._demands.k))
            if end == len(self._running):
                break
            found.append(end)
            start = end
        return found

    def _hold(self, start: int, ends: Sequence[int]) -> Flags:
        """Per group from the end of the one before it, whether it meets what is required of sensitive columns."""
        sizes = np.diff([start, *ends])
        group = np.repeat(np.arange(len(ends)), sizes)
        fine = np.ones(len(ends), dtype=bool)
        for secret, histogram, bounds in zip(self._demands.secrets, self._histograms, self._bounds, strict=True):
            here = slice(bounds[start], bounds[ends[-1]])
            part = Histogram(histogram.cell[here] - start, histogram.value[here], histogram.rows[here], histogram.width)
            for which, counts in part.grouped(group, len(ends)):
                fine[which] &= secret.holds(counts)
        return fine

    def _first_that_holds(self, start: int, failed: int) -> int | None:
        """The least end beyond one that failed at which the group from the start holds."""
        blocks, window = len(self._running) - 1, _LEAST_WINDOW
        before = [self._sum(number, start, failed) for number in range(len(self._histograms))]
        while failed < blocks:
            stop = min(failed + window, blocks)
            fine = np.ones(stop - failed, dtype=bool)
            for number, secret in enumerate(self._demands.secrets):
                counts = before[number] + np.cumsum(self._dense(number, failed, stop), axis=0)
                fine &= secret.holds(counts)
                before[number] = counts[-1]
            if fine.any():
                return failed + int(fine.argmax()) + 1
            widest = max(one.width for one in self._histograms)
            failed, window = stop, max(1, min(window * 2, _MOST_COUNTS // widest))
        return None

    def _dense(self, number: int, start: int, stop: int) -> Ints:
        """(block, value) -> rows of some blocks."""
        histogram, bounds = self._histograms[number], self._bounds[number]
        here = slice(bounds[start], bounds[stop])
        counts = np.zeros((stop - start, histogram.width), dtype=np.int64)
        np.add.at(counts, (histogram.cell[here] - start, histogram.value[here]), histogram.rows[here])
        return counts

    def _sum(self, number: int, start: int, stop: int) -> Ints:
        """Rows per value of some blocks together."""
        histogram, bounds = self._histograms[number], self._bounds[number]
        here = slice(bounds[start], bounds[stop])
        counts = np.zeros(histogram.width, dtype=np.int64)
        np.add.at(counts, histogram.value[here], histogram.rows[here])
        return counts
