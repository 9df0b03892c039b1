"""The exchange file of a model: JSON that says what it is, holds every value exactly, and is never believed.

    {"format": "ppdm-model", "version": 1, "kind": "tree", "name": "readmission", "model": {...}}

The version is the least that can say what the file says: 2 for a tree that has bands, 1 for everything else.  So what
was written before is written the same way still, and a reader of version 1 refuses only what it cannot understand.

`model` is the kind's own: of a tree what tree_json.py writes, of the classifiers their to_dict().  model.schema.json
describes the file for other programs.  Reading checks by hand what the schema says and, of a tree, what no schema can
say: a file may come from anybody, and a wrong one is refused with one sentence before anything is made of it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from ppdm_sql.errors import PolicyError
from ppdm_sql.json_reader import read_json
from ppdm_sql.trees.tree import Value

FORMAT = "ppdm-model"
VERSIONS = (1, 2)
BANDS_VERSION = 2  # the first that knows bands
KINDS = ("tree", "naive_bayes", "rules", "parts")
MOST_BYTES = 64 * 1024 * 1024
_DEEPEST = 40  # objects and lists within each other; a tree's file needs eight
_LONGEST_NAME = 200
_MOST_DIGITS = 20  # of a count
_LONGEST_NUMBER = 2_000  # characters
_FARTHEST = 10_000  # exponent of a decimal number


@dataclass(frozen=True)
class Document:
    """A file that was read: its kind, the model's own part, the name it was exported under, and its version."""

    kind: str
    model: dict[str, Any]
    name: str | None = None
    version: int = 1


def write(kind: str, model: Mapping[str, Any], name: str | None = None, *, version: int = 1) -> str:
    """The text of the file: one line per node, so that two files can be compared line by line."""
    if kind not in KINDS:
        raise ValueError(f"{kind} is no kind of model")
    head: dict[str, Any] = {"format": FORMAT, "version": version, "kind": kind}
    if name is not None:
        head["name"] = name
    return _laid_out({**head, "model": dict(model)}) + "\n"


def _laid_out(value: Any, indent: str = "") -> str:
    """JSON with an object's entries, and a list's objects, on lines of their own, three levels deep."""
    inner = indent + "  "
    if isinstance(value, dict) and value and len(indent) < 4:
        entries = [f"{inner}{_dump(key)}: {_laid_out(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(entries) + f"\n{indent}}}"
    if isinstance(value, list) and value and isinstance(value[0], dict) and len(indent) < 6:
        return "[\n" + ",\n".join(inner + _dump(item) for item in value) + f"\n{indent}]"
    return _dump(value)


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def read(text: str | bytes) -> Document:
    """A file's text, as far as it can be checked without knowing the kind."""
    value = read_json(text, "the model file", most_digits=_MOST_DIGITS, deepest=_DEEPEST, most=MOST_BYTES)
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise PolicyError(f'this is not a model file: it does not begin with "format": "{FORMAT}"')
    version = value.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version not in VERSIONS:
        known = ", ".join(map(str, VERSIONS))
        raise PolicyError(f"the model file has a version that this ppdm_sql does not know; it reads {known}")
    fields(value, "the file", {"format", "version", "kind", "model"}, {"name"})
    kind = text_of(value["kind"], "kind")
    if kind not in KINDS:
        refuse(f"kind must be one of {', '.join(KINDS)}")
    name = name_of(value["name"], "name") if "name" in value else None
    if not isinstance(value["model"], dict):
        refuse("model must be an object")
    return Document(kind, value["model"], name, version)


# -- the parts of a file, checked ------------------------------------------------------------------------------------


def refuse(what: str) -> NoReturn:
    raise PolicyError(f"the model file is damaged: {what}")


def fields(
    value: Any, where: str, needed: set[str], allowed: set[str] | frozenset[str] = frozenset()
) -> dict[str, Any]:
    if not isinstance(value, dict):
        refuse(f"{where} must be an object")
    missing = sorted(needed - value.keys())
    if missing:
        refuse(f"{where} has no {missing[0]}")
    if value.keys() - needed - allowed:
        refuse(f"{where} has an entry that this version does not know")
    return value


def items(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        refuse(f"{where} must be a list")
    return value


def text_of(value: Any, where: str) -> str:
    """A text that every engine can hold."""
    if not isinstance(value, str):
        refuse(f"{where} must be a text")
    if "\0" in value:
        refuse(f"{where} contains a NUL character")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            refuse(f"{where} is not valid Unicode")
    return value


def name_of(value: Any, where: str) -> str:
    text = text_of(value, where)
    if not 0 < len(text) <= _LONGEST_NAME:
        refuse(f"{where} must have 1 to {_LONGEST_NAME} characters")
    return text


def whole(value: Any, where: str, most: int = (1 << 63) - 1) -> int:
    """A count or a number of something: never below 0."""
    if not isinstance(value, int) or isinstance(value, bool):
        refuse(f"{where} must be a whole number")
    if not 0 <= value <= most:
        refuse(f"{where} must lie between 0 and {most}")
    return value


def flag(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        refuse(f"{where} must be true or false")
    return value


def figure(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        refuse(f"{where} must be a number")
    return float(value)


# -- values of the data ----------------------------------------------------------------------------------------------


def typed_value(value: Value) -> Any:
    """A value so that no reader of JSON can round it: numbers are texts under the name of their type.

    >>> [typed_value(value) for value in ("x", None, True, 5, Decimal("1.50"), 0.1)]
    ['x', None, True, {'integer': '5'}, {'decimal': '1.50'}, {'float': '0.1'}]
    """
    if value is None or isinstance(value, str | bool):
        return value
    name = {int: "integer", float: "float", Decimal: "decimal"}[type(value)]
    return {name: repr(value) if isinstance(value, float) else str(value)}


def read_typed_value(value: Any, where: str) -> Value:
    """The value that `typed_value` wrote."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return text_of(value, where)
    if not isinstance(value, dict) or len(value) != 1:
        refuse(f"{where} must be a text, true, false, null or an object with one entry")
    ((name, text),) = value.items()
    if name == "decimal":
        return decimal_of(text, where)
    if name not in ("integer", "float") or not isinstance(text, str) or not 0 < len(text) <= 400 or not text.isascii():
        refuse(f"{where} must be an integer, a decimal or a float, written as a text")
    try:
        number = int(text) if name == "integer" else float(text)
    except ValueError:
        refuse(f"{where} is not a number")
    if text != (str(number) if name == "integer" else repr(number)):
        refuse(f"{where} is not a number in its plain form")
    return number


def decimal_of(value: Any, where: str) -> Decimal:
    """A decimal number; infinite ones are for floating-point columns, and NaN is none."""
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_NUMBER or not value.isascii() or "_" in value:
        refuse(f"{where} must be a number, written as a text")
    try:
        number = Decimal(value)
    except InvalidOperation:
        refuse(f"{where} is not a number")
    if number.is_nan():
        refuse(f"{where} is not a number")
    if number.is_finite() and not -_FARTHEST <= number.adjusted() <= _FARTHEST:
        refuse(f"{where} is further from 1 than any column reaches")
    return number
