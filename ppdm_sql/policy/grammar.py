"""The SQL front door: the text of a policy file becomes statements, or one error with every mistake.

Ordinary SQL passes through as it is.  Nothing is returned unless every statement of the file is right, so a
file with a mistake in its last line has run nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import sqlglot

from ppdm_sql.errors import Mistake, PolicyError
from ppdm_sql.policy.catalog_guard import note_catalog_access
from ppdm_sql.policy.clause import read_clause
from ppdm_sql.policy.near_misses import note_near_misses
from ppdm_sql.policy.policy import (
    DropRelease,
    Explain,
    Export,
    PassThrough,
    Place,
    PseudoData,
    Publish,
    Refresh,
    ShareCounts,
    Statement,
    Verify,
)
from ppdm_sql.policy.query import Work, check_query
from ppdm_sql.policy.reader import (
    DEEPEST_OURS,
    Reader,
    Report,
    TooManyError,
    UnreadablePolicyError,
    brackets,
    read_name,
)
from ppdm_sql.policy.script import statements
from ppdm_sql.policy.sharing import CLAUSE, read_sharing
from ppdm_sql.policy.tokens import (
    LARGEST_TEXT,
    PolicyText,
    Token,
    TokenKind,
    describe_token,
    source_of,
    tokenize,
    too_large,
)
from ppdm_sql.policy.values import OptionReading, read_options, read_string
from ppdm_sql.policy.words import KINDS, ReleaseKind, nearest, printable
from ppdm_sql.statements.names import PREFIX, SCHEMA, Word

# No character is longer than four bytes, so more bytes than this are too many characters.
_LARGEST_CONTENT = 4 * LARGEST_TEXT

Ours = Publish | PseudoData | ShareCounts | Refresh | Verify | Export | DropRelease


def parse(text: str, *, file: str | None = None, dialect: str = "duckdb") -> list[Statement]:
    """The statements of a policy file; PolicyError with all mistakes when one of them is wrong.

    >>> parse("REFRESH open.patients; SELECT ';'")[0].name
    (Word(text='open', quoted=False), Word(text='patients', quoted=False))
    >>> parse("SELECT ';' ; ;")
    [PassThrough(text="SELECT ';'", place=Place(line=1, column=1, file=None))]
    """
    source = source_of(text, file)
    script = _Script(source, Report(source), _dialect(dialect, file), Work())
    found: list[Statement] = []
    with suppress(TooManyError):
        for tokens in statements(tokenize(source, script.dialect)):
            with suppress(UnreadablePolicyError):  # its mistake is noted; the next statement may have others
                found.append(_statement(script, tokens))
    if script.report.mistakes:
        raise PolicyError(*script.report.all_mistakes(), file=file)
    return found


def read(path: str | Path, *, dialect: str = "duckdb") -> list[Statement]:
    """The statements of the file at path, which is UTF-8 and not larger than LARGEST_TEXT."""
    file = str(path)
    try:
        with Path(path).open("rb") as stream:
            content = stream.read(_LARGEST_CONTENT + 1)
    except (OSError, ValueError) as cause:
        reason = getattr(cause, "strerror", None) or "not a path"
        raise PolicyError(f"the policy file cannot be read: {reason}", file=file) from cause
    return _decode(content, file, dialect)


def read_stream(stream: BinaryIO, *, file: str, dialect: str = "duckdb") -> list[Statement]:
    """The statements that a stream holds, such as standard input; file: what messages call it."""
    return _decode(stream.read(_LARGEST_CONTENT + 1), file, dialect)


def _decode(content: bytes, file: str, dialect: str) -> list[Statement]:
    if len(content) > _LARGEST_CONTENT:
        raise too_large(file)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as cause:
        raise PolicyError(_not_utf8(content, cause.start), file=file) from cause
    return parse(text, file=file, dialect=dialect)


def _not_utf8(content: bytes, at: int) -> Mistake:
    *lines, last = content[:at].decode("utf-8").split("\n")
    told = "the policy file is not valid UTF-8 from here on; save it as UTF-8"
    return Mistake(told, len(lines) + 1, len(last) + 1)


def _dialect(name: str, file: str | None) -> sqlglot.Dialect:
    try:
        return sqlglot.Dialect.get_or_raise(name)
    except ValueError as cause:
        raise PolicyError(f"unknown SQL dialect {printable(name)}", file=file) from cause


@dataclass(frozen=True)
class _Script:
    """What all statements of a file share while they are read."""

    source: PolicyText
    report: Report
    dialect: sqlglot.Dialect
    work: Work

    def text(self, tokens: Sequence[Token]) -> str:
        return self.source.text[tokens[0].start : tokens[-1].end]

    def place(self, tokens: Sequence[Token]) -> Place:
        return self.source.place(tokens[0].start)


_Read = Callable[[_Script, Reader], Ours]


def _statement(script: _Script, tokens: list[Token]) -> Statement:
    closing = brackets(tokens, script.report)
    if tokens[0].word == "EXPLAIN":
        inner = _explained_statement(script, tokens)
        if inner is not None:
            return Explain(inner, script.place(tokens))
    read = _reader_of(tokens, closing)
    if read is not None:
        return _read_ours(script, tokens, read)
    note_near_misses(script.report, tokens, closing)
    note_catalog_access(script.report, tokens, script.text(tokens), script.dialect, script.work)
    return PassThrough(script.text(tokens), script.place(tokens))


def _read_ours(script: _Script, tokens: list[Token], read: _Read) -> Ours:
    return read(script, Reader(script.report, tokens, brackets(tokens, script.report, DEEPEST_OURS)))


def _explained_statement(script: _Script, tokens: list[Token]) -> Ours | None:
    """The statement of ours behind EXPLAIN; None if it is the engine's."""
    rest = tokens[1:]
    closing = brackets(rest, script.report)
    read = _reader_of(rest, closing)
    if read is not None:
        return _read_ours(script, rest, read)
    # The engine's EXPLAIN ANALYZE or EXPLAIN (FORMAT json) of a statement of ours would run it as ordinary SQL.
    options = 0
    while options < len(rest) and (rest[options].word in _EXPLAIN_OPTIONS or options in closing):
        options = closing.get(options, options) + 1
    behind = rest[options:]
    if options and _reader_of(behind, brackets(behind, script.report)) is not None:
        script.report.add("EXPLAIN of a release takes no options", rest[0].start)
        raise UnreadablePolicyError
    return None


