"""A file as statements: cut at semicolons, by tokens, so that no quoted one is taken for an end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ppdm_sql.policy.tokens import Token, TokenKind


def statements(tokens: Iterable[Token]) -> Iterator[list[Token]]:
    """The tokens of each statement, without its semicolon; empty statements are left out.

    A semicolon in brackets ends the statement too: an unclosed bracket is then reported where it is,
    and does not swallow the rest of the file.
    """
    current: list[Token] = []
    blocks = 0
    for token in tokens:
        if token.kind is TokenKind.SIGN and token.text == ";" and not blocks:
            if current:
                yield current
            current = []
            continue
        blocks = _open_blocks(blocks, current, token)
        current.append(token)
    if current:
        yield current


def _open_blocks(blocks: int, before: list[Token], token: Token) -> int:
    """How deep in a function body written as BEGIN ATOMIC ...; ...; END, whose semicolons end no statement."""
    if blocks == 0:
        starts = token.word == "ATOMIC" and before and before[-1].word == "BEGIN" and _creates_routine(before)
        return 1 if starts else 0
    return blocks + {"CASE": 1, "END": -1}.get(token.word, 0)


def _creates_routine(before: list[Token]) -> bool:
    first = [token.word for token in before[:4]]
    return first[:1] == ["CREATE"] and ("FUNCTION" in first or "PROCEDURE" in first)
