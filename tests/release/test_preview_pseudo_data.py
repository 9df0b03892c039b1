"""REFRESH, EXPLAIN and `ppdm plan` of pseudo-data: made again, and announced before it is made."""

from __future__ import annotations

import datetime

import pytest
from click.testing import CliRunner

from ppdm_sql.commands import cli
from ppdm_sql.errors import PolicyError

COLUMNS = {"age": "INTEGER", "sex": "TEXT", "born": "DATE", "ill": "TEXT"}
MODEL = """CREATE OR REPLACE MODEL ills AS SELECT age, sex, born, ill FROM people WITH ANONYMIZATION (ALGORITHM ldm
    REQUIRE k = 10 QUASI IDENTIFIER (age, sex, born) SENSITIVE (ill) TARGET (ill));"""
MADE = "CREATE TABLE e AS PSEUDO DATA FROM MODEL ills WITH (rows = 250, seed = 7, domains = (age, 0, 120));"


def people() -> list[tuple]:
    day = datetime.date(2000, 1, 1)
    return [
        (20 + n % 50, "mf"[n // 50 % 2], day + datetime.timedelta(days=n % 7), "yes" if n % 50 < 25 else "fm"[n % 2])
        for n in range(400)
    ]


@pytest.fixture
def session(engine, make_table, open_session):
    make_table(engine, "people", COLUMNS, people())
    return open_session(engine)


def test_refresh_makes_the_rows_again(session):
    _, first = session.execute(f"{MODEL} {MADE}")
    (again,) = session.execute("REFRESH e")
    assert again.record.release_id != first.record.release_id
    assert (again.rows, again.record.content_hash) == (250, first.record.content_hash)  # the same seed
    assert session.verify("e").holds
    assert [one.relation_name for one in [session.release("e").record]] == ["e"]


@pytest.mark.wide
def test_refresh_takes_the_model_as_it_is_now(session, engine):
    session.execute(f"{MODEL} {MADE.replace('rows = 250, ', '')}")
    assert session.release("e").rows == 4 * 400
    session.execute("INSERT INTO people SELECT * FROM people")
    session.execute(MODEL.replace("(ill));", "(ill) ACCEPT RISK (joint));"))
    assert session.release("e").rows == 4 * 400
    session.execute("REFRESH e")
    assert session.release("e").rows == 4 * 800


@pytest.mark.wide
def test_a_seed_is_as_large_as_that_of_a_policy_and_columns_are_named_as_in_sql(session):
    largest = MADE.replace("seed = 7", f"seed = {2**63 - 1}").replace("(age,", "(AGE,")
    _, made = session.execute(f"{MODEL} {largest}")
    assert (made.rows, made.record.seed) == (250, 2**63 - 1)
    (told,) = session.execute(f"EXPLAIN {largest.replace('TABLE e', 'TABLE f')}")
    assert "age: from 0 to 120, as declared" in " | ".join(told.steps)
    with pytest.raises(
        PolicyError, match="seed of PSEUDO DATA must be a whole number from 0 to 9,223,372,036,854,775,807"
    ):
        session.execute(MADE.replace("seed = 7", f"seed = {2**63}"))
    with pytest.raises(PolicyError, match='the model has no column "agee": did you mean age'):
        session.execute(MADE.replace("TABLE e", "TABLE f").replace("(age,", "(agee,"))
    with pytest.raises(PolicyError, match='column "age" is given twice'):
        session.execute(MADE.replace("TABLE e", "TABLE f").replace("(age,", "(AGE, 0, 120, age,"))


def test_explain_tells_the_model_the_rows_and_the_domains(session, engine):
    session.execute(MODEL)
    (told,) = session.execute(f"EXPLAIN {MADE}")
    steps = " | ".join(told.steps)
    assert told.rows == 250
    assert "make 250 rows from model ills, which was trained on 400 rows (pgen, seed 7, classes as counted)" in steps
    assert "age: from 0 to 120, as declared" in steps
    assert "ill: 3 classes" in steps
    assert "drop" not in steps
    assert engine.relation_kind(engine.name(session.parse(MADE)[0].name)) is None
    (told,) = session.execute("EXPLAIN CREATE TABLE e AS PSEUDO DATA FROM MODEL ills")
    assert told.rows == 4 * 400
    assert any(step.startswith("age: from ") and "from the thresholds of the model" in step for step in told.steps)


def test_explain_refuses_what_the_statement_would_refuse(session):
    with pytest.raises(PolicyError, match="no released model"):
        session.execute(f"EXPLAIN {MADE}")
    session.execute(MODEL)
    with pytest.raises(PolicyError, match="outside its declared bounds"):
        session.execute("EXPLAIN CREATE TABLE e AS PSEUDO DATA FROM MODEL ills WITH (domains = (age, 0, 1))")
    with pytest.raises(PolicyError, match="not a release"):
        session.execute("EXPLAIN CREATE TABLE people AS PSEUDO DATA FROM MODEL ills")


@pytest.mark.parametrize(
    ("statement", "told"),
    [("REFRESH e", "run"), ("VERIFY e", "measure"), ("EXPORT e TO 'e.csv'", "write"), ("DROP RELEASE e", "drop")],
)
def test_every_other_statement_is_told_in_its_own_words(session, statement, told):
    session.execute(f"{MODEL} {MADE}")
    (plan,) = session.execute(f"EXPLAIN {statement}")
    assert plan.steps[0].startswith(told)


@pytest.mark.duckdb
def test_plan_tells_pseudo_data_also_of_a_model_that_the_file_publishes(make_table, tmp_path):
    from ppdm_sql.engines.connect import open_engine

    database = tmp_path / "clinic.duckdb"
    with open_engine(str(database), create=True) as engine:
        make_table(engine, "people", COLUMNS, people())
    file = tmp_path / "policy.sql"
    file.write_text(f"{MODEL}\n{MADE}", encoding="utf-8")
    planned = CliRunner().invoke(cli, ["--db", str(database), "plan", str(file)])
    assert planned.exit_code == 0, planned.output
    assert "plan for e" in planned.output
    assert "make 250 rows from model ills, after the earlier statement has published it" in planned.output
    listed = MADE.replace("(age, 0, 120)", "(age, 0, 120, sex, ('f', 'm', 'x'))").replace(
        "seed = 7", "numbers = midpoint"
    )
    file.write_text(f"{MODEL}\n{listed}", encoding="utf-8")
    planned = CliRunner().invoke(cli, ["--db", str(database), "plan", str(file)])
    said = " ".join(planned.output.split())
    assert "numbers at the midpoint" in said
    assert "age: between the declared bounds" in said
    assert "sex: 3 categories, as declared" in said
    file.write_text(MADE, encoding="utf-8")
    assert CliRunner().invoke(cli, ["--db", str(database), "plan", str(file)]).exit_code != 0  # no such model
    file.write_text("SELECT 1", encoding="utf-8")
    assert "publishes nothing" in CliRunner().invoke(cli, ["--db", str(database), "plan", str(file)]).output
