"""k-anonymity when NULL may be any value: every row is compared with every other."""

from __future__ import annotations

from collections.abc import Sequence

from .classes import Row, Rows
from .values import printed


def null_matches_all_k(rows: Rows, quasi: Sequence[str]) -> int:
    """The least number of rows (itself included) that agree with a row wherever both are known.

    >>> null_matches_all_k([{"a": "x", "b": "1"}, {"a": None, "b": "1"}, {"a": "y", "b": None}], ["a", "b"])
    2
    """
    return min((sum(_agree(row, other, quasi) for other in rows) for row in rows), default=0)


def _agree(one: Row, other: Row, quasi: Sequence[str]) -> bool:
    return all(one[name] is None or other[name] is None or printed(one[name]) == printed(other[name]) for name in quasi)
