"""Walking over the tokens of one statement, noting every mistake and going on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn, TypeVar

from ppdm_sql.errors import Mistake
from ppdm_sql.policy.policy import Place
from ppdm_sql.policy.tokens import PolicyText, Token, TokenKind, describe_token
from ppdm_sql.policy.words import nearest
from ppdm_sql.statements.names import Word

Item = TypeVar("Item")

# Deeper brackets are refused in any statement, engines overflow on them too.  sqlglot uses about 25 Python
# frames per bracket, so what it has to parse stays well below Python's limit of 1,000.
DEEPEST = 200
DEEPEST_OURS = 30
MOST_MISTAKES = 100

_CLOSING = {"(": ")", "[": "]", "{": "}"}


class UnreadablePolicyError(Exception):
    """The mistake is noted already; the reading goes on at the next place that is known."""


class TooManyError(Exception):
    """So many mistakes that more of them help nobody."""


class Report:
    """The mistakes of a file, in the order they were found."""

    def __init__(self, source: PolicyText) -> None:
        self.source = source
        self.mistakes: list[Mistake] = []

    def add(self, message: str, offset: int) -> None:
        self.mistakes.append(self.source.mistake(message, offset))
        if len(self.mistakes) >= MOST_MISTAKES:
            raise TooManyError

    def all_mistakes(self) -> list[Mistake]:
        """In the order of the text; what is missing was noted last, but stands at the head of its clause."""
        ordered = sorted(self.mistakes, key=lambda mistake: (mistake.line or 0, mistake.column or 0))
        more = [Mistake("too many mistakes: stopped reading here")] if len(ordered) >= MOST_MISTAKES else []
        return ordered + more

    def where(self, token: Token) -> str:
        place = self.source.place(token.start)
        return f"{place.line}:{place.column}"


def brackets(tokens: Sequence[Token], report: Report, deepest: int = DEEPEST) -> dict[int, int]:
    """The index of the closing bracket for that of each opening one; unbalanced or too deep is UnreadableError."""
    pairs: dict[int, int] = {}
    open_: list[int] = []
    for index, token in enumerate(tokens):
        if token.kind is not TokenKind.SIGN:
            continue
        if token.text in _CLOSING:
            open_.append(index)
            if len(open_) > deepest:
                report.add(f"brackets are nested more than {deepest} deep", token.start)
                raise UnreadablePolicyError
        elif token.text in _CLOSING.values():
            if not open_ or _CLOSING[tokens[open_[-1]].text] != token.text:
                report.add(f"{token.text} closes no bracket", token.start)
                raise UnreadablePolicyError
            pairs[open_.pop()] = index
    if open_:
        first = tokens[open_[0]]
        report.add(f"{first.text} is never closed", first.start)
        raise UnreadablePolicyError
    return pairs


class Reader:
    """A position between start and stop in a statement's tokens."""

    def __init__(
        self,
        report: Report,
        tokens: Sequence[Token],
        closing: Mapping[int, int],
        start: int = 0,
        stop: int | None = None,
    ) -> None:
        self.report, self.tokens, self.closing = report, tokens, closing
        self.at = start
        self.stop = len(tokens) if stop is None else stop

    @property
    def at_end(self) -> bool:
        return self.at >= self.stop

    def peek(self, ahead: int = 0) -> Token:
        index = self.at + ahead
        if index < self.stop:
            return self.tokens[index]
        if self.stop < len(self.tokens):
            bracket = self.tokens[self.stop]
            return Token(TokenKind.END, bracket.text, bracket.start, bracket.end)
        end = self.tokens[-1].end if self.tokens else 0
        return Token(TokenKind.END, "", end, end)

    def take(self) -> Token:
        token = self.peek()
        self.at += 1
        return token

    def words(self, *expected: str) -> bool:
        """Whether these bare words come next."""
        return all(self.peek(ahead).word == word for ahead, word in enumerate(expected))

    def accept(self, *expected: str) -> bool:
        found = self.words(*expected)
        if found:
            self.at += len(expected)
        return found

    def sign(self, text: str) -> bool:
        token = self.peek()
        return token.kind is TokenKind.SIGN and token.text == text

    def accept_sign(self, text: str) -> bool:
        found = self.sign(text)
        if found:
            self.at += 1
        return found

    def expect_sign(self, text: str, where: str) -> None:
        if not self.accept_sign(text):
            self.fail(f"expected {text} {where}, not {describe_token(self.peek())}")

    def expect_word(self, word: str, where: str) -> None:
        """Takes the word; one that is nearly it is a mistake, but the reading can go on behind it."""
        if self.accept(word):
            return
        token = self.peek()
        message = f"expected {word} {where}, not {describe_token(token)}"
        if nearest(token.word, [word]) is None:
            self.fail(message, token)
        self.wrong(message, token)
        self.at += 1

    def expect_end(self, what: str) -> None:
        if not self.at_end:
            self.fail(f"expected nothing after {what}, but found {describe_token(self.peek())}")

    def place(self, token: Token) -> Place:
        return self.report.source.place(token.start)

    def wrong(self, message: str, token: Token | None = None) -> None:
        self.report.add(message, (token or self.peek()).start)

    def fail(self, message: str, token: Token | None = None) -> NoReturn:
        self.wrong(message, token)
        raise UnreadablePolicyError

    def group(self, where: str) -> Reader:
        """What stands in the bracket that comes next; this reader goes on behind it."""
        if not self.sign("("):
            self.fail(f"expected ( {where}, not {describe_token(self.peek())}")
        opening, closing = self.at, self.closing[self.at]
        self.at = closing + 1
        return Reader(self.report, self.tokens, self.closing, opening + 1, closing)

    def skip(self, until: Callable[[], bool]) -> None:
        """Goes on to the next place where until holds, over whole brackets."""
        while not self.at_end and not until():
            self.at = self.closing.get(self.at, self.at) + 1

    def items(self, where: str, read: Callable[[Reader], Item]) -> list[Item]:
        """The comma-separated items of a bracket; a wrong one is noted and the next one is read."""
        group = self.group(where)
        found: list[Item] = []
        while True:
            try:
                found.append(read(group))
                if not group.at_end and not group.sign(","):
                    group.fail(f"expected , or ), not {describe_token(group.peek())}")
            except UnreadablePolicyError:
                group.skip(lambda: group.sign(","))
            if group.at_end:
                return found
            group.take()


