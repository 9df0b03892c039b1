"""What must not reach the engine as ordinary SQL, because it was meant to be a statement of ours.

CREATE TABLE open AS SELECT * FROM patients ANONYMIZATION (age, zip) is valid SQL: the word is an alias, and
the raw rows would be published.  So a word that could have been meant for us is an error, never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ppdm_sql.policy.reader import Report
from ppdm_sql.policy.tokens import Token, TokenKind
from ppdm_sql.policy.words import nearest, printable, resembles_anonymization
from ppdm_sql.requirements import requirement_class

_VERBS = ("REFRESH", "VERIFY", "EXPORT")
_FORM = "WITH ANONYMIZATION (...) comes at the end of CREATE TABLE, VIEW or MODEL ... AS query"


def note_near_misses(report: Report, tokens: Sequence[Token], closing: Mapping[int, int]) -> None:
    """A mistake if the statement looks as if it wanted to be one of ours; at most one, the first."""
    miss = _clause_word(tokens) or _near_verb(tokens) or _create(tokens, closing) or _clause_inside(tokens)
    if miss:
        token, message = miss
        report.add(message, token.start)


_Miss = tuple[Token, str] | None


def _clause_word(tokens: Sequence[Token]) -> _Miss:
    for token in tokens:
        if token.kind not in (TokenKind.WORD, TokenKind.SIGN):
            continue
        for word in re.findall(r"\w+", token.text) if token.kind is TokenKind.SIGN else (token.text,):
            if resembles_anonymization(word):
                exact = word.isascii() and word.upper() == "ANONYMIZATION"
                told = (
                    "ANONYMIZATION is not allowed here:" if exact else f"{printable(word)}: did you mean ANONYMIZATION?"
                )
                return token, f"{told} {_FORM} (quote a name like this)"
    return None


def _clause_inside(tokens: Sequence[Token]) -> _Miss:
    """The inside of a clause whose head is missing or unreadable."""
    for one, two, three in zip(tokens, tokens[1:], tokens[2:], strict=False):
        quasi = one.word == "QUASI" and two.word == "IDENTIFIER" and three.text == "("
        require = one.word == "REQUIRE" and requirement_class(two.text.lower()) and three.text == "="
        if quasi or require:
            return one, f"{one.text} {two.text} belongs in a WITH ANONYMIZATION clause: {_FORM}"
    return None


def _near_verb(tokens: Sequence[Token]) -> _Miss:
    first, second = tokens[0], tokens[1] if len(tokens) > 1 else tokens[0]
    near = nearest(first.word, _VERBS)
    if near and first.word not in _VERBS:
        return first, f"unknown statement {printable(first.text)}: did you mean {near}?"
    if first.word == "DROP" and nearest(second.word, ["RELEASE"]):
        return second, f"DROP {printable(second.text)} is unknown: did you mean DROP RELEASE?"
    return None


def _create(tokens: Sequence[Token], closing: Mapping[int, int]) -> _Miss:
    """CREATE ... AS with something where our words stand."""
    if tokens[0].word != "CREATE":
        return None
    rest = 3 if [token.word for token in tokens[1:3]] == ["OR", "REPLACE"] else 1
    if rest < len(tokens) and tokens[rest].word == "MODEL":
        return tokens[0], "CREATE MODEL ... AS query needs WITH ANONYMIZATION (...) at its end"
    top = _top_level(tokens, closing)
    start = next((at for at, index in enumerate(top) if tokens[index].word == "AS"), None)
    if start is None:
        return None
    if start and tokens[top[start - 1]].word == "LIVE" and tokens[rest].word == "VIEW" and top[start - 1] > rest + 1:
        return tokens[top[start - 1]], "a LIVE view needs WITH ANONYMIZATION (...) at its end"
    after = [tokens[index] for index in top[start + 1 :]]
    if len(after) > 1 and nearest(after[0].word, ["PSEUDO", "PSEUDODATA"]):
        return after[0], f"{printable(after[0].text)}: did you mean AS PSEUDO DATA FROM MODEL name WITH (...)?"
    return _unknown_with(tokens, top[start + 1 :], closing)


def _unknown_with(tokens: Sequence[Token], top: Sequence[int], closing: Mapping[int, int]) -> _Miss:
    """WITH word (...) behind a query: no engine has one, except the first half of WITH word (columns) AS (...)."""
    for one, two, three in zip(top, top[1:], top[2:], strict=False):
        if (
            tokens[one].word == "WITH"
            and tokens[two].kind in (TokenKind.WORD, TokenKind.QUOTED)
            and tokens[three].text == "("
        ):
            behind = closing[three] + 1
            if behind >= len(tokens) or tokens[behind].word != "AS":
                return tokens[
                    two
                ], f"unknown clause WITH {printable(tokens[two].text)}: did you mean WITH ANONYMIZATION?"
    return None


def _top_level(tokens: Sequence[Token], closing: Mapping[int, int]) -> list[int]:
    """The indexes of the tokens outside all brackets, an opening bracket standing for its content."""
    found, index = [], 0
    while index < len(tokens):
        found.append(index)
        index = closing.get(index, index) + 1
    return found
