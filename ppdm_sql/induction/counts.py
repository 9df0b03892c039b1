"""Counts of one round: how many rows of each open node have which code of which attribute, per class.

One GROUP BY per packed column.  On small tables the statements are put together by UNION ALL, because a round
trip costs more than the counting; on large ones they are sent one by one, because each is an array index then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.induction.coded import RESPONSE, SLOT, Pack, Training
from ppdm_sql.induction.criteria import Ints
from ppdm_sql.statements.names import Name, aliased, column

_SMALL = 200_000  # rows below which one statement counts everything
_DENSE = 1 << 24  # cells up to which sums are made in an array rather than by sorting, when it is not mostly empty
_ARRAY = 1 << 16  # groups that are counted in an array however few rows there are
_INT, _LONG = exp.DataType.build("INT"), exp.DataType.build("BIGINT")


@dataclass(frozen=True)
class Tally:
    """The codes that occur in each node, sorted by slot and code, with their histograms.

    A histogram is rows per class, or for a numeric response (rows, sum, sum of squares).
    """

    slot: Ints
    code: Ints
    counts: Ints  # (cell, class)

    def of_slots(self, slots: Ints) -> Tally:
        """Only these slots, renumbered 0, 1, ... in the order given (rising)."""
        place = np.searchsorted(slots, self.slot)
        place[place == len(slots)] = 0
        kept = slots[place] == self.slot
        return Tally(place[kept], self.code[kept], self.counts[kept])


@dataclass
class Counter:
    """Counts the rows of a table of codes; the statements of a table are made once."""

    engine: Engine
    training: Training
    _made: dict[tuple[Name, bool, tuple[bool, ...]], list[exp.Query]] = field(default_factory=dict)

    def count(self, table: Name, rows: int, slots: int) -> Iterator[tuple[int, Tally]]:
        """(attribute, tally) for every attribute; slots counts the numbers in use, the sink 0 included."""
        for pack, found in self._fetch_packs(table, rows, slots):
            for member in pack.members:
                yield member, _marginal(self.training, pack, member, found, slots)

    def _fetch_packs(self, table: Name, rows: int, slots: int) -> Iterator[tuple[Pack, dict[str, Ints]]]:
        packs = self.training.packs
        # A planner that knows how few groups there can be counts in an array; one that would be mostly empty
        # costs more than hashing, so the range is hidden from it then.
        sparse = tuple(slots * pack.cells > max(_ARRAY, rows // 4) for pack in packs)
        apart = rows > _SMALL and not self.engine.shares_reads
        queries = self._queries(table, sparse, apart=apart)
        if apart:
            for pack, query in zip(packs, queries, strict=True):
                yield pack, self._fetch_counts(query)
            return
        found = self._fetch_counts(queries[0])
        order = np.argsort(found["ppdm_pack"], kind="stable")
        ends = np.searchsorted(found["ppdm_pack"][order], np.arange(len(packs) + 1))
        for number, pack in enumerate(packs):
            here = order[ends[number] : ends[number + 1]]
            yield pack, {name: values[here] for name, values in found.items()}

    def _fetch_counts(self, query: exp.Query) -> dict[str, Ints]:
        return {name: np.asarray(values).astype(np.int64) for name, values in self.engine.arrays(query).items()}

    def _queries(self, table: Name, sparse: tuple[bool, ...], *, apart: bool) -> list[exp.Query]:
        key = (table, apart, sparse)
        if key not in self._made:
            packs = zip(self.training.packs, sparse, strict=True)
            queries: list[exp.Query] = [
                _query(self.training, table, pack, number, hidden) for number, (pack, hidden) in enumerate(packs)
            ]
            self._made[key] = queries if apart else [_together(queries)]
        return self._made[key]


def _together(queries: list[exp.Query]) -> exp.Query:
    whole = queries[0]
    for query in queries[1:]:
        whole = exp.Union(this=whole, expression=query, distinct=False)
    return whole


def _query(training: Training, table: Name, pack: Pack, number: int, hidden: bool) -> exp.Select:
    slot: exp.Expr = column(SLOT)
    key = column(pack.name)
    if hidden:  # an operation without effect
        slot = exp.BitwiseOr(this=slot, expression=exp.Literal.number(0))
    picked: list[exp.Expr] = [
        aliased(exp.Cast(this=exp.Literal.number(number), to=_INT.copy()), "ppdm_pack"),
        aliased(exp.Cast(this=slot, to=_LONG.copy()), "ppdm_s"),
        aliased(exp.Cast(this=key, to=_LONG.copy()), "ppdm_k"),
        aliased(exp.Count(this=exp.Star()), "ppdm_n"),
    ]
    if training.is_regression:
        response = exp.Cast(this=column(RESPONSE), to=_LONG.copy())
        square = exp.Mul(this=response.copy(), expression=response.copy())
        picked.append(aliased(exp.Cast(this=exp.Sum(this=response), to=_LONG.copy()), "ppdm_y"))
        picked.append(aliased(exp.Cast(this=exp.Sum(this=square), to=_LONG.copy()), "ppdm_yy"))
    return exp.Select(expressions=picked).from_(table.table()).group_by(slot.copy(), key.copy())


def _marginal(training: Training, pack: Pack, member: int, found: dict[str, Ints], slots: int) -> Tally:
    size = training.attributes[member].size
    key = found["ppdm_k"]
    code = (key // pack.stride(member)) % size
    if training.is_regression:
        return moments_of(found["ppdm_s"], code, [found[name] for name in ("ppdm_n", "ppdm_y", "ppdm_yy")], size)
    return tally_of(found["ppdm_s"], code, key % pack.classes, found["ppdm_n"], slots, size, pack.classes)


def tally_of(slot: Ints, code: Ints, klass: Ints, rows: Ints, slots: int, size: int, classes: int) -> Tally:
    """The tally of some counts, each of a slot, a code and a class."""
    cell = (slot * size + code) * classes + klass
    summed, cells = _sum_cells(cell, rows, slots * size * classes)
    pair, place = _starts(cells // classes)
    counts = np.zeros((len(pair), classes), dtype=np.int64)
    counts[place, cells % classes] = summed
    return Tally(pair // size, pair % size, counts)


def moments_of(slot: Ints, code: Ints, moments: Sequence[Ints], size: int) -> Tally:
    """The tally of a response: moments are rows, sums and sums of squares, each of a slot and a code."""
    cell = slot * size + code
    order = np.argsort(cell, kind="stable")
    pair, place = _starts(cell[order])
    counts = np.zeros((len(pair), 3), dtype=np.int64)
    for number, amounts in enumerate(moments):
        np.add.at(counts[:, number], place, amounts[order])
    return Tally(pair // size, pair % size, counts)


def _sum_cells(cell: Ints, rows: Ints, cells: int) -> tuple[Ints, Ints]:
    """Rows per cell that has any, and these cells in rising order."""
    if cells <= min(_DENSE, max(1 << 12, 8 * len(cell))):
        dense = np.bincount(cell, weights=rows, minlength=0)  # exact: far below 2^53 rows
        here = np.flatnonzero(dense)
        return dense[here].astype(np.int64), here
    order = np.argsort(cell, kind="stable")
    found, place = _starts(cell[order])
    summed = np.zeros(len(found), dtype=np.int64)
    np.add.at(summed, place, rows[order])
    return summed, found


def _starts(rising: Ints) -> tuple[Ints, Ints]:
    """The distinct numbers of a rising array, and for every entry which of them it is."""
    new = np.diff(rising, prepend=rising[:1] - 1) > 0
    return rising[new], np.cumsum(new) - 1
