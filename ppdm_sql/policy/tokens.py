"""A policy file as tokens: what is a word, a name, a string or a number, and where it stands.

The splitting into tokens is sqlglot's, so strings, comments, dollar quotes and quoted names are what the
engine's dialect says they are.  Places are counted here, from offsets: sqlglot's columns are end columns.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

import sqlglot
from sqlglot import TokenType
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token as SqlglotToken
from sqlglot.tokens import Tokenizer

from ppdm_sql.errors import Mistake, PolicyError
from ppdm_sql.policy.policy import Place
from ppdm_sql.policy.words import printable

# sqlglot needs about 3 s for a million one-character tokens; the whole reading has to stay below 10 s.
LARGEST_TEXT = 1_000_000
MOST_TOKENS = 250_000


_LOAD = "load data from a file or a table instead"


class TokenKind(Enum):
    """What a token is to the policy language; sqlglot's four hundred types are not needed."""

    WORD = "word"  # bare, so a keyword or a name whose case the engine folds
    QUOTED = "quoted name"
    STRING = "string"
    OTHER_STRING = "special string"  # E'..', $$..$$, x'..': never a value of ours
    NUMBER = "number"
    SIGN = "sign"
    END = "end"


class Token(NamedTuple):
    kind: TokenKind
    text: str  # of a name or string what is inside the quotes, else as written
    start: int
    end: int  # one past the last character

    @property
    def word(self) -> str:
        """The keyword this token can be, in capitals; empty when it is not a bare ASCII word."""
        return self.text.upper() if self.kind is TokenKind.WORD and self.text.isascii() else ""


@dataclass(frozen=True)
class PolicyText:
    """The text of a file, which can tell the place of an offset."""

    text: str
    file: str | None
    line_starts: tuple[int, ...]

    def place(self, offset: int) -> Place:
        line = bisect_right(self.line_starts, offset)
        return Place(line, offset - self.line_starts[line - 1] + 1, self.file)

    def mistake(self, message: str, offset: int) -> Mistake:
        place = self.place(offset)
        return Mistake(message, place.line, place.column)


def source_of(text: str, file: str | None) -> PolicyText:
    r"""The text with its places; refuses what no engine should be given.

    >>> source_of("a\r\nbc", None).place(4)
    Place(line=2, column=2, file=None)
    """
    if len(text) > LARGEST_TEXT:
        raise too_large(file)
    text = text.removeprefix("\ufeff")  # a byte order mark is no part of the first word
    starts = (0, *(found.end() for found in re.finditer(r"\r\n|\r|\n", text)))
    source = PolicyText(text, file, starts)
    bad = re.search("[\x00\ud800-\udfff]", text)
    if bad:
        what = "a NUL character" if bad.group() == "\x00" else "half a surrogate pair, which is not a character"
        raise PolicyError(source.mistake(f"{what} is not allowed in a policy file", bad.start()), file=file)
    return source


def too_large(file: str | None) -> PolicyError:
    return PolicyError(Mistake(f"a policy file can have at most {LARGEST_TEXT:,} characters; {_LOAD}", 1, 1), file=file)


def tokenize(source: PolicyText, dialect: sqlglot.Dialect) -> list[Token]:
    tokenizer = _tokenizer_class(type(dialect))(dialect=dialect)
    try:
        found = tokenizer.tokenize(source.text)
    except TokenError as cause:
        # Where the unreadable token starts is only in the tokenizer's state; the error has a window around its end.
        offset = min(tokenizer._core._start, max(len(source.text) - 1, 0))
        raise PolicyError(source.mistake(_unreadable(source.text, offset), offset), file=source.file) from cause
    if len(found) > MOST_TOKENS:
        told = f"a policy file can have at most {MOST_TOKENS:,} words and signs; {_LOAD}"
        raise PolicyError(source.mistake(told, found[MOST_TOKENS].start), file=source.file)
    return list(_ours(source.text, found))


@lru_cache(maxsize=32)
def _tokenizer_class(dialect: type[sqlglot.Dialect]) -> type[Tokenizer]:
    """The dialect's tokenizer without two habits that would hide a clause.

    EXPLAIN, CALL, ... turn the rest of their statement into one string, and a Jinja comment, which no engine
    takes for a comment, disappears.
    """
    base: type[Tokenizer] = dialect.tokenizer_class
    made: type[Tokenizer] = type(f"Policy{base.__name__}", (base,), {"COMMANDS": set[TokenType]()})
    made._COMMENTS.pop("{#", None)
    return made


def _unreadable(text: str, offset: int) -> str:
    names = {"'": "string", '"': "quoted name or string", "`": "quoted name", "$": "dollar-quoted string"}
    what = "comment" if text.startswith("/*", offset) else names.get(text[offset : offset + 1], "string")
    return f"the {what} that starts here is never closed"


_WORD = re.compile(r"[A-Za-z_\u0080-\U0010ffff][A-Za-z0-9_$\u0080-\U0010ffff]*")
_OTHER_STRINGS = frozenset(kind for kind in TokenType if kind.name.endswith("_STRING"))


def _ours(text: str, found: list[SqlglotToken]) -> Iterator[Token]:
    last_end = 0
    for token in found:
        start, end = token.start, token.end + 1
        if start < last_end or token.token_type is TokenType.HINT:
            continue  # Spark's 5L comes as 5 :: BIGINT, all at one place; a hint is a comment
        last_end = end
        written = text[start:end]
        if token.token_type is TokenType.STRING:
            yield Token(TokenKind.STRING, token.text, start, end)
        elif token.token_type in _OTHER_STRINGS:
            yield Token(TokenKind.OTHER_STRING, written, start, end)
        elif token.token_type is TokenType.IDENTIFIER and not written[0].isalnum():
            yield Token(TokenKind.QUOTED, token.text, start, end)
        elif token.token_type is TokenType.NUMBER:
            yield Token(TokenKind.NUMBER, written, start, end)
        elif _WORD.fullmatch(written):
            yield Token(TokenKind.WORD, written, start, end)
        else:
            yield from _parts(written, start)


def _parts(written: str, start: int) -> Iterator[Token]:
    """A sign as it is; a keyword of several words (ORDER BY) as its words, for a column may be called order."""
    for part in re.finditer(r"\S+", written):
        kind = TokenKind.WORD if _WORD.fullmatch(part.group()) else TokenKind.SIGN
        yield Token(kind, part.group(), start + part.start(), start + part.end())


def describe_token(token: Token) -> str:
    """A token as a message names it; what stands in a string is never shown."""
    match token.kind:
        case TokenKind.QUOTED:
            return f'"{printable(token.text)}"'
        case TokenKind.STRING | TokenKind.OTHER_STRING:
            return "a string"
        case TokenKind.END:
            return "the closing bracket" if token.text else "the end of the statement"
        case _:
            return printable(token.text)
