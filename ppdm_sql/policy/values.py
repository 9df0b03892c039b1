"""Numbers and option values, exactly as written: nothing is rounded, coerced or guessed."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from sqlglot import Dialect

from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.policy import OptionValue, Place, PlacedWord
from ppdm_sql.policy.reader import DEEPEST_OURS, Reader, Report, TooManyError, UnreadablePolicyError, brackets
from ppdm_sql.policy.tokens import TokenKind, describe_token, source_of, tokenize
from ppdm_sql.policy.words import printable

# One way to write a number: no leading zero (octal in some languages), no exponent, no separators, no bare
# point.  18 digits on either side are more than any requirement needs and keep the arithmetic cheap.
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,18})?")
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")
_OPTION = re.compile(f"{_NUMBER.pattern}|{_WHOLE.pattern}")  # a seed has 19 digits


def read_number(reader: Reader, allowed: str, holds: Callable[[Fraction], bool] = lambda number: True) -> Fraction:
    """The number that comes next, exact; allowed is the sentence that says which ones are."""
    return _read(reader, allowed, _NUMBER, holds)


def read_whole(reader: Reader, allowed: str, least: int, most: int) -> int:
    return int(_read(reader, allowed, _WHOLE, lambda number: least <= number <= most))


def _read(reader: Reader, allowed: str, form: re.Pattern[str], holds: Callable[[Fraction], bool]) -> Fraction:
    first = reader.peek()
    text = _number_text(reader)
    if not form.fullmatch(text) or not holds(Fraction(text)):
        reader.fail(f"{allowed}, not {printable(text) or describe_token(first)}", first)
    return Fraction(text)


def _number_text(reader: Reader) -> str:
    """All that is glued to the number, so that 10abc, 0x1F and 1_000 are refused as a whole; empty if no number."""
    first = reader.peek()
    if first.kind is TokenKind.SIGN and first.text in ("-", "+", "."):
        reader.take()
        if reader.peek().kind is not TokenKind.NUMBER:
            return ""
    elif first.kind is not TokenKind.NUMBER:
        return ""
    last = reader.take()
    glued = (TokenKind.NUMBER, TokenKind.WORD, TokenKind.QUOTED, TokenKind.STRING)
    while reader.peek().start == last.end and (reader.peek().kind in glued or reader.sign(".")):
        last = reader.take()
    return "".join(reader.report.source.text[first.start : last.end].split())


class OptionReading(NamedTuple):
    """Options by their names in lower case, and where each stands."""

    values: dict[str, OptionValue]
    places: dict[str, Place]


def read_options(reader: Reader, where: str) -> OptionReading:
    """( option = value, ... )."""
    options = OptionReading({}, {})

    def read(group: Reader) -> None:
        name = group.peek()
        if name.kind is not TokenKind.WORD:
            group.fail(f"expected the name of an option, not {describe_token(name)}")
        group.take()
        group.expect_sign("=", f"after the option {printable(name.text)}")
        value = read_value(group)
        if name.text.lower() in options.values:
            group.fail(f"the option {printable(name.text)} is written twice", name)
        options.values[name.text.lower()] = value
        options.places[name.text.lower()] = reader.place(name)

    reader.items(where, read)
    return options


def read_value(reader: Reader, *, in_list: bool = False) -> OptionValue:
    """A number, a string in single quotes, DATE '...', true, false, another bare word, or a list of these.

    In a list a word in double quotes is the name of a column.
    """
    token = reader.peek()
    if token.kind is TokenKind.STRING:
        return read_string(reader, "an option's value")
    if in_list and token.kind is TokenKind.QUOTED and token.text:
        reader.take()
        return PlacedWord.at(token.text, reader.place(token), quoted=True)
    if token.kind is TokenKind.WORD and token.word != "NULL":
        reader.take()
        if token.word in ("DATE", "TIMESTAMP") and reader.peek().kind is TokenKind.STRING:
            return read_string(reader, "a moment")
        return {"TRUE": True, "FALSE": False}.get(token.word, PlacedWord.at(token.text, reader.place(token)))
    if reader.sign("("):
        return tuple(reader.items("for a list of values", partial(read_value, in_list=True)))
    allowed = "the value of an option must be a number, a 'string', true, false, a word or a list of these"
    return _read(reader, allowed, _OPTION, lambda number: True)


def read_string(reader: Reader, what: str) -> str:
    token = reader.peek()
    if token.kind is not TokenKind.STRING:
        reader.fail(f"expected {what} as a string in single quotes, not {describe_token(token)}")
    if "\x00" in token.text:  # an escape sequence of the dialect can make one
        reader.fail(f"{what} contains a NUL character")
    reader.take()
    return token.text


def option_value(text: str, dialect: str = "duckdb") -> OptionValue:
    """A value as a statement has it behind option =, from somewhere else, such as a command line.

    >>> option_value("(age, 0, 120, ward, ('A', 'B'))")
    ('age', Fraction(0, 1), Fraction(120, 1), 'ward', ('A', 'B'))
    """
    source = source_of(text, None)
    report = Report(source)
    with suppress(UnreadablePolicyError, TooManyError):
        tokens = tokenize(source, Dialect.get_or_raise(dialect))
        reader = Reader(report, tokens, brackets(tokens, report, DEEPEST_OURS))
        value = read_value(reader)
        reader.expect_end("the value")
        if not report.mistakes:
            return value
    raise PolicyError(*report.all_mistakes())
