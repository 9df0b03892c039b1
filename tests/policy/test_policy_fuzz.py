"""Whatever the text, it is understood or refused; and what wanted protection never passes as ordinary SQL."""

from __future__ import annotations

import re

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.grammar import parse
from ppdm_sql.policy.policy import Explain, PassThrough, Publish, Statement
from ppdm_sql.statements.names import Word
from tests.policy.rendered import QUERIES, clauses, policies, statement
from tests.sizes import examples

quick = settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
fewer = settings(quick, max_examples=examples(25))  # whole policies take long to make up


def outcome(text: str, dialect: str = "duckdb") -> list[Statement]:
    """The statements, or none when the text is refused with a place; any other exception is a failure."""
    try:
        return parse(text, dialect=dialect)
    except PolicyError as error:
        mistakes = error.mistakes
    assert mistakes
    lines = re.split(r"\r\n|\r|\n", text)
    for mistake in mistakes:
        assert mistake.line is not None
        assert mistake.column is not None
        assert 1 <= mistake.line <= len(lines)
        assert 1 <= mistake.column <= len(lines[mistake.line - 1]) + 1
    return []


def bare(text: str) -> str:
    """DuckDB SQL with its strings, quoted names and comments blanked out: a scanner of its own, by characters."""
    kept, i = [], 0
    while i < len(text):
        dollar = re.compile(r"\$([A-Za-z_]\w*)?\$").match(text, i)
        if text.startswith("--", i):
            i = min((found for found in (text.find("\n", i), text.find("\r", i)) if found >= 0), default=len(text))
        elif text.startswith("/*", i):
            depth, i = 1, i + 2
            while depth and i < len(text):
                step = {"/*": 1, "*/": -1}.get(text[i : i + 2], 0)
                depth, i = depth + step, i + (2 if step else 1)
        elif dollar and not (i and (text[i - 1].isalnum() or text[i - 1] in "_$")):
            end = text.find(dollar.group(), dollar.end())
            i = len(text) if end < 0 else end + len(dollar.group())
        elif text[i] in "'\"":
            escapes = text[i] == "'" and i and text[i - 1] in "eE" and not text[i - 2 : i - 1].isalnum()
            quote, i = text[i], i + 1
            while i < len(text) and text[i] != quote:
                i += 2 if escapes and text[i] == "\\" else 1
            i += 1
        else:
            kept.append(text[i])
            i += 1
            continue
        kept.append(" ")
    return "".join(kept)


def wants_anonymization(text: str) -> bool:
    return re.search(r"(?<!\w)anonymization(?!\w)", bare(text), re.IGNORECASE) is not None


def test_the_scanner_of_this_test_sees_what_it_should():
    assert wants_anonymization("SELECT 1 WITH ANONYMIZATION (x)")
    assert wants_anonymization("'a' /* /* */ */ \"b\" $$ $$ -- c\n anonymization")
    for hidden in ("'{}'", '"{}"', "/* {} */", "-- {}", "$$ {} $$", "$a$ $$ {} $a$", "'''{}'", "E'\\'{}'"):
        assert not wants_anonymization(hidden.format(" ANONYMIZATION "))


_fragments = st.sampled_from(
    [
        *(
            "CREATE",
            "OR",
            "REPLACE",
            "TABLE",
            "VIEW",
            "MODEL",
            "LIVE",
            "x",
            '"x"',
            "'x'",
            "AS",
            "SELECT",
            "age",
            "FROM",
        ),
        *(
            "t",
            "WITH",
            "ANONYMIZATION",
            "anonymization",
            "(",
            ")",
            ",",
            ";",
            "ALGORITHM",
            "mondrian",
            "kadet",
            "REQUIRE",
        ),
        *("k", "=", "5", "0.5", "%", "-", ".", "*", "QUASI", "IDENTIFIER", "SENSITIVE", "TARGET", "(age)", "HIERARCHY"),
        *("INTERVALS", "PREFIX", "SEED", "GRANT", "TO", "PRESERVE", "ACCEPT", "RISK", "EXPLAIN", "ANALYZE", "REFRESH"),
        *("VERIFY", "EXPORT", "DROP", "RELEASE", "PSEUDO", "DATA", "UNION", "DELETE", "[", "]", "{", "}", "{#", "#}"),
        *("'ANONYMIZATION'", '"ANONYMIZATION"', "/*ANONYMIZATION*/", "--ANONYMIZATION\n", "$$ANONYMIZATION$$", "$a$"),
        *("012", "1e3", "E'\\''", "WITH ANONYMIZATION (", "CREATE TABLE x AS SELECT age FROM t"),
    ]
)
_soup = st.lists(_fragments, max_size=25).map(" ".join)


