"""Requirements on how many rows or persons a class holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from ppdm_sql.requirements.base import About, Requirement
from ppdm_sql.requirements.declared import WholeNumber


@dataclass(frozen=True)
class KAnonymity(Requirement):
    """Every class holds at least k rows, or k distinct entities (Samarati and Sweeney 1998)."""

    word = "k"
    about = About.SIZE
    example = "k = 10"
    k: Annotated[int, WholeNumber(2, because="k = 1 holds for every table, so it guarantees nothing")]

    @property
    def least_rows(self) -> int:
        return self.k

    def promise(self, members: str) -> str:
        return f"every person is one of at least {self.k} {members}"


def k_of(requirements: Iterable[Requirement]) -> int | None:
    """The k that is required; None where none is.

    >>> k_of([KAnonymity(5)]), k_of([])
    (5, None)
    """
    return max((item.k for item in requirements if isinstance(item, KAnonymity)), default=None)
