"""Columns published unchanged that identify people are refused, named with counts, and accepted by name."""

from __future__ import annotations

import math
import random

import pytest

from ppdm_sql.errors import RequirementBreached
from ppdm_sql.planning import undeclared

COLUMNS = {
    "id": "INTEGER", "education": "TEXT", "years": "INTEGER", "age": "INTEGER", "is_phd": "BOOLEAN", "town": "TEXT",
    "wage": "DOUBLE", "flag": "TEXT",
}  # fmt: skip
SCHOOLS = ("none", "school", "college", "bachelor", "master", "phd")


@pytest.fixture
def tables(make_table):
    def filled(engine) -> None:
        draw = random.Random(11)
        rows = []
        for number in range(240):
            school = draw.randrange(6)
            rows.append((
                number, SCHOOLS[school], 10 * school, 20 + draw.randrange(40), school == 5 or None, draw.choice("xyz"),
                1000 * draw.random(), draw.choice("ab"),
            ))  # fmt: skip
        make_table(engine, "people", COLUMNS, rows)

    return filled


def statement(passed: str, more: str = "") -> str:
    return f"""CREATE OR REPLACE TABLE open AS SELECT education, age, {passed} FROM people WITH ANONYMIZATION (
        ALGORITHM mondrian REQUIRE k = 5 QUASI IDENTIFIER (education, age) {more})"""


@pytest.mark.parametrize(
    ("passed", "roles", "message"),
    [
        ("id", "INSENSITIVE (id)", '"id" has a value of its own in 240 of 240 rows'),
        ("years", "INSENSITIVE (years)", r'"years" \(6 values\) determines education'),
        ("is_phd", "INSENSITIVE (is_phd)", r'"is_phd" \(2 values\) follows from education'),
        ("years", "TARGET (years)", r'"years" \(6 values\) determines education'),
        ("wage", "INSENSITIVE (wage)", '"wage" has a value of its own in 240 of 240 rows'),
    ],
)
def test_what_identifies_people_is_refused_and_accepted_by_name(session, passed, roles, message):
    with pytest.raises(RequirementBreached, match=f"{message}.*ACCEPT RISK .undeclared."):
        session.publish(statement(passed, roles))
    release = session.publish(statement(passed, f"{roles} ACCEPT RISK (undeclared)"))
    assert passed in release.record.manifest.residual_risks["undeclared"]


@pytest.mark.parametrize(
    ("passed", "roles"),
    [
        ("town", "INSENSITIVE (town)"),
        ("flag", "TARGET (flag)"),
        ("wage", "TARGET (wage)"),  # what a regression predicts
        ("id", "IDENTIFIER (id)"),
        ("years", "SENSITIVE (years)"),
    ],
)
def test_honest_columns_pass(duck, passed, roles):
    assert "undeclared" not in duck.publish(statement(passed, roles)).record.manifest.residual_risks


def test_agreement_by_chance_is_no_evidence(duck, make_table):
    """Thirty rows of fifteen values: the pairs agree in a rare flag, which chance explains."""
    rows = [(number // 2, "rare" if number in (4, 5) else "usual") for number in range(30)]
    make_table(duck.engine, "few", {"age": "INTEGER", "flag": "TEXT"}, rows)
    release = duck.publish("""CREATE TABLE few_open AS SELECT age, flag FROM few WITH ANONYMIZATION (
        ALGORITHM mondrian REQUIRE k = 3 QUASI IDENTIFIER (age) INSENSITIVE (flag))""")
    assert release.rows == 30


def test_it_costs_one_statement(duck):
    heard: list[str] = []
    duck.engine.on_statement = heard.append
    duck.publish(statement("town, flag", "INSENSITIVE (town) TARGET (flag)"))
    assert len([sql for sql in heard if "ppdm_groups_" in sql]) == 1
    heard.clear()
    duck.publish(statement("flag", "TARGET (flag)"))  # cells have both columns
    assert [sql for sql in heard if "ppdm_groups_" in sql] == []
    heard.clear()
    duck.publish(statement("town", "SENSITIVE (town)"))
    assert [sql for sql in heard if "ppdm_groups_" in sql] == []


@pytest.mark.parametrize(
    ("passed", "message"),
    [
        ("id", '"id" has a value of its own in 240 of 240 rows'),
        ("years", r'"years" \(6 values\) determines education'),
        ("is_phd", r'"is_phd" \(2 values\) follows from education'),
        ("town", None),
        ("flag", None),
    ],
)
@pytest.mark.parametrize("few", [1, 12, 59])
def test_a_few_rows_are_asked_first(duck, monkeypatch, few, passed, message):
    """What they contradict is settled, and what they do not is asked of all rows."""
    monkeypatch.setattr(undeclared, "_FEW", few)
    heard: list[str] = []
    duck.engine.on_statement = heard.append
    text = statement(passed, f"INSENSITIVE ({passed})")
    if message is None:
        assert "undeclared" not in duck.publish(text).record.manifest.residual_risks
    else:
        with pytest.raises(RequirementBreached, match=message):
            duck.publish(text)
    asked = [sql for sql in heard if "ppdm_groups_" in sql]
    assert "ppdm_few" in asked[0]
    assert not any("ppdm_few" in sql for sql in asked[1:])
    if message is not None and passed != "id":
        assert len(asked) == 2


def test_fifty_unique_rows_are_out_of_reach_of_a_column_of_few_values():
    """n exp(-n / V) has its maximum V / e at n = V: 50 take more than 135 equally frequent values."""
    most = {values: max(n * math.exp(-n / values) for n in range(1, 2000)) for values in (101, 135, 137)}
    assert most[101] < 38
    assert most[135] < 50 < most[137]


@pytest.mark.duckdb
def test_a_number_to_predict_that_tells_people_apart_is_a_risk_and_no_refusal(duckdb_engine, make_table, open_session):
    rows = [(n % 40, n / 7) for n in range(200)]
    make_table(duckdb_engine, "people", {"age": "INTEGER", "income": "DOUBLE"}, rows)
    text = """CREATE TABLE open AS SELECT age, income FROM people
    WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 4 QUASI IDENTIFIER (age) TARGET (income))"""
    session = open_session(duckdb_engine)
    risks = session.publish(text).manifest["residual_risks"]
    assert "200 of 200 rows" in risks["unique_target"]
    session.run("DROP RELEASE open")
    text = text.replace("TARGET (income))", "TARGET (income) ROUND (income TO 10))")
    assert "unique_target" not in session.publish(text).manifest["residual_risks"]


@pytest.mark.duckdb
def test_advice_is_refused_where_its_statement_would_be(duckdb_engine, make_table, open_session):
    rows = [(f"p{n}", n % 40, "x" if n % 3 else "y") for n in range(200)]
    make_table(duckdb_engine, "people", {"id": "TEXT", "age": "INTEGER", "ill": "TEXT"}, rows)
    text = """CREATE TABLE open AS SELECT id, age, ill FROM people WITH ANONYMIZATION (ALGORITHM mondrian
    REQUIRE k = 4 QUASI IDENTIFIER (age) TARGET (ill) INSENSITIVE (id))"""
    with pytest.raises(RequirementBreached, match='"id" has a value of its own in 200 of 200 rows'):
        open_session(duckdb_engine).advise(text)
