"""Which part of a release the rows of a cell are published in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ppdm_sql.cells.cells import Ints

PART = "ppdm_part"  # the class of a row
ENTITY = "ppdm_entity"  # the person of a row
DROPPED = -1  # rows that are not published
DIVIDED = -2  # rows that go to several parts


@dataclass(frozen=True)
class Shares:
    """So many rows of a bag go to a part, entry by entry; rows of a bag are taken in a keyed order.

    A bag is a number of cells whose rows are alike to the method.  Where persons are counted, the rows that weigh 1
    come first in that order.
    """

    bag: Ints
    first: Ints  # the place of the first row, from 1 on
    last: Ints
    part: Ints  # or DROPPED


@dataclass(frozen=True)
class Parts:
    """Per cell its part 0, 1, ..., DROPPED, or DIVIDED: then the cell is in a bag, and the shares say what happens."""

    part: Ints
    classes: int
    bag: Ints | None = None  # per cell; only where it is DIVIDED
    shares: Shares | None = None

    def dropped(self, rows: Ints) -> int:
        """How many rows are not published, given the rows per cell."""
        whole = int(rows[self.part == DROPPED].sum())
        if self.shares is None:
            return whole
        gone = self.shares.part == DROPPED
        return whole + int((self.shares.last - self.shares.first + 1)[gone].sum())

    @property
    def is_divided(self) -> bool:
        return bool(np.any(self.part == DIVIDED))