_EXPLAIN_OPTIONS = ("ANALYZE", "VERBOSE", "EXTENDED", "FORMATTED", "CODEGEN", "COST", "PLAN", "QUERY", "EXPLAIN")


def _reader_of(tokens: Sequence[Token], closing: Mapping[int, int]) -> _Read | None:
    """How to read the statement if it is ours; None if it is ordinary SQL."""
    first, second, third = ([token.word for token in tokens[:3]] + ["", "", ""])[:3]
    named = len(tokens) > 2 and tokens[2].kind in (TokenKind.WORD, TokenKind.QUOTED)
    match first:
        case "CREATE":
            return _create_reader(tokens, closing)
        case "REFRESH":
            theirs = second in _REFRESHED_BY_ENGINES and named
            return None if theirs or (len(tokens) > 1 and tokens[1].kind is TokenKind.STRING) else _refresh
        case "VERIFY":
            return _verify
        case "EXPORT":
            theirs = (second == "DATABASE" and third != "TO") or (second == "DATA" and third in ("OPTIONS", "WITH"))
            return None if theirs else _export
        case "DROP" if second == "RELEASE":
            return _drop
        case "DROP" if second == "MODEL":
            return _drop_model
    return None


# REFRESH MATERIALIZED VIEW name, REFRESH TABLE name, ...; a release of such a name has nothing behind it.
_REFRESHED_BY_ENGINES = ("MATERIALIZED", "TABLE", "FUNCTION", "DYNAMIC", "STREAMING", "EXTERNAL")


def _create_reader(tokens: Sequence[Token], closing: Mapping[int, int]) -> _Read | None:
    if _clause_at(tokens, closing) is not None:
        return _publish
    if _clause_at(tokens, closing, CLAUSE) is not None:
        return _share
    return _pseudo_reader(tokens, closing)


