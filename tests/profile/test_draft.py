"""A drafted policy: roles, overrides, engines, and the lines of its files."""

from __future__ import annotations

import pytest

from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.grammar import parse
from ppdm_sql.profile.draft_hierarchies import _number_lines, _text_lines
from ppdm_sql.profile.roles import Role
from tests.profile.profile_tables import identified, people


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


def test_names_and_ids_that_single_values_do_not_give_away(engine, make_table, open_session):
    make_table(engine, "identified", *identified())
    found = open_session(engine).draft("identified", k=5)
    roles = {one.name: one.role for one in found.roles}
    quasi = {name for name, role in roles.items() if role is Role.QUASI}
    assert quasi == {"phone_type", "paid", "sex"}
    assert {role for name, role in roles.items() if name not in quasi} == {Role.IDENTIFIER, Role.LEFT_OUT}
    reasons = {one.name: one.reason for one in found.roles}
    assert reasons["place"].endswith("numbered without large gaps, as row numbers are")
    assert reasons["ref"].endswith("each with 6 digits")
    assert "free text" not in reasons["token"]


def test_a_column_that_says_the_same_is_left_out(engine, make_table, open_session):
    rows = [(number % 6, "abcdef"[number % 6], "ab"[number % 2], number % 6 if number else 1) for number in range(60)]
    make_table(engine, "twice", {"code": "INTEGER", "word": "TEXT", "half": "TEXT", "nearly": "INTEGER"}, rows)
    found = {one.name: (one.role, one.reason) for one in open_session(engine).draft("twice", k=3).roles}
    assert found["word"] == (Role.LEFT_OUT, "says the same as code")
    assert {name for name, (role, _) in found.items() if role is Role.QUASI} == {"code", "half", "nearly"}


def test_many_quasi_identifiers_are_pointed_out(duckdb_engine, make_table, open_session):
    def drafted(columns):
        rows = [tuple((number * (place + 3)) % (place + 4) for place in range(columns)) for number in range(200)]
        make_table(duckdb_engine, f"t{columns}", {f"c{place}": "INTEGER" for place in range(columns)}, rows)
        return open_session(duckdb_engine).draft(f"t{columns}").text

    assert "-- 9 quasi-identifiers: the fewer there are" in drafted(9)
    assert "quasi-identifiers: the fewer" not in drafted(8)


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
