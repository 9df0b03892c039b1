"""The one reader of JSON: it reads what the standard allows and nothing else."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from ppdm_sql.errors import PolicyError

_MOST_BYTES = 64 * 1024 * 1024
_MOST_DIGITS = 1_000
_DEEPEST = 500  # objects and lists within each other


def read_json(
    text: str | bytes, what: str, *, most_digits: int = _MOST_DIGITS, deepest: int = _DEEPEST, most: int = _MOST_BYTES
) -> Any:
    """The value of a JSON text: no NaN, no key twice, no depth or size without end.

    what: the text as a refusal names it.

    >>> read_json('{"a": [1, null]}', "the model file")
    {'a': [1, None]}
    >>> read_json('{"a": 1, "a": 2}', "the model file")
    Traceback (most recent call last):
    ...
    ppdm_sql.errors.PolicyError: the model file is damaged: an object has the same key twice
    """
    size = len(text) if isinstance(text, bytes) else len(text.encode("utf-8", "surrogatepass"))
    if size > most:
        raise PolicyError(f"{what} is larger than {most // (1024 * 1024)} MB")

    def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise PolicyError(f"{what} is damaged: an object has the same key twice")
        return found

    def refuse_number(_: str) -> NoReturn:
        raise PolicyError(f"{what} is not JSON: NaN and Infinity are not JSON numbers")

    def whole_number(digits: str) -> int:
        if len(digits) > most_digits:
            raise PolicyError(f"{what} is damaged: a whole number has more than {most_digits:,} digits")
        return int(digits)

    try:
        decoded = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        value = json.loads(decoded, object_pairs_hook=once_each, parse_constant=refuse_number, parse_int=whole_number)
    except UnicodeDecodeError:
        raise PolicyError(f"{what} is not UTF-8 text") from None
    except RecursionError:
        raise PolicyError(f"{what} is nested too deeply") from None
    except json.JSONDecodeError as error:  # its own text quotes nothing, but the cause holds the document
        raise PolicyError(f"{what} is not JSON: line {error.lineno}, column {error.colno}") from None
    if not _is_flat_enough(value, deepest):
        raise PolicyError(f"{what} is nested too deeply")
    return value


def _is_flat_enough(value: Any, deepest: int) -> bool:
    level = [value]
    for _ in range(deepest):
        holders = [item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list)]
        level = [item for holder in holders for item in holder]
        if not level:
            return True
    return False
