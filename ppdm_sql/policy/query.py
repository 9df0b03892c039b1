"""The query of a publication: kept as written, but it has to be exactly one query that only reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from types import FunctionType

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.parser import Parser

from ppdm_sql.errors import PpdmError
from ppdm_sql.policy.reader import Reader, UnreadablePolicyError
from ppdm_sql.policy.tokens import Token, describe_token

# sqlglot tries alternatives: DATE(DATE(DATE(... takes twice the steps for each level, minutes at thirty.  A
# query of ordinary shape needs about one step a token.
MOST_STEPS = 100_000

_FIRST_WORDS = ("SELECT", "WITH", "FROM", "TABLE")


class _TooMuchWorkError(Exception):
    """No steps are left; not a ParseError, which the parser would take for a failed alternative."""


class UnparsedError(Exception):
    """A text is no SQL that the parser knows, or it would take too long."""


class Work:
    """The parsing steps left for the queries of one file."""

    def __init__(self, steps: int = MOST_STEPS) -> None:
        _refuse_compiled_parser()
        self.steps = steps

    def spend(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise _TooMuchWorkError


def check_query(reader: Reader, dialect: sqlglot.Dialect, work: Work) -> str:
    """The text of the query the reader stands on; notes what is wrong with it."""
    first, tokens = reader.peek(), reader.tokens[reader.at : reader.stop]
    if not tokens:
        reader.fail("the query is missing between AS and WITH ANONYMIZATION")
    text = reader.report.source.text[first.start : tokens[-1].end]
    if first.word not in _FIRST_WORDS and not reader.sign("("):
        reader.fail(f"expected a query after AS, starting with SELECT, WITH or a bracket, not {describe_token(first)}")
    for before, token in pairwise(tokens):
        if before.word == "WITH" and token.word == "ANONYMIZATION":
            reader.fail("WITH ANONYMIZATION must occur once, at the end of the statement", before)
    trees = _parse_query(reader, text, dialect, work)
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        reader.fail("expected exactly one query after AS, and a query only reads")
    writing = next(trees[0].find_all(exp.DML, exp.DDL, exp.Command, exp.Into), None)
    if writing is not None:
        reader.fail(f"a query only reads: {writing.key.upper()} is not allowed in it", _where(tokens, writing) or first)
    return text


def parse_counted(text: str, dialect: sqlglot.Dialect, work: Work) -> list[exp.Expr | None]:
    """The trees of a text, or an error of sqlglot; one that needs more steps than are left counts as unreadable."""
    try:
        return _parser_maker(type(dialect))(work, dialect).parse(dialect.tokenize(text), text)
    except _TooMuchWorkError as cause:
        raise ParseError("too much work") from cause


def _parse_query(reader: Reader, text: str, dialect: sqlglot.Dialect, work: Work) -> list[exp.Expr | None]:
    start = reader.peek().start
    tokens = dialect.tokenize(text)
    try:
        return _parser_maker(type(dialect))(work, dialect).parse(tokens, text)
    except ParseError as error:
        found = error.errors[0] if error.errors else {}
        bad = next((t for t in tokens if (t.line, t.col) == (found.get("line"), found.get("col"))), tokens[-1])
        token = next((t for t in reader.tokens if t.start == start + bad.start), reader.peek())
        word = f", its end at {describe_token(token)}" if bad is tokens[-1] else f" near {describe_token(token)}"
        reader.wrong(f"the query cannot be parsed{word}", token)
    except (_TooMuchWorkError, RecursionError):
        reader.wrong("the query is too long or too deeply nested; move a part of it into a view")
    except Exception:  # a slip of the parser on text nobody would write is still a mistake in the query
        reader.wrong("the query cannot be parsed")
    raise UnreadablePolicyError


def parse_bounded(text: str, dialect: sqlglot.Dialect, work: Work) -> list[exp.Expr | None]:
    """The statements of a text, parsed within the steps that are left; UnparsedError if that is not possible."""
    try:
        return _parser_maker(type(dialect))(work, dialect).parse(dialect.tokenize(text), text)
    except Exception as cause:  # whatever the parser stumbles over
        raise UnparsedError from cause


def _where(tokens: Sequence[Token], writing: exp.Expr) -> Token | None:
    return next((token for token in tokens if token.word == writing.key.upper()), None)


def _refuse_compiled_parser() -> None:
    """The steps of a compiled parser cannot be counted: a nested query would take hours, or overflow its stack."""
    if not isinstance(Parser._advance, FunctionType):
        raise PpdmError(
            "the package sqlglotc is installed, and the work of its compiled parser cannot be limited: run "
            "pip uninstall sqlglotc"
        )


@lru_cache(maxsize=32)
def _parser_maker(dialect: type[sqlglot.Dialect]) -> Callable[[Work, sqlglot.Dialect], Parser]:
    """The dialect's parser, counting its steps."""

    class Counting(dialect.parser_class):  # type: ignore[name-defined, misc]
        work: Work

        def _advance(self, times: int = 1) -> None:
            self.work.spend()
            super()._advance(times)

    def make(work: Work, dialect: sqlglot.Dialect) -> Parser:
        parser: Parser = Counting(dialect=dialect)
        parser.work = work  # type: ignore[attr-defined]
        return parser

    return make
