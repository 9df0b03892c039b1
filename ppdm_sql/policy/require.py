"""REQUIRE k = 10, simple_l = 2, ...: the words become requirements with exact, legal numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from ppdm_sql.policy.reader import Reader, UnreadablePolicyError, read_name, read_word
from ppdm_sql.policy.tokens import Token, TokenKind, describe_token
from ppdm_sql.policy.values import read_number, read_whole
from ppdm_sql.policy.words import FOREIGN_REQUIREMENTS, did_you_mean, nearest, printable
from ppdm_sql.requirements import (
    EveryAnonymity,
    KAnonymity,
    Requirement,
    SetAnonymity,
    requirement_class,
    requirement_words,
)
from ppdm_sql.requirements.base import shape_of
from ppdm_sql.requirements.declared import (
    DeclaredNumber,
    ExactNumber,
    OptionalShare,
    OptionalWord,
    RelationName,
    Share,
    WholeNumber,
)
from ppdm_sql.requirements.loss import EXAMPLE as LOSS_EXAMPLE
from ppdm_sql.requirements.loss import WORD as LOSS
from ppdm_sql.requirements.loss import LossLimit
from ppdm_sql.statements.names import Word, is_same_word

M = "m"
MOST_M = 100


def read_value_of(reader: Reader, wanted: type[Requirement]) -> Requirement:
    """What stands behind `word =`: the numbers that the requirement declares, several in brackets, then its words."""
    word, shape, token = wanted.word, shape_of(wanted), reader.peek()
    values: dict[str, object] = {}
    if len(shape.numbers) == 1:
        ((name, number),) = shape.numbers.items()
        values[name] = _read_declared(reader, number, word)
    else:
        values |= _read_several(reader, wanted)
    for name, choice in shape.words.items():
        if isinstance(choice, RelationName):
            reader.expect_word(choice.word, f"behind {word}, as in {wanted.example}")
            values[name] = read_name(reader, "the table of the population")
        elif isinstance(choice, OptionalShare):
            values[name] = _read_optional_share(reader, choice)
        else:
            values[name] = _read_optional_word(reader, choice)
    found = wanted(**values)
    if found.mistake is not None:
        reader.fail(f"{found.mistake}, as in {wanted.example}", token)
    return found


def _read_several(reader: Reader, wanted: type[Requirement]) -> dict[str, object]:
    """( number, number ): each is named by its place in `word = (a, b)`."""
    word, numbers = wanted.word, shape_of(wanted).numbers
    group = reader.group(f"after {word} =, as in {wanted.example}")
    names = list(numbers)
    whole = f"{word} = ({', '.join(names)})"
    values: dict[str, object] = {}
    for before, name in zip((None, *names), names, strict=False):
        if before is not None:
            group.expect_sign(",", f"between {before} and {name} of {word}")
        values[name] = _read_declared(group, numbers[name], f"{name} of {whole}")
    group.expect_end(f"the {names[-1]} of {whole}")
    return values


def _read_declared(reader: Reader, number: DeclaredNumber, name: str) -> int | Fraction:
    allowed = number.legal_text(name)
    if isinstance(number, WholeNumber):
        return read_whole(reader, allowed, number.least, number.most)
    value = read_number(reader, allowed, number.holds)
    if isinstance(number, ExactNumber | Share):
        return value
    if not reader.accept_sign("%"):  # 0.85 and 85 must not be taken for each other
        reader.fail(f"% is missing: {allowed}")
    return value / 100


def _read_optional_word(reader: Reader, choice: OptionalWord) -> str | None:
    token = reader.peek()
    if token.text.lower() in choice.choices and token.kind is TokenKind.WORD:
        return reader.take().text.lower()
    near = nearest(token.word, choice.choices)
    if near:
        reader.fail(f"unknown {choice.what} {printable(token.text)}: did you mean {near}?")
    return None


def _read_optional_share(reader: Reader, share: OptionalShare) -> Fraction | None:
    if not reader.accept(share.word):
        return None
    value = read_number(reader, share.legal_text, share.holds)
    reader.expect_sign("%", f"after the number of {share.word}")
    return value / 100


def read_requirements(
    reader: Reader,
    at_clause: Callable[[], bool],
    near_clause: Callable[[], bool],
    losses: dict[LossLimit, Token] | None = None,
) -> tuple[Requirement, ...]:
    """The list after REQUIRE, which has no bracket: where the next clause starts, or may start, is asked.

    losses: takes what is required of utility, and where it stands; None: nothing of that kind can be required here.
    """
    found: list[Requirement] = []
    seen: dict[str, Token] = {}
    most = _MostColumns()
    while True:
        try:
            if losses is not None and reader.peek().text.lower() == LOSS and not at_clause():
                _read_loss(reader, losses)
            elif reader.peek().text.lower() == M and reader.peek(1).text == "=":
                most.read(reader)
            else:
                found.append(_requirement(reader, at_clause, seen))
        except UnreadablePolicyError:
            reader.skip(lambda: reader.sign(",") or at_clause() or near_clause())
        if not reader.accept_sign(","):
            if not _requirement_follows(reader):
                return most.requirements_of(reader, found)
            reader.wrong(f"a comma is missing before {reader.peek().text}")


def _read_loss(reader: Reader, losses: dict[LossLimit, Token]) -> None:
    """Loss <= 0.4, or loss (column) <= 0.2."""
    token = reader.take()
    column: Word | None = None
    if reader.sign("("):
        group = reader.group("after loss")
        column = read_word(group, "a quasi-identifier")
        group.expect_end("the column of loss (column)")
    reader.expect_sign("<=", f"after {LOSS}, as in {LOSS_EXAMPLE}")
    value = read_number(reader, f"{LOSS} is a number from 0 (exact) to 1 (suppressed)", lambda number: 0 <= number <= 1)
    limit = LossLimit(value, column)
    twice = next((where for one, where in losses.items() if one.subject == limit.subject), None)
    if twice is not None:
        reader.wrong(f"{limit.subject} is required twice, first at {reader.report.where(twice)}", token)
    losses[limit] = token


@dataclass
class _MostColumns:
    """M = 2, which says of a k how many quasi-identifiers an attacker knows at most: k = 5 ON EVERY 2."""

    m: int | None = None
    token: Token | None = None

    def read(self, reader: Reader) -> None:
        token = reader.take()
        reader.take()
        if self.token is not None:
            reader.wrong(f"{M} is required twice, first at {reader.report.where(self.token)}", token)
        self.token, self.m = token, _read_m(reader)

    def requirements_of(self, reader: Reader, found: list[Requirement]) -> tuple[Requirement, ...]:
        """The requirements, k being asked of every m columns where there is an m."""
        if self.token is None or self.m is None:
            return tuple(found)
        if not any(isinstance(item, KAnonymity) for item in found):
            reader.wrong("m needs a k, as in k = 5, m = 2: k is asked of every m quasi-identifiers", self.token)
        m = self.m
        return tuple(EveryAnonymity(item.k, m) if isinstance(item, KAnonymity) else item for item in found)


def _read_m(reader: Reader) -> int:
    return read_whole(reader, f"{M} is a whole number from 1 to {MOST_M} (columns that an attacker knows)", 1, MOST_M)


def _requirement(reader: Reader, at_clause: Callable[[], bool], seen: dict[str, Token]) -> Requirement:
    token = reader.peek()
    if token.kind is not TokenKind.WORD or at_clause():
        reader.fail(f"expected a requirement, such as k = 10, not {describe_token(token)}")
    word = token.text.lower()
    found = requirement_class(word)
    if found is None:
        meant = FOREIGN_REQUIREMENTS.get(word)
        reader.fail(
            f"unknown requirement {printable(token.text)}: "
            + (f"did you mean {meant}?" if meant else did_you_mean(token.text, (*requirement_words(), M, LOSS)))
        )
    reader.take()
    reader.expect_sign("=", f"after {word}")
    value = read_value_of(reader, found)
    if isinstance(value, KAnonymity) and reader.accept("ON"):
        every = reader.accept("EVERY")
        value = EveryAnonymity(value.k, _read_m(reader)) if every else SetAnonymity(value.k, _read_columns(reader))
    about = str(value).partition(" ON ")[2].casefold() if isinstance(value, SetAnonymity | EveryAnonymity) else ""
    if (word + about) in seen:
        reader.wrong(f"{word} is required twice, first at {reader.report.where(seen[word + about])}", token)
    seen.setdefault(word + about, token)
    return value


def _read_columns(reader: Reader) -> tuple[Word, ...]:
    """The list behind ON: columns that an attacker knows together."""
    first = reader.peek()
    words = tuple(
        reader.items("after ON, as in k = 4 ON (age, sex)", lambda group: read_word(group, "a quasi-identifier"))
    )
    if any(is_same_word(one, other) for place, one in enumerate(words) for other in words[:place]):
        reader.fail("ON names a column twice", first)
    return words


def _requirement_follows(reader: Reader) -> bool:
    following = reader.peek(1)
    if reader.peek().text.lower() == LOSS and following.text in ("(", "<="):
        return True
    word = reader.peek().text.lower()
    return (
        (word == M or requirement_class(word) is not None)
        and following.kind is TokenKind.SIGN
        and following.text == "="
    )
