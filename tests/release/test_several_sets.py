"""REQUIRE k = 4 ON (a, b), k = 11 ON (b, c): read, kept, judged set by set, recorded, and refused where it cannot be meant."""

from __future__ import annotations

import pytest

from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.grammar import parse
from ppdm_sql.policy.render import render_statement
from ppdm_sql.policy.stored_requirements import requirements
from ppdm_sql.requirements import KAnonymity, SetAnonymity
from ppdm_sql.statements.names import Name, Word
from ppdm_sql.verify.relation import judge

PEOPLE = (
    ("9th", "M", 30, 0, 3), ("10th", "M", 32, 0, 4), ("11th", "M", 35, 2, 3), ("12th", "F", 37, 3, 1), ("Bachelors", "F", 42, 4, 2),
    ("Bachelors", "F", 44, 4, 0), ("Masters", "M", 44, 4, 0), ("Masters", "F", 44, 3, 0), ("Doctorate", "F", 44, 1, 0),
)  # fmt: skip
STATEMENT = """
CREATE TABLE open AS SELECT education, sex, "Work hours", risk FROM people
WITH ANONYMIZATION (ALGORITHM {algorithm} REQUIRE {required} QUASI IDENTIFIER (education, sex, "Work hours") TARGET (risk));
"""
TWO = 'k = 4 ON (Education, sex), k = 11 ON (sex, "Work hours")'


def statement(required: str = TWO, algorithm: str = "tds") -> str:
    return STATEMENT.format(required=required, algorithm=algorithm)


@pytest.fixture
def people(engine, make_table):
    rows = []
    for education, sex, hours, yes, no in PEOPLE:
        rows += [(education, sex, hours, "Y")] * yes + [(education, sex, hours, "N")] * no
    make_table(engine, "people", {"education": "TEXT", "sex": "TEXT", "Work hours": "INTEGER", "risk": "TEXT"}, rows)
    return engine


def test_each_set_is_kept_judged_and_recorded(people, open_session):
    session = open_session(people)
    release = session.publish(statement())
    assert [str(finding.requirement) for finding in release.findings] == list(
        map(str, parse(statement())[0].policy.requirements)
    )
    assert all(finding.holds for finding in release.findings)
    assert session.verify("open").holds
    assert "sets" in {risk["name"] if isinstance(risk, dict) else risk for risk in release.manifest["residual_risks"]}


@pytest.mark.duckdb
def test_the_judge_counts_each_set_by_itself(duckdb_engine, make_table):
    make_table(duckdb_engine, "seen", {"a": "TEXT", "b": "TEXT"}, [("x", "1"), ("x", "2"), ("y", "1"), ("y", "2")])
    asked = (SetAnonymity(2, (Word("A"),)), SetAnonymity(2, (Word("a"), Word("b"))), SetAnonymity(3, (Word("b"),)))
    found = judge(duckdb_engine, Name("seen"), quasi=["a", "b"], sensitive=[], requirements=asked).findings
    assert [(one.holds, one.achieved, one.breaching_classes) for one in found] == [
        (True, 2, 0),
        (False, 1, 4),
        (False, 2, 2),
    ]


@pytest.mark.duckdb
def test_check_measures_each_set_on_the_raw_table(duckdb_engine, make_table, open_session):
    make_table(
        duckdb_engine,
        "people",
        {"education": "TEXT", "sex": "TEXT", "Work hours": "INTEGER", "risk": "TEXT"},
        [("a", "M", n, "Y") for n in range(12)],
    )
    found = open_session(duckdb_engine).check(statement())
    assert [(outcome.holds, outcome.achieved) for outcome in found.outcomes] == [(True, 12), (False, 1)]


def test_it_is_read_back_as_it_was_written():
    (found,) = parse(statement())
    assert found.policy.requirements == (
        SetAnonymity(4, (Word("Education"), Word("sex"))), SetAnonymity(11, (Word("sex"), Word("Work hours", quoted=True))),
    )  # fmt: skip
    assert parse(render_statement(found, "duckdb"))[0].policy.requirements == found.policy.requirements
    assert requirements([*map(str, found.policy.requirements), "k = 3"]) == (*found.policy.requirements, KAnonymity(3))


@pytest.mark.duckdb
@pytest.mark.parametrize(
    ("required", "algorithm", "message"),
    [
        ("k = 4 ON (education, risk)", "tds", '"risk" is no quasi-identifier'),
        ("k = 4 ON (education, sex)", "tdr", 'no k covers "Work hours": add it to a k = ... ON'),
        (TWO, "mondrian", "ALGORITHM mondrian cannot keep k = 4 ON"),
        ("k = 4 ON (sex, SEX), k = 2", "tds", "ON names a column twice"),
        ("k = 4 ON (sex), k = 5 ON (sex)", "tds", "k is required twice"),
        ("k = 50 ON (education, sex), k = 2", "tds", "k = 50 cannot be met: the whole table has 34 rows"),
    ],
)
def test_what_cannot_be_meant_is_refused(duckdb_engine, make_table, open_session, required, algorithm, message):
    make_table(
        duckdb_engine, "people", {"education": "TEXT", "sex": "TEXT", "Work hours": "INTEGER", "risk": "TEXT"},
        [(one[0], one[1], one[2], "Y") for one in PEOPLE for _ in range(one[3] + one[4])],
    )  # fmt: skip
    session = open_session(duckdb_engine)
    with pytest.raises(Exception, match=message) as refused:
        session.publish(statement(required, algorithm))
    assert isinstance(refused.value, PolicyError) or "cannot be met" in message
    assert duckdb_engine.relation_kind(Name("open")) is None
