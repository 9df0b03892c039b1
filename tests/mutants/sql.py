"""One change in a statement of sql/, token by token, so that its comments and layout stay.

Comparisons, AND and OR, constants, arithmetic, MIN and MAX, forms of COUNT, kinds of JOIN, UNION and the order of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import sqlglot
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

from tests.mutants.python import Mutant

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "=": "<>", "<>": "=", "!=": "="}
_OTHERS = {
    "+": "-", "-": "+", "/": "*", "AND": "OR", "OR": "AND", "MIN": "MAX", "MAX": "MIN", "SUM": "MAX", "DESC": "ASC",
    "GREATEST": "LEAST", "LEAST": "GREATEST", "FLOOR": "CEIL", "CEIL": "FLOOR",
}  # fmt: skip


def mutants(root: Path, path: str) -> Iterator[Mutant]:
    """
    >>> from tests.mutants.targets import ROOT
    >>> [mutant.operator for mutant in mutants(ROOT, "sql/checks/undersized_classes.sql")]
    ['COUNT(*) -> COUNT(NULL)', 'COUNT(*) -> COUNT(NULL)', '< -> <=', '< -> >=']
    """
    text = (root / path).read_text(encoding="utf-8")
    tokens = sqlglot.tokenize(text, dialect="duckdb")
    for place in range(len(tokens)):
        for start, end, new in _changes(tokens, place):
            code = text[:start] + new + text[end:]
            if _parses(code):
                told = f"{text[start:end]} -> {new}".replace("\n", " ")
                yield Mutant(path, tokens[place].line, told, code, occurrence=place)


def _changes(tokens: Sequence[Token], place: int) -> Iterator[tuple[int, int, str]]:
    """(start, end, new text): end is behind the last character."""
    token, word = tokens[place], tokens[place].text.upper()
    here = token.start, token.end + 1
    before = tokens[place - 1].text.upper() if place else ""
    after = [one.text.upper() for one in tokens[place + 1 : place + 4]]
    if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
        return
    if word in COMPARISONS:
        yield *here, COMPARISONS[word]
        if word in ("<", "<=", ">", ">="):
            yield *here, {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}[word]
    elif word in _OTHERS and not (word == "AND" and _is_between(tokens, place)):
        if word.isalpha() and word not in ("AND", "OR", "DESC") and after[:1] != ["("]:
            return
        yield *here, _OTHERS[word]
    elif word == "*" and token.token_type is TokenType.STAR and before not in ("(", "SELECT", ",", "."):
        yield *here, "+"
    elif token.token_type is TokenType.NUMBER:
        yield *here, f"{int(token.text) + 1}" if token.text.isdigit() else "0"
    elif word == "COUNT" and after[:3] == ["(", "*", ")"]:
        yield token.start, tokens[place + 3].end + 1, "COUNT(NULL)"
    elif (word == "DISTINCT" and before in ("(", "SELECT")) or (word == "LEFT" and after[:1] == ["JOIN"]):
        yield *here, ""
    elif word == "JOIN" and before not in ("LEFT", "CROSS", "INNER", "FULL"):
        yield *here, "LEFT JOIN"
    elif (word == "ALL" and before == "UNION") or word == "NOT":
        yield *here, ""
    elif word == "NULL" and before == "IS":
        yield *here, "NOT NULL"


def _is_between(tokens: Sequence[Token], place: int) -> bool:
    words = [token.text.upper() for token in tokens[max(0, place - 6) : place]]
    return "BETWEEN" in words and "AND" not in words[words.index("BETWEEN") :]


def _parses(code: str) -> bool:
    try:
        return sqlglot.parse_one(code, dialect="duckdb") is not None
    except SqlglotError:
        return False


def is_comparison(mutant: Mutant) -> bool:
    """
    >>> is_comparison(Mutant("a.sql", 1, "< -> <=", "")), is_comparison(Mutant("a.sql", 1, "MIN -> MAX", ""))
    (True, False)
    """
    return mutant.operator.split(" ")[0] in COMPARISONS
