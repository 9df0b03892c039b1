"""A hostile file is refused soon, with a place, and never with a traceback."""

from __future__ import annotations

import pytest

from ppdm_sql.errors import PolicyError, PpdmError
from ppdm_sql.policy.grammar import parse, read
from ppdm_sql.policy.query import Parser

CLAUSE = "WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 5 QUASI IDENTIFIER (age))"


def published(query: str) -> str:
    return f"CREATE TABLE x AS {query} {CLAUSE}"


HOSTILE = {
    "100 MB": ("x" * 100_000_000, (1, 1), "a policy file can have at most 1,000,000 characters"),
    "words": (";" * 260_000, (1, 250_001), "a policy file can have at most 250,000 words and signs"),
    "brackets": ("(" * 10_000 + ")" * 10_000, (1, 201), "brackets are nested more than 200 deep"),
    "brackets in a clause": (
        published("SELECT 1").replace("k = 5", "k = " + "(" * 10_000 + ")" * 10_000),
        (1, 278),
        "brackets are nested more than 200 deep",
    ),
    "brackets in a query": (
        published("SELECT " + "(" * 31 + "1" + ")" * 31),
        (1, 56),
        "brackets are nested more than 30 deep",
    ),
    "unclosed bracket": ("SELECT 1;\nSELECT (1;", (2, 8), "( is never closed"),
    "wrong bracket": ("SELECT (1]", (1, 10), "] closes no bracket"),
    "unclosed string": ("SELECT 1; -- it's\nSELECT 'it''s", (2, 8), "the string that starts here is never closed"),
    "unclosed name": ('SELECT 1;\n\n "a""', (3, 2), "the quoted name or string that starts here is never closed"),
    "unclosed dollar": ("SELECT\n $a$ $b$ $$", (2, 2), "the dollar-quoted string that starts here is never closed"),
    "unclosed comment": ("SELECT 1 /* */ /* /* */", (1, 16), "the comment that starts here is never closed"),
    "NUL": ("SELECT 1\n'\x00'", (2, 2), "a NUL character is not allowed in a policy file"),
    "surrogate": ("SELECT '\udc80'", (1, 9), "half a surrogate pair, which is not a character"),
    "recursion": (published("SELECT " + "NOT " * 5_000 + "1"), (1, 19), "the query is too long or too deeply nested"),
    # sqlglot would take hours for this one: each level doubles its work.
    "backtracking": (
        published("SELECT " + "date(" * 29 + "1" + ")" * 29),
        (1, 19),
        "the query is too long or too deeply nested",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_refused(name):
    """A reader that tries all ways would take hours."""
    text, place, message = HOSTILE[name]
    with pytest.raises(PolicyError) as caught:
        parse(text)
    first = caught.value.mistakes[0]
    assert first.message.startswith(message), first.message
    assert (first.line, first.column) == place


def test_a_large_file_is_not_read_to_its_end(tmp_path):
    path = tmp_path / "large.sql"
    with path.open("wb") as stream:
        stream.truncate(10 * 1024**3)  # sparse: no disk is used, but reading it would take the memory
    with pytest.raises(PolicyError, match="at most 1,000,000 characters"):
        read(path)


def test_the_limits_leave_room_for_real_work():
    rows = ", ".join(f"({i}, 'name {i}')" for i in range(5_000))
    columns = ", ".join(f"coalesce(a{i}, {i}) AS b{i}" for i in range(300))
    deep = "replace(" * 25 + "a" + ", 'x', 'y')" * 25
    texts = [f"INSERT INTO t VALUES {rows}", published(f"SELECT {columns}, {deep} FROM t"), "(" * 200 + "1" + ")" * 200]
    assert len(parse(";".join(texts))) == 3


def test_many_mistakes_are_cut_off():
    with pytest.raises(PolicyError) as caught:
        parse("VERIFY 5;\n" * 5_000)
    assert len(caught.value.mistakes) == 101
    assert caught.value.mistakes[-1].message == "too many mistakes: stopped reading here"
    assert [m.line for m in caught.value.mistakes[:-1]] == list(range(1, 101))


def test_a_compiled_parser_whose_steps_cannot_be_counted_is_refused(monkeypatch):
    """Every policy was refused with "the query cannot be parsed" where sqlglotc was installed."""
    monkeypatch.setattr(Parser, "_advance", print)
    with pytest.raises(PpdmError, match="run pip uninstall sqlglotc") as refused:
        parse(published("SELECT 1"))
    assert refused.value.exit_code == 3
