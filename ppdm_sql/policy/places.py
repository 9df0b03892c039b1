"""Places inside a text of a policy, and what a message may show of such a text."""

from __future__ import annotations

import re
from dataclasses import replace

from sqlglot import exp

from ppdm_sql.policy.policy import Place
from ppdm_sql.policy.tokens import source_of

_STRING = re.compile(r"'(?:[^']|'')*'")
_QUOTED = re.compile(r"""(["'])(.*?)\1""")
_TYPES = frozenset(word for kind in exp.DataType.Type for word in re.findall(r"\w+", kind.value.casefold()))
_LONGEST = 120


def place_in(place: Place, text: str, offset: int) -> Place:
    r"""The place of an offset in a text that starts at a place.

    >>> place_in(Place(3, 5, "p.sql"), "SELECT a\nFROM t", 14), place_in(Place(3, 5), "SELECT a", 7).column
    (Place(line=4, column=6, file='p.sql'), 12)
    """
    found = source_of(text, None).place(offset)
    column = found.column + (place.column - 1 if found.line == 1 else 0)
    return replace(place, line=place.line + found.line - 1, column=column)


def place_of(place: Place | None, text: str, part: exp.Expr) -> Place | None:
    """Where the first name of a part of a parsed text stands."""
    starts = [name.meta["start"] for name in part.find_all(exp.Identifier) if "start" in name.meta]
    return place_in(place, text, min(starts)) if place is not None and starts else place


def without_texts(sql: str) -> str:
    r"""A piece of SQL as a message shows it: short, on one line, and nothing of what stands in strings.

    >>> without_texts("CAST(name || 'it''s' AS\n INT)")
    "CAST(name || '...' AS INT)"
    """
    line = " ".join(_STRING.sub("'...'", sql).split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."


def only_known_words(message: str, text: str) -> str:
    """A message of the engine about a text; what it quotes and does not have from the text can be a value.

    >>> only_known_words('column "id" must appear, not "John Smith"', "SELECT id FROM t")
    'column "id" must appear, not "..."'
    """
    known = {word.casefold() for word in re.findall(r"\w+", text)} | _TYPES

    def mask(found: re.Match[str]) -> str:
        words = re.findall(r"\w+", found[2])
        return found[0] if all(word.casefold() in known for word in words) else f"{found[1]}...{found[1]}"

    printable = "".join(c if c.isprintable() else " " for c in message)
    return _QUOTED.sub(mask, printable)
