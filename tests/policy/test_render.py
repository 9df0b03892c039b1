"""What is written for people to paste is read as the same statement."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.grammar import parse
from ppdm_sql.policy.policy import HierarchyFile, Place, Policy, Publish, Roles
from ppdm_sql.policy.render import render_statement
from ppdm_sql.requirements import KAnonymity, RecursiveDiversity
from ppdm_sql.statements.names import SCHEMA, Word
from tests.policy import rendered as other
from tests.sizes import examples

PLAIN = Policy("mondrian", (KAnonymity(5),), Roles(quasi=(Word("a"),), sensitive=(Word("ppdm_b", quoted=True),)))


def read(text: str, dialect: str) -> Publish:
    (found,) = parse(text, dialect=dialect)
    assert isinstance(found, Publish)
    return replace(found, text="", place=Place(1, 1))


# A release cannot have a name that is kept for the tool; as names of columns such words are drawn too.
_free_words = other.words.filter(lambda word: not word.text.lower().startswith(SCHEMA))


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(policy=other.policies(), replaces=st.booleans(), name=st.lists(_free_words, min_size=1, max_size=2))
@example(policy=PLAIN, replaces=True, name=[Word("ppdm_", quoted=True), Word("x", quoted=True)])
def test_reading_it_again_gives_the_same_statement(dialect, policy, replaces, name):
    """Bare words are drawn as these two read them; how other dialects quote is the next test."""
    name = tuple(word if word.quoted else Word("open_" + word.text) for word in name)
    query = "SELECT age -- (\n FROM t"
    statement = Publish("TABLE", name, query, policy, "", Place(1, 1), replace=replaces)
    assert read(render_statement(statement, dialect), dialect) == statement


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
@pytest.mark.parametrize("name", [("PPDM_",), ("ppdm", "x"), ("s", "ppdm_x")])
def test_a_name_kept_for_the_tool_is_refused_as_in_any_statement(dialect, name):
    words = tuple(Word(part, quoted=True) for part in name)
    with pytest.raises(PolicyError, match="names starting with ppdm_ and the schema ppdm are reserved"):
        read(render_statement(Publish("TABLE", words, "SELECT 1", PLAIN, "", Place(1, 1)), dialect), dialect)


def test_quotes_are_those_of_the_dialect():
    """Spark quotes names with backticks, takes "..." for a text and reads backslashes in it."""
    roles = Roles(
        quasi=(Word('a "b` \\ c', quoted=True), Word("plain")), sensitive=(Word("it's", quoted=True),),
        hierarchies={Word("plain"): HierarchyFile("c:\\it's.csv")},
    )  # fmt: skip
    policy = Policy("mondrian", (KAnonymity(5), RecursiveDiversity(Fraction(5, 2), 3)), roles)
    statement = Publish("TABLE", (Word("x y", quoted=True),), "SELECT 1", policy, "", Place(1, 1))
    for dialect in ("duckdb", "postgres", "spark"):
        assert read(render_statement(statement, dialect), dialect) == statement, dialect


@pytest.mark.parametrize(
    "head", ["CREATE VIEW v AS", "CREATE OR REPLACE VIEW v LIVE AS", "CREATE MODEL m AS", "CREATE TABLE s.t AS"]
)
def test_every_kind_of_release(head):
    algorithm = "kadet" if "MODEL" in head else "mondrian"
    text = f"{head} SELECT a, b FROM t WITH ANONYMIZATION (ALGORITHM {algorithm} REQUIRE k = 5, t = 0.2 ordered "
    text += "QUASI IDENTIFIER (a) SENSITIVE (b) TARGET (b))"
    statement = read(text, "duckdb")
    assert read(render_statement(statement, "duckdb"), "duckdb") == statement
