"""A value as text: the one spelling by which a hierarchy's leaf and a column's value are matched."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

# A hostile file may hold 1e999999999: short exponents only, and Decimal never writes the zeros out.
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")


def leaf_text(value: object) -> str:
    """The text of a value, as DuckDB's CAST(... AS VARCHAR) writes it.

    A DECIMAL keeps the digits of its type and a moment with a time zone is printed in UTC.  Zero and NaN
    have no sign, because SQL counts both signs as one value.  Text is taken byte for byte.

    >>> [leaf_text(v) for v in (17, Decimal("1.50"), 0.1, -0.0, True, "O'Hara ")]
    ['17', '1.50', '0.1', '0.0', 'true', "O'Hara "]
    >>> leaf_text(date(2024, 2, 29)), leaf_text(datetime(2024, 2, 29, 8, 30)), leaf_text(UUID(int=10))
    ('2024-02-29', '2024-02-29 08:30:00', '00000000-0000-0000-0000-00000000000a')
    >>> leaf_text(datetime(2024, 2, 29, 8, 30, 0, 250_000, tzinfo=UTC))
    '2024-02-29 08:30:00.25+00'
    """
    match value:
        case str():
            return value
        case bool():  # before int: True is one
            return "true" if value else "false"
        case int() | UUID():
            return str(value)
        case float():
            return repr(value + 0.0)
        case Decimal():
            return format(value, "f") if value.is_finite() else str(value).lower()
        case datetime():  # before date: a datetime is one
            return _moment_text(value)
        case date():
            return value.isoformat()
    raise TypeError(f"a {type(value).__name__} has no text form")  # the value itself is data: not told


def _moment_text(value: datetime) -> str:
    zone = "" if value.tzinfo is None else "+00"
    plain = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
    text = plain.isoformat(sep=" ")
    return (text.rstrip("0") if plain.microsecond else text) + zone


def natural_order(text: str) -> tuple[int, Decimal, str]:
    """A sort key: numbers first, by size, then everything else by code points.

    >>> sorted(["10", "b", "9", "a", "-1.5"], key=natural_order)
    ['-1.5', '9', '10', 'a', 'b']
    """
    if _NUMBER.fullmatch(text):
        return 0, Decimal(text), text
    return 1, Decimal(0), text
