"""Records that are kept as JSON: a dataclass whose fields are the keys, read and written in one place.

A key that is missing, or whose value has another shape than its field, makes the record a damaged one.
A field with a default is written only where it says something else.  Such a key is one that earlier versions did not
write, or that most records do not need, so a record is written as it was read.
Keys that are not known here are kept in `others` and written again: a later version may have added them, and the hash
of the record covers them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Self, Union, get_args, get_origin, get_type_hints


class DamagedRecordError(ValueError):
    """A stored record that is not what was written there; names the place, never a value."""


@dataclass(frozen=True)
class JsonForm:
    """How a field is written where its JSON has another form than its value."""

    read: Callable[[Any, str], Any]
    write: Callable[[Any], Any]


@dataclass(frozen=True)
class JsonRecord:
    """A JSON object as a dataclass; metadata={"key": "with"} is for a key that is no name in Python.

    >>> @dataclass(frozen=True)
    ... class Person(JsonRecord):
    ...     name: str
    ...     ages: tuple[int, ...]
    ...     note: str | None = None
    >>> read = Person.from_json({"name": "Ada", "ages": [36], "added": 1})
    >>> read.ages, read.to_json()
    ((36,), {'name': 'Ada', 'ages': [36], 'added': 1})
    >>> Person.from_json({"name": "Ada", "ages": [True]})
    Traceback (most recent call last):
    ...
    ppdm_sql.catalog.json_record.DamagedRecordError: ages[0] is not a whole number
    """

    others: Mapping[str, Any] = field(default_factory=dict, kw_only=True)  # keys of a later version

    @classmethod
    def from_json(cls, value: object, place: str = "") -> Self:
        """The record of a JSON object; DamagedRecordError where it is none."""
        if not isinstance(value, Mapping):
            raise DamagedRecordError(f"{place or 'the record'} is not an object")
        known = _fields(cls)
        found = {}
        for key, (name, hint, has_default) in known.items():
            if key in value:
                found[name] = _read_value(hint, value[key], f"{place}.{key}" if place else key)
            elif not has_default:
                raise DamagedRecordError(f"{place or 'the record'} has no {key}")
        return cls(**found, others={key: item for key, item in value.items() if key not in known})

    def to_json(self) -> dict[str, Any]:
        """The JSON object as it was read, or as it is to be stored."""
        hints, written = _fields(type(self)), {}
        for one in _json_fields(type(self)):
            value = getattr(self, one.name)
            if one.default is MISSING or value != one.default:
                written[_key(one)] = _write_value(hints[_key(one)][1], value)
        return written | dict(self.others)


def _key(one: Field[Any]) -> str:
    return str(one.metadata.get("key", one.name))


def _json_fields(cls: type[JsonRecord]) -> list[Field[Any]]:
    return [one for one in fields(cls) if one.name != "others"]


_KNOWN: dict[type[JsonRecord], dict[str, tuple[str, Any, bool]]] = {}


def _fields(cls: type[JsonRecord]) -> dict[str, tuple[str, Any, bool]]:
    """By key: the name of the field, its type, and whether it has a default; found once per class."""
    if cls not in _KNOWN:
        hints = get_type_hints(cls, include_extras=True)
        found = {_key(one): (one.name, hints[one.name], one.default is not MISSING) for one in _json_fields(cls)}
        _KNOWN[cls] = found
    return _KNOWN[cls]


# -- values ------------------------------------------------------------------------------------------------

_PLAIN = {str: "a text", int: "a whole number", bool: "true or false", type(None): "null"}


def _read_value(hint: Any, value: Any, place: str) -> Any:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return value
    if origin is Annotated:
        form: JsonForm = inner[1]
        return form.read(value, place)
    if origin in (Union, UnionType):
        return _read_either(inner, value, place)
    if origin is tuple:
        if not isinstance(value, list):
            raise DamagedRecordError(f"{place} is not a list")
        return tuple(_read_value(inner[0], item, f"{place}[{number}]") for number, item in enumerate(value))
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise DamagedRecordError(f"{place} is not an object")
        return {key: _read_value(inner[1], item, f"{place}[...]") for key, item in value.items()}
    return _read_plain(hint, value, place)


def _read_plain(kind: type, value: Any, place: str) -> Any:
    if issubclass(kind, JsonRecord):
        return kind.from_json(value, place)
    if issubclass(kind, Enum):
        try:
            return kind(value)
        except ValueError:
            raise DamagedRecordError(f"{place} is not one of the known words") from None
    if type(value) is not kind:  # True is no whole number
        raise DamagedRecordError(f"{place} is not {_PLAIN[kind]}")
    return value


def _read_either(hints: tuple[Any, ...], value: Any, place: str) -> Any:
    if value is None and type(None) in hints:
        return None
    *others, last = [hint for hint in hints if hint is not type(None)]
    for hint in others:
        try:
            return _read_value(hint, value, place)
        except DamagedRecordError:
            continue
    return _read_value(last, value, place)


def _write_value(hint: Any, value: Any) -> Any:
    if get_origin(hint) is Annotated and value is not None:
        form: JsonForm = get_args(hint)[1]
        return form.write(value)
    return plain_json(value)


def plain_json(value: Any) -> Any:
    """A value of a record in the types that JSON has."""
    if isinstance(value, JsonRecord):
        return value.to_json()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {key: plain_json(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain_json(item) for item in value]
    return value


# -- columns and their types -------------------------------------------------------------------------------


@dataclass(frozen=True)
class ColumnRecord(JsonRecord):
    """A published column and its declared type."""

    name: str
    type: str


def _read_columns(value: Any, place: str) -> dict[str, str]:
    found = _read_value(tuple[ColumnRecord, ...], value, place)
    return {one.name: one.type for one in found}


def _write_columns(columns: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "type": declared} for name, declared in columns.items()]


# A list, because the keys of a JSON object have no order.
Columns = Annotated[Mapping[str, str], JsonForm(_read_columns, _write_columns)]
