"""The columns of a relation: what kind of values each holds; and the rows that a query returns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Any

from sqlglot import exp

Row = tuple[Any, ...]
Rows = list[Row]


class Kind(Enum):
    """What a column's values are, as far as anonymization cares."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    FLOAT = "float"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    UUID = "uuid"
    UNSUPPORTED = "unsupported"

    @property
    def is_ordered(self) -> bool:
        """Whether a range of values means something: numbers and moments, not words."""
        return self in (Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT, Kind.DATE, Kind.TIMESTAMP)


@dataclass(frozen=True)
class Outside:
    """A relation that is not stored in the open database: a file, or a table of an attached one (outside.py)."""

    rows: exp.Table  # what reads it
    title: str  # its name in the ledger
    alias: str  # what a query calls it that gives it no name


@dataclass(frozen=True)
class Table:
    """What pass-through SQL returned, for showing; rows is cut at the limit the caller gave."""

    columns: tuple[str, ...]
    rows: Rows


@dataclass(frozen=True)
class ColumnInfo:
    """A column of a relation: its exact name, its kind and its type in the engine's own words."""

    name: str
    kind: Kind
    declared: str

    @property
    def shape(self) -> str:
        """The declared type for messages: without what an ENUM lists."""
        return without_labels(self.declared)


def without_labels(text: str) -> str:
    """A message about types without what an ENUM lists: those are values.

    >>> without_labels("No function matches 'sum(ENUM('flu', 'it''s hiv'))'. You might need to add casts.")
    "No function matches 'sum(ENUM)'. You might need to add casts."
    """
    return re.sub(r"ENUM\('(?:[^']|'')*'(?:, *'(?:[^']|'')*')*\)", "ENUM", text)


def smallest_integer(size: int, *, unsigned: bool) -> str:
    """The smallest integer type that holds the codes 0 .. size - 1.

    >>> smallest_integer(256, unsigned=True), smallest_integer(256, unsigned=False)
    ('UTINYINT', 'SMALLINT')
    """
    types = ("UTINYINT", "USMALLINT", "UINTEGER") if unsigned else ("SMALLINT", "INT", "BIGINT")
    limits = (1 << 8, 1 << 16, 1 << 32) if unsigned else (1 << 15, 1 << 31, 1 << 63)
    return next(name for name, limit in zip(types, limits, strict=True) if size <= limit)
