"""A drafted policy: roles, overrides, engines, and the lines of its files."""

from __future__ import annotations

import pytest

from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.grammar import parse
from ppdm_sql.profile.draft_hierarchies import _number_lines, _text_lines
from ppdm_sql.profile.roles import Role
from tests.profile.profile_tables import people


def test_named_roles_override_and_the_text_is_the_statement(duck_people, open_session):
    session = open_session(duck_people)
    found = session.draft("people", k=7, sensitive=["smoker"], target="diagnosis", entity="contact")
    roles = {one.name: one.role for one in found.roles}
    assert (roles["smoker"], roles["diagnosis"], roles["contact"]) == (Role.SENSITIVE, Role.TARGET, Role.ENTITY)
    (statement,) = parse(found.text)
    assert statement.policy == found.statement.policy
    assert statement.policy.k == 7


@pytest.fixture
def duck_people(duckdb_engine, make_table):
    make_table(duckdb_engine, "people", *people())
    return duckdb_engine


def test_drafts_on_every_engine_are_alike(engine, make_table, open_session):
    make_table(engine, "people", *people(120))
    found = open_session(engine).draft("people", k=5)
    assert [one.name for one in found.roles if one.role is Role.QUASI] == ["born", "postcode", "sex", "smoker"]
    (statement,) = parse(found.text, dialect=engine.dialect)
    assert statement.policy == found.statement.policy


def test_nothing_to_protect_is_said(duckdb_engine, make_table, open_session):
    make_table(duckdb_engine, "ids", {"id": "INTEGER"}, [(number,) for number in range(50)])
    with pytest.raises(PolicyError, match="there is no quasi-identifier"):
        open_session(duckdb_engine).draft("ids")


def test_lines_of_files():
    numbers = _number_lines([(value, 10) for value in range(20, 36)])
    assert numbers[0] == ["20", "< 22", "< 24", "< 28", "*"]
    assert numbers[5] == ["25", "[24, 26)", "[24, 28)", "< 28", "*"]
    assert numbers[-1] == ["35", ">= 34", ">= 32", ">= 28", "*"]
    assert _number_lines([(1, 1000), (2, 1), (3, 1)]) == [["1", "< 2", "*"], ["2", ">= 2", "*"], ["3", ">= 2", "*"]]
    assert _text_lines([("a", 90), ("b", 2), ("other", 1)], 5) == [
        ["a", "a", "*"], ["b", "(other)", "*"], ["other", "(other)", "*"],
    ]  # fmt: skip
    assert _text_lines([("*", 90), ("b", 9)], 5) == []
    assert _text_lines([("a", 9), ("b", 9), ("c", 9)], 5) == [["a", "*"], ["b", "*"], ["c", "*"]]
