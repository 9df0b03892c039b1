"""The cells of a partition: counted per part, and sent from level to level.

Cells stay sorted by their part, so that extents are one pass.  A cell whose part is finished leaves the arrays; what
is done on a level costs what the cells that are still open cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.cells.cells import Codes
from ppdm_sql.methods.mondrian.pieces import Pieces, Pulls
from ppdm_sql.methods.plan import PART
from ppdm_sql.methods.shared.key_sums import starts_of, sum_by_key
from ppdm_sql.source.lines import Ints

N, WEIGHT, VALUE, OTHER = "ppdm_n", "ppdm_w", "ppdm_v", "ppdm_o"
KNOWN, SUM, SQUARES = "ppdm_m", "ppdm_y", "ppdm_yy"  # of a numeric target: rows that have it, sum, sum of squares


@dataclass(frozen=True)
class PartRoutes:
    """Where the cells of a level go, per part: below the cut of an attribute to low, from it on to high.

    A part that is split into more than two has its children in `branches`: codes first .. last go to child.
    Targets are 0, 1, ... for parts to be looked at again and -1 - node for finished ones.
    """

    part: Ints
    attribute: Ints
    cut: Ints
    low: Ints
    high: Ints
    branches: Mapping[str, Ints]  # PART, ppdm_first, ppdm_last, ppdm_child; what is in none of them goes to high
    pulls: Pulls  # rows that go elsewhere than the others of their cell
    pulled_to: Ints


@dataclass
class PartitionCells:
    """Counts over the open cells, and the routing from level to level."""

    attributes: tuple[str, ...]  # the quasi-identifiers
    codes: Mapping[str, Codes]  # per column that is looked at, the codes of all cells
    sizes: Mapping[str, int]
    measures: Mapping[str, Ints]  # N, WEIGHT and those of a numeric target: per cell
    cell: Ints = field(
        init=False
    )  # per piece, the cell it is of: a cell is one piece, until some of its rows go elsewhere
    start: Ints = field(init=False)  # per piece, how many rows of its cell come before it
    _open: NDArray[np.int64] = field(init=False)  # the open pieces, sorted by part
    _part: NDArray[np.int64] = field(init=False)  # of each of them
    _node: Ints = field(init=False)  # of every piece, once its part is finished
    _chosen: tuple[Ints, Ints] | None = None

    def __post_init__(self) -> None:
        cells = len(self.measures[N])
        self._open, self._part = np.arange(cells), np.zeros(cells, dtype=np.int64)
        self._node = np.full(cells, -1, dtype=np.int64)
        self.cell, self.start = np.arange(cells), np.zeros(cells, dtype=np.int64)

    @property
    def has_entity(self) -> bool:
        return WEIGHT in self.measures

    # -- counting ----------------------------------------------------------------------------------

    def extents(self) -> dict[str, Ints]:
        """Per open part the least and greatest code of every attribute: columns part, lo<i>, hi<i>."""
        starts = starts_of(self._part)
        found = {PART: self._part[starts]}
        for number, name in enumerate(self.attributes):
            code = self.codes[name][self._open]
            found[f"lo{number}"] = np.minimum.reduceat(code, starts).astype(np.int64)
            found[f"hi{number}"] = np.maximum.reduceat(code, starts).astype(np.int64)
        return found

    def choose(self, part: Ints, attribute: Ints) -> None:
        """Which attribute of each part the next counts are about; parts not named are left out of them."""
        self._chosen = part, attribute

    def counts(self, attribute: int | None, other: str | None, measures: Sequence[str]) -> dict[str, Ints]:
        """Sums of the measures by part, code of the attribute (None: of the chosen one) and another column."""
        if attribute is None:
            here, value = self._chosen_values()
            size = max(self.sizes[name] for name in self.attributes)
        else:
            name = self.attributes[attribute]
            here, value, size = slice(None), self.codes[name][self._open], self.sizes[name]
        cells = self._open[here]
        key = self._part[here] * size + value
        width = self.sizes[other] if other else 1
        if other:
            key = key * width + self.codes[other][cells]
        keys, summed = sum_by_key(key, [self.measures[name][cells] for name in measures])
        pair = keys // width
        found = {PART: pair // size, VALUE: pair % size, **dict(zip(measures, summed, strict=True))}
        return found | ({OTHER: keys % width} if other else {})

    def _chosen_values(self) -> tuple[Any, Ints]:
        """The open cells of the chosen parts, and the code of each part's attribute."""
        assert self._chosen is not None
        part, attribute = self._chosen
        of_part = np.full(int(self._part[-1]) + 1, -1, dtype=np.int64)
        of_part[part] = attribute
        asked = of_part[self._part]
        here: Any = slice(None) if len(part) == len(of_part) else np.flatnonzero(asked >= 0)
        return here, self._values(self._open[here], asked[here])

    def _values(self, cells: Ints, attribute: Ints) -> Ints:
        """Per cell the code of an attribute of its own."""
        value = np.zeros(len(cells), dtype=np.int64)
        for number, name in enumerate(self.attributes):
            mine = np.flatnonzero(attribute == number)
            value[mine] = self.codes[name][cells[mine]]
        return value

    def pieces(self, part: Ints, attribute: int, first: Ints, last: Ints, secrets: Sequence[str]) -> Pieces:
        """What there is in parts whose attribute has one of the codes first .. last."""
        parts = int(self._part[-1]) + 1
        low, high = np.full(parts, 1), np.full(parts, 0)
        low[part], high[part] = first, last
        value = self.codes[self.attributes[attribute]][self._open]
        here = np.flatnonzero((low[self._part] <= value) & (value <= high[self._part]))
        entry = self._open[here]
        codes = {name: column[entry].astype(np.int64) for name, column in self.codes.items()}
        persons = self.measures[WEIGHT if self.has_entity else N][entry]
        told = tuple(codes[name] for name in secrets)
        rows = self.measures[N][entry]
        return Pieces(self._part[here], entry, self.cell[entry], rows, persons, tuple(codes.values()), told)

    # -- routing -----------------------------------------------------------------------------------

    def route(self, routes: PartRoutes) -> None:
        """Sends every open cell to its part of the next level; cells of finished parts leave."""
        value = self._values(self._open, routes.attribute[self._part])
        target = np.where(value < routes.cut[self._part], routes.low[self._part], routes.high[self._part])
        if len(routes.branches[PART]):
            self._branch(routes.branches, value, target)
        if len(routes.pulls.part):
            target = self._pull(routes.pulls, routes.pulled_to, target)
        finished = target < 0
        self._node[self._open[finished]] = -1 - target[finished]
        going = np.flatnonzero(~finished)
        order = going[np.argsort(target[going], kind="stable")]
        self._open, self._part = self._open[order], target[order]

    def _branch(self, branches: Mapping[str, Ints], value: Ints, target: Ints) -> None:
        """The pieces of parts that are split into branches; what is in none of them stays where it goes."""
        span = max(self.sizes[name] for name in self.attributes) + 1
        first = branches[PART] * span + branches["ppdm_first"]
        order = np.argsort(first)
        split = np.zeros(int(self._part[-1]) + 1, dtype=bool)
        split[branches[PART]] = True
        here = np.flatnonzero(split[self._part])
        key = self._part[here] * span + value[here]
        place = order[np.maximum(np.searchsorted(first[order], key, side="right") - 1, 0)]
        last = branches[PART] * span + branches["ppdm_last"]
        inside = (first[place] <= key) & (key <= last[place])
        target[here[inside]] = branches["ppdm_child"][place[inside]]

    def _pull(self, pulls: Pulls, child: Ints, target: Ints) -> Ints:
        """Targets of the open pieces when some rows go elsewhere; where these are not all of a piece, it is divided."""
        where = np.argsort(self._open)
        place = where[np.searchsorted(self._open[where], pulls.entry)]
        whole = pulls.rows == self.measures[N][pulls.entry]
        target[place[whole]] = child[whole]
        if whole.all():
            return target
        entry, rows, moved = pulls.entry[~whole], pulls.rows[~whole], child[~whole]
        new = np.arange(len(self.cell), len(self.cell) + len(entry))
        self.codes = {name: np.append(codes, codes[entry]) for name, codes in self.codes.items()}
        self.measures = self._divided_measures(entry, rows)
        self.cell, self.start = np.append(self.cell, self.cell[entry]), np.append(self.start, self.start[entry])
        self.start[entry] += rows
        self._node = np.append(self._node, np.full(len(entry), -1))
        self._open, self._part = np.append(self._open, new), np.append(self._part, self._part[place[~whole]])
        return np.append(target, moved)

    def _divided_measures(self, entry: Ints, rows: Ints) -> dict[str, Ints]:
        """The measures with the first rows of some pieces apart; rows that weigh come first."""
        found = {}
        for name, amounts in self.measures.items():
            each = amounts[entry] // self.measures[N][entry]
            taken = np.minimum(rows, amounts[entry]) if name == WEIGHT else each * rows
            found[name] = np.append(amounts, taken)
            found[name][entry] -= taken
        return found

    def finish(self) -> Ints:
        """The node of every piece."""
        assert not len(self._open)
        return self._node