@quick
@given(st.text() | _soup, st.sampled_from(["duckdb", "postgres", "spark"]))
@example("\ufeff;\x0c\u2028'", "duckdb")
@example("CREATE TABLE x AS SELECT 0xZZ 0b2 WITH ANONYMIZATION (SEED 0x1)", "spark")
@example("EXPLAIN", "duckdb")
@example("CREATE", "duckdb")
@example("CREATE TABLE x AS WITH", "duckdb")
def test_any_text_is_understood_or_refused(text, dialect):
    outcome(text, dialect)


@st.composite
def mutants(draw: st.DrawFn) -> str:
    """A valid policy with a few pieces cut out, doubled, swapped or put in."""
    text = statement((Word("x"),), draw(st.sampled_from(QUERIES)), clauses(draw(policies())))
    pieces = re.findall(r"\w+|\s+|.", text, re.DOTALL)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(pieces) - 1, 0)))
        match draw(st.sampled_from(["cut", "double", "swap", "insert", "spell"])):
            case "cut":
                del pieces[at : at + draw(st.integers(1, 3))]
            case "double":
                pieces[at:at] = pieces[at : at + 2]
            case "swap" if pieces:
                other = draw(st.integers(0, len(pieces) - 1))
                pieces[at], pieces[other] = pieces[other], pieces[at]
            case "spell" if pieces and len(pieces[at]) > 3:
                pieces[at] = pieces[at][0] + pieces[at][2] + pieces[at][1] + pieces[at][3:]
            case _:
                pieces.insert(at, draw(_fragments))
    return "".join(pieces)


@fewer
@given(mutants())
def test_a_damaged_policy_is_understood_or_refused_but_never_passes(text):
    for found in outcome(text):
        if isinstance(found, PassThrough):
            assert not wants_anonymization(found.text)


def _names_it(one: Statement) -> bool:
    return not isinstance(one, PassThrough | Explain) and "anonymization" in {word.text.lower() for word in one.name}


@quick
@given(_soup)
@example("CREATE TABLE x AS SELECT age FROM t ANONYMIZATION (age)")
@example("CREATE TABLE x AS SELECT age FROM t {# WITH ANONYMIZATION ( ) #}")
@example("EXPLAIN CALL WITH ANONYMIZATION")
@example("CREATE TABLE x AS SELECT E'\\'' ANONYMIZATION")
@example("REFRESH ANONYMIZATION")
def test_the_word_anonymization_is_a_publication_or_an_error(text):
    """Or the name of a release: REFRESH ANONYMIZATION asks for one of that name."""
    found = outcome(text)
    if wants_anonymization(text) and found:
        inner = [one.statement if isinstance(one, Explain) else one for one in found]
        assert any(isinstance(one, Publish) or _names_it(one) for one in inner)
    for one in found:
        if isinstance(one, PassThrough):
            assert not wants_anonymization(one.text)


@quick
@given(_soup)
def test_nothing_of_a_file_gets_lost(text):
    """Take the statements out of the file, and only comments and semicolons are left."""
    rest = text
    for one in outcome(text):
        written = getattr(one, "text", None) or getattr(getattr(one, "statement", None), "text", None)
        if written is None:
            return  # a statement that does not carry its text
        assert written in rest
        rest = rest.replace(written, "EXPLAINED" if isinstance(one, Explain) else "", 1)
    if outcome(text):
        assert re.sub(r"EXPLAIN\s+EXPLAINED|[\s;]", "", bare(rest)) == ""
