"""Reads printed labels back: which values a label stands for.  Written against the docs, not against the code."""

from __future__ import annotations

import math
import re
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from naive_mondrian import leaf_text, special


def covers(label: str | None, value, marker: str = "*", levels: tuple[str, ...] | None = None, order=None) -> bool:
    """Whether a printed label may stand for a value; levels: the value's labels in its hierarchy; order: declared."""
    if label == marker:
        return True
    if label is None or value is None:
        return label is None and value is None
    if levels is not None:
        return label in levels
    if label == leaf_text(value) or label.strip("{}") == "other":
        return True
    if special(value) or isinstance(value, bool):
        return isinstance(value, bool) and any(m in (..., leaf_text(value)) for m in members(label))
    if isinstance(value, str) and order is not None:
        return any(
            member is ...
            or member == value
            or (isinstance(member, tuple) and value in order[order.index(member[0]) : order.index(member[1]) + 1])
            for member in members(label)
        )
    if isinstance(value, str):
        return any(
            member is ...
            or member == value
            or (isinstance(member, tuple) and member[0].encode() <= value.encode() <= member[1].encode())
            for member in members(label)
        )
    if not label.startswith(("< ", ">= ", "[")):
        return False  # another value
    low, high = ends(label, value)
    return (low is None or low <= position(value)) and (high is None or position(value) < high)


def ends(label: str, like) -> tuple[Fraction | None, Fraction | None]:
    """The boundaries of `< x`, `>= x`, `[x, y)`."""
    if below := re.fullmatch(r"< (.+)", label):
        return None, read(below.group(1), like)
    if above := re.fullmatch(r">= (.+)", label):
        return read(above.group(1), like), None
    between = re.fullmatch(r"\[(.+), (.+)\)", label)
    assert between, label
    return read(between.group(1), like), read(between.group(2), like)


def read(text: str, like) -> Fraction:
    if isinstance(like, datetime):
        return position(datetime.fromisoformat(text))
    if isinstance(like, date):
        return position(date.fromisoformat(text))
    return Fraction(Decimal(text))


def position(value):
    if isinstance(value, datetime):
        return Fraction((value - datetime(1970, 1, 1)) // timedelta(microseconds=1), 10**6)
    if isinstance(value, date):
        return Fraction(value.toordinal())
    if isinstance(value, float):
        return Fraction(repr(value)) if math.isfinite(value) else value
    return Fraction(value)


def members(label: str) -> list:
    """The values of a list {a, b}, escapes taken back; ... is Ellipsis, and a .. b a pair."""
    braces = len(label) - len(label.lstrip("{"))
    if not braces or not label.endswith("}" * braces):
        return []
    letters = re.findall(r"\\.|.", label[braces:-braces], flags=re.DOTALL)  # an escaped letter is one
    pieces, at = [""], 0
    while at < len(letters):
        if letters[at : at + 2] == [",", " "]:
            pieces.append("")
            at += 2
        else:
            pieces[-1] += letters[at]
            at += 1
    return [... if piece == "..." else between(piece) for piece in pieces]


def between(piece: str):
    several = re.fullmatch(r"((?:\\.|[^\\])*?) \.\. ((?:\\.|[^\\])*)", piece, flags=re.DOTALL)
    ends = several.groups() if several else [piece]
    plain = [re.sub(r"\\(.)", r"\1", end, flags=re.DOTALL) for end in ends]
    return plain[0] if len(plain) == 1 else tuple(plain)
