"""Rows of a cell, or some of them: what can be pulled up out of its part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ppdm_sql.source.lines import Ints


@dataclass(frozen=True)
class Pieces:
    """Rows of one cell that are in one part, entry by entry."""

    part: Ints
    entry: Ints  # where they stand among all pieces
    cell: Ints
    rows: Ints
    persons: Ints
    codes: tuple[Ints, ...]
    secrets: tuple[Ints, ...]  # those of the sensitive columns

    def only(self, wanted: Ints | slice) -> Pieces:
        codes, secrets = (tuple(one[wanted] for one in columns) for columns in (self.codes, self.secrets))
        part, entry, cell = (one[wanted] for one in (self.part, self.entry, self.cell))
        return Pieces(part, entry, cell, self.rows[wanted], self.persons[wanted], codes, secrets)


@dataclass(frozen=True)
class Pulls:
    """Rows that leave their label for the rest of their part: the first ones of their pieces."""

    part: Ints
    entry: Ints
    rows: Ints
    persons: Ints

    @staticmethod
    def joined(several: Sequence[Pulls]) -> Pulls:
        def column(name: str) -> Ints:
            return np.concatenate([np.zeros(0, dtype=np.int64), *(getattr(one, name) for one in several)])

        return Pulls(column("part"), column("entry"), column("rows"), column("persons"))
