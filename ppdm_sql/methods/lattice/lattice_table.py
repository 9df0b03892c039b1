"""The cells of a job as a lattice: its columns with their levels, its groupings, and what every group must meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ppdm_sql.cells.cells import Ints
from ppdm_sql.cells.parts import DROPPED, Parts
from ppdm_sql.methods.base import CellJob
from ppdm_sql.methods.lattice.groupings import GroupingCache, Levels
from ppdm_sql.methods.lattice.levels import LevelColumn, level_columns
from ppdm_sql.methods.lattice.qualities import Lattice
from ppdm_sql.methods.plan import ValueLabels
from ppdm_sql.methods.shared.columns import cell_axis
from ppdm_sql.methods.shared.limits import Demands, secret_of
from ppdm_sql.source.lines import Flags


@dataclass(frozen=True)
class LatticeTable:
    columns: tuple[LevelColumn, ...]
    cache: GroupingCache
    demands: Demands
    lattice: Lattice

    def parts(self, levels: Levels, kept: Flags) -> tuple[Parts, dict[str, list[str | None]]]:
        """The class of every cell of a node, and what every class prints; groups that are not kept are left out."""
        node, number = self.cache.rolled_up(self.cache.base, levels, numbered=True)
        assert number is not None
        classes = np.where(kept, np.cumsum(kept) - 1, DROPPED)
        part = classes[number[self.cache.base_of_cell]]
        labels = {}
        for column, field, level in zip(self.columns, self.lattice.fields, levels, strict=True):
            codes = node.label_codes(field, np.flatnonzero(kept))
            labels[column.name] = [column.levels[level].labels[code] for code in codes.tolist()]
        return Parts(part, int(kept.sum())), labels

    def value_labels(self, levels: Levels) -> dict[str, ValueLabels]:
        """What every value is published as."""
        found = {}
        for column, place in zip(self.columns, levels, strict=True):
            level = column.levels[place]
            texts = [level.labels[code] for code in level.codes.tolist()]
            found[column.name] = ValueLabels(texts, of_any_value=level.number == column.height)
        return found


def read_lattice(job: CellJob, told: Sequence[str]) -> LatticeTable:
    """The lattice of a job; told: columns whose values are counted per group, in addition to the sensitive ones."""
    cells, columns = job.cells, level_columns(job)
    secrets = tuple(secret_of(job, cell_axis(cells, name), cells.total) for name in job.sensitive)
    cache = GroupingCache(cells, columns, [*job.sensitive, *told])
    lattice = Lattice(columns, cache.fields, cells.total, job.k, tuple(_label_rows(job, one) for one in columns))
    return LatticeTable(columns, cache, Demands(job.k, secrets), lattice)


def _label_rows(job: CellJob, column: LevelColumn) -> tuple[Ints, ...]:
    """Per level the rows of every label."""
    cells = job.cells[column.name]
    rows = np.zeros(cells.size, dtype=np.int64)
    np.add.at(rows, cells.codes, job.cells.rows)
    found = []
    for level in column.levels:
        of_labels = np.zeros(len(level.labels), dtype=np.int64)
        np.add.at(of_labels, level.codes, rows)
        found.append(of_labels)
    return tuple(found)