def _clause_at(tokens: Sequence[Token], closing: Mapping[int, int], word: str = "ANONYMIZATION") -> int | None:
    """The index of the WITH of WITH ANONYMIZATION outside all brackets."""
    index = 0
    while index + 1 < len(tokens):
        if tokens[index].word == "WITH" and tokens[index + 1].word == word:
            return index
        index = closing.get(index, index) + 1
    return None


def _pseudo_reader(tokens: Sequence[Token], closing: Mapping[int, int]) -> _Read | None:
    """Only behind the AS of the statement itself: SELECT name AS pseudo is ordinary."""
    index = 0
    while index + 1 < len(tokens):
        if tokens[index].word == "AS":
            return _pseudo if tokens[index + 1].word == "PSEUDO" else None
        index = closing.get(index, index) + 1
    return None


def _publish(script: _Script, reader: Reader) -> Publish:
    clause = _clause_at(reader.tokens, reader.closing)
    assert clause is not None  # _reader_of saw it
    header = Reader(script.report, reader.tokens, reader.closing, 0, clause)
    kind: ReleaseKind | None = None
    name: tuple[Word, ...] = ()
    replace = live = growing = False
    query = ""
    query_place: Place | None = None
    try:
        replace, kind = _read_create(header)
        name, live, growing = _read_release_name(header, kind)
        query_place = header.place(header.peek())
        query = check_query(header, script.dialect, script.work)
    except UnreadablePolicyError:
        pass  # noted; the clause may have mistakes of its own
    reader.at = clause + 2
    inside = reader.group("after WITH ANONYMIZATION")
    policy = read_clause(inside, kind, reader.tokens[clause], growing=growing, live=live)
    reader.expect_end("the WITH ANONYMIZATION clause")
    if kind is None:
        raise UnreadablePolicyError
    text, place = script.text(reader.tokens), script.place(reader.tokens)
    return Publish(
        kind, name, query, policy, text, place, replace=replace, live=live, growing=growing, query_place=query_place
    )


def _read_create(reader: Reader) -> tuple[bool, ReleaseKind]:
    """CREATE [OR REPLACE] TABLE | VIEW | MODEL."""
    reader.take()
    replace = reader.accept("OR", "REPLACE")
    token = reader.peek()
    for kind in KINDS:
        if reader.accept(kind):
            return replace, kind
    if token.word == "LIVE":
        reader.fail("LIVE comes after the name: CREATE VIEW name LIVE AS")
    near = nearest(token.word, KINDS)
    told = f"did you mean {near}?" if near else "write CREATE [OR REPLACE] TABLE, VIEW or MODEL"
    reader.fail(f"a release cannot be created as {describe_token(token)}: {told}")


def _read_release_name(reader: Reader, kind: ReleaseKind) -> tuple[tuple[Word, ...], bool, bool]:
    """Name [LIVE | GROWING] AS; whether it is live, and whether it grows."""
    if reader.words("IF", "NOT", "EXISTS"):
        reader.fail("IF NOT EXISTS is not allowed here: write OR REPLACE, or REFRESH an existing release")
    token = reader.peek()
    name = read_name(reader, "the name of the release")
    schema, table = (("", *(part.text.lower() for part in name)))[-2:]
    if schema == SCHEMA or table.startswith(PREFIX):
        reader.wrong(
            f"names starting with {PREFIX} and the schema {SCHEMA} are reserved for ppdm_sql's own tables", token
        )
    live_token = reader.peek()
    live = reader.accept("LIVE")
    if live and kind != "VIEW":
        reader.wrong(f"only a VIEW can be LIVE, not a {kind}", live_token)
    growing_token = reader.peek()
    growing = reader.accept("GROWING")
    if growing and kind == "MODEL":
        reader.wrong("only a TABLE or VIEW can be GROWING: a MODEL has no rows", growing_token)
    if (live and growing) or (growing and reader.accept("LIVE")):
        reader.wrong("a release is LIVE or GROWING, not both: a live view shows new rows by itself", growing_token)
    if reader.sign("("):
        reader.fail("the columns of a release are named in its query, not after its name")
    if not reader.accept("AS"):
        reader.fail(f"expected AS after the name of the release, not {describe_token(reader.peek())}")
    return name, live, growing