def read_word(reader: Reader, what: str) -> Word:
    """A name of one part, as written."""
    token = reader.peek()
    if token.kind not in (TokenKind.WORD, TokenKind.QUOTED):
        hint = " (a string is not a name)" if token.kind is TokenKind.STRING else ""
        reader.fail(f"expected {what}, not {describe_token(token)}{hint}")
    if not token.text:
        reader.fail(f"{what} cannot have an empty name")
    reader.take()
    return Word(token.text, quoted=token.kind is TokenKind.QUOTED)


def read_name(reader: Reader, what: str) -> tuple[Word, ...]:
    """The name of a relation: table or schema.table."""
    first = reader.peek()
    if first.word in ("AS", "LIVE", "TO", "WITH", "FROM") and not _continues_name(reader):
        reader.fail(f"expected {what}, not {first.text} (quote a name that is a keyword)")
    parts = [read_word(reader, what)]
    while reader.accept_sign("."):
        parts.append(read_word(reader, what))
    if len(parts) > 2:
        reader.fail(f"{what} must be table or schema.table, not {len(parts)} names", first)
    return tuple(parts)


def _continues_name(reader: Reader) -> bool:
    """Whether a structural word is used as a name after all: VIEW live AS ..., REFRESH live."""
    following = reader.peek(1)
    return reader.peek().word == "LIVE" and (following.kind is TokenKind.END or following.word in ("AS", "LIVE"))
