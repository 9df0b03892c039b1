"""Rows that are alike in all codes, and what happens where some of them go elsewhere than the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ppdm_sql.source.lines import Flags, Ints


@dataclass(frozen=True)
class Pieces:
    """Rows alike in all codes, or some of them, with the part they are in: what can be pulled up."""

    part: Ints
    keys: tuple[Ints, ...]  # the packed codes
    start: Ints  # the rank of the first of them among all rows that are alike
    rows: Ints
    persons: Ints
    codes: tuple[Ints, ...]
    secrets: tuple[Ints, ...]  # those of the sensitive columns

    def only(self, wanted: Flags | Ints | slice) -> Pieces:
        keys, codes, secrets = (
            tuple(one[wanted] for one in columns) for columns in (self.keys, self.codes, self.secrets)
        )
        part, start, rows, persons = (one[wanted] for one in (self.part, self.start, self.rows, self.persons))
        return Pieces(part, keys, start, rows, persons, codes, secrets)


@dataclass(frozen=True)
class Pulls:
    """Rows that leave their label for the rest of their part: the first ones of their pieces."""

    part: Ints
    keys: tuple[Ints, ...]
    start: Ints
    rows: Ints
    persons: Ints

    @staticmethod
    def joined(several: Sequence[Pulls], keys: int) -> Pulls:
        none = np.zeros(0, dtype=np.int64)
        part, start, rows, persons = (
            np.concatenate([none, *(getattr(one, name) for one in several)])
            for name in ("part", "start", "rows", "persons")
        )
        packed = tuple(np.concatenate([none, *(one.keys[number] for one in several)]) for number in range(keys))
        return Pulls(part, packed, start, rows, persons)
