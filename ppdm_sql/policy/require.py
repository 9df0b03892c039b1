"""REQUIRE k = 10, simple_l = 2, ...: the words become requirements with exact, legal numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from ppdm_sql.policy.reader import Reader, UnreadablePolicyError
from ppdm_sql.policy.tokens import Token, TokenKind, describe_token
from ppdm_sql.policy.values import read_number, read_whole
from ppdm_sql.policy.words import DISTANCES, FOREIGN_REQUIREMENTS, did_you_mean, nearest, printable
from ppdm_sql.requirements import (
    WORDS,
    Closeness,
    ConfidenceLimit,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    RecursiveDiversity,
    Requirement,
    SimpleDiversity,
)

MOST = 10**9
_UP_TO = f"{MOST:,}"


def _k(reader: Reader) -> Requirement:
    allowed = f"k is a whole number from 2 to {_UP_TO} (k = 1 holds for every table, so it promises nothing)"
    return KAnonymity(read_whole(reader, allowed, 2, MOST))


def _distinct_l(reader: Reader) -> Requirement:
    allowed = f"distinct_l is a whole number from 2 to {_UP_TO} (with 1 a class may tell everything)"
    return DistinctDiversity(read_whole(reader, allowed, 2, MOST))


def _simple_l(reader: Reader) -> Requirement:
    allowed = f"simple_l is a number above 1, up to {_UP_TO} (with 1 a class may tell everything)"
    return SimpleDiversity(read_number(reader, allowed, _above_one))


def _recursive_l(reader: Reader) -> Requirement:
    pair = reader.group("after recursive_l =, as in recursive_l = (3, 2)")
    c = read_number(pair, f"c of recursive_l = (c, l) is a number above 0, up to {_UP_TO}", lambda c: 0 < c <= MOST)
    pair.expect_sign(",", "between c and l of recursive_l")
    l = read_whole(pair, f"l of recursive_l = (c, l) is a whole number from 2 to {_UP_TO}", 2, MOST)
    pair.expect_end("the l of recursive_l = (c, l)")
    return RecursiveDiversity(c, l)


def _entropy_l(reader: Reader) -> Requirement:
    allowed = f"entropy_l is a number above 1, up to {_UP_TO} (with 1 a class may tell everything)"
    return EntropyDiversity(read_number(reader, allowed, _above_one))


def _confidence(reader: Reader) -> Requirement:
    allowed = "confidence is a percentage between 0 % and 100 %, both excluded, as in 85 %"
    limit = read_number(reader, allowed, lambda number: 0 < number < 100)
    if not reader.accept_sign("%"):  # 0.85 and 85 must not be taken for each other
        reader.fail(f"% is missing: {allowed}")
    return ConfidenceLimit(limit / 100)


def _t(reader: Reader) -> Requirement:
    allowed = "t is a number above 0, up to 1 (0 would ask every class for exactly the table's distribution)"
    t = read_number(reader, allowed, lambda number: 0 < number <= 1)
    word = reader.peek()
    if word.text.lower() in DISTANCES and word.kind is TokenKind.WORD:
        return Closeness(t, reader.take().text.lower())
    near = nearest(word.word, DISTANCES)
    if near:
        reader.fail(f"unknown distance {printable(word.text)}: did you mean {near}?")
    return Closeness(t)


def _above_one(number: Fraction) -> bool:
    return 1 < number <= MOST


_READERS: Mapping[str, Callable[[Reader], Requirement]] = {
    "k": _k,
    "distinct_l": _distinct_l,
    "simple_l": _simple_l,
    "recursive_l": _recursive_l,
    "entropy_l": _entropy_l,
    "confidence": _confidence,
    "t": _t,
}


def read_requirements(
    reader: Reader, at_clause: Callable[[], bool], near_clause: Callable[[], bool]
) -> tuple[Requirement, ...]:
    """The list after REQUIRE, which has no bracket: where the next clause starts, or may start, is asked."""
    found: list[Requirement] = []
    seen: dict[str, Token] = {}
    while True:
        try:
            found.append(_requirement(reader, at_clause, seen))
        except UnreadablePolicyError:
            reader.skip(lambda: reader.sign(",") or at_clause() or near_clause())
        if not reader.accept_sign(","):
            if not _requirement_follows(reader):
                return tuple(found)
            reader.wrong(f"a comma is missing before {reader.peek().text}")


def _requirement(reader: Reader, at_clause: Callable[[], bool], seen: dict[str, Token]) -> Requirement:
    token = reader.peek()
    if token.kind is not TokenKind.WORD or at_clause():
        reader.fail(f"a requirement is expected, such as k = 10, not {describe_token(token)}")
    word = token.text.lower()
    if word not in _READERS:
        meant = FOREIGN_REQUIREMENTS.get(word)
        reader.fail(
            f"unknown requirement {printable(token.text)}: "
            + (f"did you mean {meant}?" if meant else did_you_mean(token.text, WORDS))
        )
    reader.take()
    reader.expect_sign("=", f"after {word}")
    if word in seen:
        reader.wrong(f"{word} is required twice, first at {reader.report.where(seen[word])}", token)
    seen.setdefault(word, token)
    return _READERS[word](reader)


def _requirement_follows(reader: Reader) -> bool:
    following = reader.peek(1)
    return reader.peek().text.lower() in _READERS and following.kind is TokenKind.SIGN and following.text == "="
