"""Types of an engine whose values are ranges of numbers or moments."""

from __future__ import annotations

from abc import ABC, abstractmethod

from sqlglot import exp

from ppdm_sql.engines.columns import ColumnInfo


class NativeRanges(ABC):
    """How ranges are made and taken apart; NULL is a missing value, and a range without ends a suppressed one."""

    @abstractmethod
    def type_of(self, info: ColumnInfo) -> str | None:
        """The type for ranges of the values of a column; None where there is none."""

    @abstractmethod
    def has_type(self, declared: str) -> bool:
        """Whether this is one of the types."""

    @abstractmethod
    def make(self, info: ColumnInfo, low: exp.Expr, stop: exp.Expr, kind: exp.Expr) -> exp.Expr:
        """A range from low on and below stop; kind: exact for a value by itself, NULL for one that is missing."""

    @abstractmethod
    def ends(self, value: exp.Expr) -> tuple[exp.Expr, exp.Expr, exp.Expr]:
        """Where a range starts and ends, and whether its end is in it: then it is a value by itself."""
