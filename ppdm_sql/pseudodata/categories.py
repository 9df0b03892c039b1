"""Categories of a column: those that the model names, and those that were declared; never those of the data.

A declared category is read as what the column holds.  A text is read, too: that is how a command line has all of them,
and how a number of more than 18 digits is written.  What it says must be said exactly: nothing is rounded or guessed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Context, Decimal
from fractions import Fraction
from typing import TypeAlias

from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.trees.comparing import category, key, read_moment
from ppdm_sql.trees.tree import Attribute, Groups, Tree, Value

Given: TypeAlias = Fraction | str | bool

_EXACT = Context(prec=80)  # a number of a policy has 36 digits at most
_DECIMAL = re.compile(r"-?[0-9]{1,38}(\.[0-9]{1,38})?", re.ASCII)
_FLOAT = re.compile(r"-?([0-9]{1,400}(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,3})?|Infinity)|NaN", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class Listed:
    """Categories as they were declared."""

    values: tuple[Given, ...]


def declared_categories(attribute: Attribute, listed: Listed, named: tuple[Value, ...]) -> tuple[Value, ...]:
    """The declared categories as values of the column; those that the model names are written as it writes them.

    >>> ward = Attribute("ward", Kind.TEXT, ordered=False)
    >>> declared_categories(ward, Listed(("C", "A", "B")), named=("A",))
    ('A', 'B', 'C')
    """
    found: dict[Hashable, Value] = {}
    for given in listed.values:
        value = _read(attribute, given)
        if _key(attribute, value) in found:
            raise PolicyError(f'domains: the categories of column "{attribute.name}" list one twice')
        found[_key(attribute, value)] = value
    known = {_key(attribute, value): value for value in named}
    missing = len(known.keys() - found.keys())
    if missing:
        raise PolicyError(
            f'domains: the categories of column "{attribute.name}" lack {missing:,} of the {len(known):,} that the '
            "model names"
        )
    return in_order(dict.fromkeys((found | known).values()))


def named_categories(tree: Tree, number: int) -> tuple[Value, ...]:
    """What the questions about a column name."""
    found: dict[Value, None] = {}
    for node in tree.nodes:
        if isinstance(node.split, Groups) and node.split.attribute == number:
            found |= dict.fromkeys(value for group in node.split.groups for value in group if value is not None)
    return in_order(found)


def in_order(values: Mapping[Value, None]) -> tuple[Value, ...]:
    """Categories in an order of their own: NaN, which has no place among numbers, last."""
    return tuple(sorted(values, key=lambda value: (str(type(value)), value != value, 0 if value != value else value)))


def _key(attribute: Attribute, value: Value) -> Hashable:
    found = key(attribute, value)
    return str(found).lower() if attribute.kind is Kind.UUID else found


# -- what was declared, as a value -----------------------------------------------------------------------


def _read(attribute: Attribute, given: Given) -> Value:
    wanted, read = _KINDS.get(attribute.kind, ("impossible to declare for its type", _nothing))
    value = read(attribute, given)
    if value is None:
        raise PolicyError(f'domains: the categories of column "{attribute.name}" are {wanted}')
    return value


def _nothing(attribute: Attribute, given: Given) -> Value:
    return None


def _text(attribute: Attribute, given: Given) -> Value:
    if not isinstance(given, str) or "\x00" in given:
        return None
    try:
        given.encode()
    except UnicodeEncodeError:  # bytes of a command line that are no text
        return None
    return given


def _boolean(attribute: Attribute, given: Given) -> Value:
    if isinstance(given, bool):
        return given
    return {"true": True, "false": False}.get(given.lower()) if isinstance(given, str) else None


def _uuid(attribute: Attribute, given: Given) -> Value:
    return given.lower() if isinstance(given, str) and _UUID.fullmatch(given) else None


def _whole(attribute: Attribute, given: Given) -> Value:
    number = _number(given)
    if number is None or number.denominator != 1 or not -(2**63) <= number < 2**63:
        return None
    return int(number)


def _decimal(attribute: Attribute, given: Given) -> Value:
    number = _number(given)
    if number is None:
        return None
    exact = _EXACT.divide(Decimal(number.numerator), Decimal(number.denominator))
    return None if category(attribute, exact) is None else exact


def _number(given: Given) -> Fraction | None:
    if isinstance(given, str):
        return Fraction(given) if _DECIMAL.fullmatch(given) else None
    return given if isinstance(given, Fraction) else None


def _float(attribute: Attribute, given: Given) -> Value:
    if isinstance(given, Fraction):
        return float(given)
    if not isinstance(given, str) or not _FLOAT.fullmatch(given):
        return None
    number = float(given)
    return None if math.isinf(number) and "I" not in given else number


def _moment(attribute: Attribute, given: Given) -> Value:
    """A day or a moment in UTC, to the microsecond, as every engine writes it."""
    found = read_moment(given) if isinstance(given, str) else None
    if found is None or found[1] % 1000:
        return None
    try:
        moment = datetime(1970, 1, 1) + timedelta(seconds=found[0], microseconds=found[1] // 1000)
    except OverflowError:  # beyond the years 1 to 9999
        return None
    if attribute.kind is Kind.TIMESTAMP:
        return moment.isoformat(sep=" ")
    return None if moment.time() != datetime.min.time() else moment.date().isoformat()


_KINDS: Mapping[Kind, tuple[str, Callable[[Attribute, Given], Value]]] = {
    Kind.TEXT: ("texts, as in (ward, ('A', 'B'))", _text),
    Kind.BOOLEAN: ("true and false", _boolean),
    Kind.UUID: ("texts of 32 hexadecimal digits in five groups", _uuid),
    Kind.INTEGER: ("whole numbers of at most 64 bits", _whole),
    Kind.DECIMAL: ("numbers that it can hold", _decimal),
    Kind.FLOAT: ("numbers", _float),
    Kind.DATE: ("days such as '2001-12-31' within the years 1 to 9999", _moment),
    Kind.TIMESTAMP: ("dates and times such as '2001-12-31 10:00:00' within the years 1 to 9999", _moment),
}
