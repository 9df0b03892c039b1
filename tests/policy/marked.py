"""Texts that carry the places of their mistakes: a « stands right before each offending token."""

from __future__ import annotations

import pytest

from ppdm_sql.errors import Mistake, PolicyError
from ppdm_sql.policy.grammar import parse

MARK = "«"


def unmarked(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The text without its marks, and the line and column of each mark, both from 1."""
    places: list[tuple[int, int]] = []
    clean: list[str] = []
    line = column = 1
    for character in text:
        if character == MARK:
            places.append((line, column))
            continue
        clean.append(character)
        line, column = (line + 1, 1) if character == "\n" else (line, column + 1)
    return "".join(clean), places


def mistakes_of(text: str, dialect: str = "duckdb") -> tuple[Mistake, ...]:
    with pytest.raises(PolicyError) as caught:
        parse(text, file="policy.sql", dialect=dialect)
    assert caught.value.file == "policy.sql"
    assert caught.value.exit_code == 2
    return caught.value.mistakes


def assert_mistakes(marked: str, *messages: str, dialect: str = "duckdb") -> None:
    """The text has exactly these mistakes, each at its mark, each message starting as told."""
    text, places = unmarked(marked)
    found = mistakes_of(text, dialect)
    assert [(m.line, m.column) for m in found] == places, found
    for mistake, message in zip(found, messages, strict=True):
        assert mistake.message.startswith(message), mistake.message