def _share(script: _Script, reader: Reader) -> ShareCounts:
    at = _clause_at(reader.tokens, reader.closing, CLAUSE)
    assert at is not None  # _reader_of saw it
    header = Reader(script.report, reader.tokens, reader.closing, 0, at)
    replace, kind = _read_create(header)
    if kind != "MODEL" or replace:
        header.fail("WITH SHARING is for CREATE MODEL, without OR REPLACE", reader.tokens[0])
    name, _, _ = _read_release_name(header, kind)
    query_place = header.place(header.peek())
    query = check_query(header, script.dialect, script.work)
    reader.at = at + 2
    clause = read_sharing(reader.group("after WITH SHARING"), reader.tokens[at])
    reader.expect_end("the WITH SHARING clause")
    codebook, key, out = (clause.files.get(word, "") for word in ("CODEBOOK", "KEY", "OUT"))
    text, place = script.text(reader.tokens), script.place(reader.tokens)
    return ShareCounts(name, query, clause.policy, codebook, key, out, text, place, query_place)


def _pseudo(script: _Script, reader: Reader) -> PseudoData:
    replace, kind = _read_create(reader)
    if kind != "TABLE":
        reader.fail(f"pseudo data is a TABLE, not a {kind}", reader.tokens[0])
    growing_token = reader.peek(1)
    name, _, growing = _read_release_name(reader, kind)
    if growing:
        reader.wrong("pseudo data does not grow: leave GROWING out", growing_token)
    for before, word in (("AS", "PSEUDO"), ("PSEUDO", "DATA"), ("PSEUDO DATA", "FROM"), ("FROM", "MODEL")):
        reader.expect_word(word, f"after {before}")
    model = read_name(reader, "the name of the model")
    options = OptionReading({}, {})
    if not reader.at_end:
        reader.expect_word("WITH", "after the name of the model, as in WITH (rows = 1000)")
        options = read_options(reader, "after WITH")
        reader.expect_end("the options of PSEUDO DATA")
    text, place = script.text(reader.tokens), script.place(reader.tokens)
    return PseudoData(name, model, options.values, text, place, replace=replace, option_places=options.places)


def _release(reader: Reader, *verb: str) -> tuple[Word, ...]:
    reader.accept(*verb)
    return read_name(reader, "the name of a release")


def _refresh(script: _Script, reader: Reader) -> Refresh:
    name = _release(reader, "REFRESH")
    reader.expect_end("REFRESH name")
    return Refresh(name, script.place(reader.tokens))


def _verify(script: _Script, reader: Reader) -> Verify:
    name = _release(reader, "VERIFY")
    reader.expect_end("VERIFY name")
    return Verify(name, script.place(reader.tokens))


def _drop(script: _Script, reader: Reader) -> DropRelease:
    name = _release(reader, "DROP", "RELEASE")
    reader.expect_end("DROP RELEASE name")
    return DropRelease(name, script.place(reader.tokens))


def _drop_model(script: _Script, reader: Reader) -> DropRelease:
    """No engine knows it, and its complaint would help nobody."""
    rest = reader.tokens[2:]
    name = printable(script.text(rest)) if rest else "name"
    reader.fail(
        f"there is no DROP MODEL: withdraw a published model with DROP RELEASE {name}; drop a model that was only "
        "trained with ppdm model drop",
        reader.tokens[1],
    )


def _export(script: _Script, reader: Reader) -> Export:
    name = _release(reader, "EXPORT")
    reader.expect_word("TO", "after the name of the release")
    token = reader.peek()
    path = read_string(reader, "the file to export to")
    if not path:
        reader.fail("the file to export to has no name", token)
    options = read_options(reader, "after WITH") if reader.accept("WITH") else OptionReading({}, {})
    reader.expect_end("EXPORT name TO 'file'")
    return Export(name, path, options.values, script.place(reader.tokens), reader.place(token), options.places)
