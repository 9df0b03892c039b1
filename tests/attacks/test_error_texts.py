"""Errors that a value can write: raised in functions, found in values by built-ins, spelt as names of columns and types."""

from __future__ import annotations

import traceback

import duckdb
import pytest

import ppdm_sql
from ppdm_sql.errors import PolicyError, PpdmError
from ppdm_sql.statements.names import Name

POLICY = """CREATE TABLE o AS {query} WITH ANONYMIZATION (
    ALGORITHM mondrian REQUIRE k = 5 IDENTIFIER (id) QUASI IDENTIFIER ({quasi}) SENSITIVE (ill))"""


# -- PostgreSQL ------------------------------------------------------------------------------------------

RAISES = {
    "as a column": "RAISE EXCEPTION 'saw %', t USING ERRCODE = '42703'",
    "as a schema": "RAISE EXCEPTION 'saw %', t USING ERRCODE = '3F000'",
    "as a right": "RAISE EXCEPTION 'saw %', t USING ERRCODE = '42501'",
    "as a dependent": "RAISE EXCEPTION 'saw %', t USING ERRCODE = '2BP01', DETAIL = t, HINT = t",
    "as a full disk": "RAISE EXCEPTION 'saw %', t USING ERRCODE = '53100'",
    "plainly": "RAISE EXCEPTION 'saw %', t USING DETAIL = t, HINT = t, COLUMN = t, TABLE = t",
    "in dynamic SQL": "EXECUTE 'SELECT \"' || t || '\"'",
    "in dynamic syntax": "EXECUTE t",
    "in an assertion": "ASSERT false, t",
}
FINDS = [
    "CAST(CAST(ward AS regclass) AS text)",
    "CAST(CAST(ward AS regtype) AS text)",
    "CAST(CAST(ward AS regoper) AS text)",
    "CAST(CAST(ward AS regrole) AS text)",
    "CAST(to_tsquery('simple', ward) AS text)",
    "CAST(CAST(ward AS jsonpath) AS text)",
    "current_setting(ward)",
    "CAST(query_to_xml(ward, true, true, '') AS text)",
    "CAST(ward AS json) #>> '{}'",
    "CAST(date_trunc(ward, now()) AS text)",
]


@pytest.fixture
def clinic(postgres_engine, make_table, open_session):
    rows = [(i, i % 5, "CANARY of (ann" if i == 7 else "pg_class", f"ill {i % 3}") for i in range(60)]
    make_table(postgres_engine, "people", {"id": "INTEGER", "n": "INTEGER", "ward": "TEXT", "ill": "TEXT"}, rows)
    return open_session(postgres_engine)


def refused(session, run) -> None:
    with pytest.raises(PpdmError) as error:
        run()
    assert "CANARY" not in str(error.value)
    assert "CANARY" not in "".join(traceback.format_exception(error.value))  # nor what a job's log prints of it
    if session.engine.relation_kind(Name("ppdm", "run_event")) is not None:
        noted = session.engine.pass_through("SELECT message FROM ppdm.run_event WHERE message IS NOT NULL").rows
        assert "CANARY" not in str(noted)


@pytest.mark.postgres
@pytest.mark.parametrize("how", RAISES)
def test_what_a_function_raises_is_not_told(clinic, caplog, how):
    caplog.set_level("DEBUG")
    clinic.engine.pass_through(
        "CREATE FUNCTION look(t text) RETURNS text LANGUAGE plpgsql AS "
        f"$$ BEGIN IF t LIKE 'CANARY%' THEN {RAISES[how]}; END IF; RETURN t; END $$"
    )
    query = "SELECT id, n, look(ward) AS ward, ill FROM people"
    refused(clinic, lambda: clinic.publish(POLICY.format(query=query, quasi="n, ward")))
    refused(clinic, lambda: clinic.execute("SELECT look(ward) FROM people"))
    assert "CANARY of" not in caplog.text


@pytest.mark.postgres
def test_a_function_that_raises_is_placed_at_its_column(clinic):
    clinic.engine.pass_through(
        "CREATE FUNCTION look(t text) RETURNS text LANGUAGE plpgsql AS "
        "$$ BEGIN IF t LIKE 'CANARY%' THEN RAISE EXCEPTION 'saw %', t; END IF; RETURN t; END $$"
    )
    for query, told in {
        "SELECT id, n, look(ward) AS ward, ill FROM people": r'^1:38: column "ward" = LOOK\(ward\): Postg',
        "SELECT id, n, ward, ill FROM people WHERE look(ward) > ''": "^1:19: a condition of the query",
    }.items():
        with pytest.raises(PpdmError, match=told):
            clinic.publish(POLICY.format(query=query, quasi="n, ward"))


@pytest.mark.postgres
@pytest.mark.parametrize("expression", FINDS)
def test_what_a_built_in_finds_in_a_value_is_not_told(clinic, expression):
    query = f"SELECT id, n, {expression} AS ward, ill FROM people"
    refused(clinic, lambda: clinic.publish(POLICY.format(query=query, quasi="n, ward")))
    refused(clinic, lambda: clinic.execute(query))


@pytest.mark.postgres
def test_mistakes_in_the_statement_are_told(clinic):
    for text, told in {
        "SELECT nope FROM people": 'column "nope" does not exist',
        "SELECT * FROM nope": "table nope does not exist",
        "SELEC 1": "syntax error",
        "DROP TABLE nope": 'table "nope" does not exist',
        "CREATE TABLE people (a integer)": 'relation "people" already exists',
        "GRANT SELECT ON people TO ppdm_test_nobody": 'role "ppdm_test_nobody" does not exist',
        "SELECT nope(1)": "function nope",
        "CREATE VIEW nowhere.v AS SELECT 1 AS a": 'schema "nowhere" does not exist',
    }.items():
        with pytest.raises(PpdmError, match=told):
            clinic.execute(text)


# -- DuckDB ----------------------------------------------------------------------------------------------


@pytest.fixture
def ward_session():
    """Columns whose names, and a type whose labels, are the values of another column."""
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE people AS SELECT range AS id, range % 5 AS n, range % 4 AS ill, "
        "CASE WHEN range = 7 THEN 'CANARY Ann' ELSE 'ward ' || range % 3 END AS ward FROM range(100)"
    )
    connection.execute("CREATE TYPE wards AS ENUM (SELECT DISTINCT ward FROM people ORDER BY ward)")
    connection.execute("CREATE TABLE coded AS SELECT id, n, ill, CAST(ward AS wards) AS ward FROM people")
    connection.execute("CREATE VIEW wide AS FROM people PIVOT (count(*) FOR ward IN wards GROUP BY id, n, ill)")

    def opened(**options):
        return ppdm_sql.connect(connection, **options)

    return opened


PIVOTED = "FROM people PIVOT (count(*) FOR ward IN wards GROUP BY id, n, ill)"


@pytest.mark.parametrize("query", [PIVOTED, "SELECT * FROM wide", f"WITH w AS ({PIVOTED}) SELECT * FROM w"])
def test_names_that_a_pivot_makes_are_counted_and_not_told(ward_session, query):
    with pytest.raises(PolicyError, match="4 columns of a PIVOT have no role: list the columns") as error:
        ward_session().publish(POLICY.format(query=query, quasi="n"))
    assert "CANARY" not in str(error.value)
    with pytest.raises(PolicyError, match='column "CANARY Ann" has no role'):
        ward_session(show_values=True).publish(POLICY.format(query=query, quasi="n"))


STORED = [
    f"CREATE TABLE stored AS {PIVOTED}",
    "CREATE TABLE stored AS PIVOT people ON ward USING count(*) GROUP BY id, n, ill",
    'CREATE OR REPLACE TABLE main . "stored" AS PIVOT people ON ward USING count(*) GROUP BY id, n, ill',
    "CREATE TABLE stored AS SELECT * FROM wide",
    "CREATE TABLE step AS SELECT * FROM wide; CREATE TABLE stored AS FROM step",
    "CREATE TEMP TABLE step AS SELECT * FROM wide; ALTER TABLE step RENAME TO STORED",
]


@pytest.mark.parametrize("text", STORED)
def test_names_in_a_table_that_a_statement_of_the_policy_pivots_are_counted_too(ward_session, text):
    policy = POLICY.format(query="SELECT * FROM stored", quasi="n")
    session = ward_session()
    with pytest.raises(PolicyError, match="4 columns of a PIVOT have no role: list the columns") as error:
        session.execute(f"{text}; {policy}")
    assert "CANARY" not in str(error.value)
    with pytest.raises(PolicyError, match='column "CANARY An" does not exist$'):
        session.execute(POLICY.format(query="SELECT * FROM stored", quasi='"CANARY An"'))


def test_a_name_that_a_pivot_makes_is_not_guessed_at(ward_session):
    with pytest.raises(PolicyError, match='column "CANARY An" does not exist$'):
        ward_session().publish(POLICY.format(query="SELECT * FROM wide", quasi='"CANARY An"'))
    doubled = "SELECT a.*, b.* EXCLUDE (id, n, ill) FROM wide AS a JOIN wide AS b ON a.id = b.id"
    with pytest.raises(PpdmError) as error:
        ward_session().publish(POLICY.format(query=doubled, quasi="n"))
    assert "CANARY" not in str(error.value)


def test_a_name_that_the_policy_writes_is_told(ward_session):
    with pytest.raises(PolicyError, match='column "ward 1" has no role: give it one'):
        ward_session().publish(POLICY.format(query='SELECT id, n, ill, "ward 1" FROM wide', quasi="n"))


@pytest.mark.parametrize("expression", ["sum(ward)", "ward + 1", "[ward]", "{'a': ward}"])
def test_labels_of_an_enum_are_not_told(ward_session, expression):
    with pytest.raises(PpdmError) as error:
        ward_session().publish(
            POLICY.format(query=f"SELECT id, n, ill, {expression} AS w FROM coded GROUP BY ALL", quasi="n, w")
        )
    assert "CANARY" not in str(error.value)
    with pytest.raises(PpdmError) as error:
        ward_session().train("m", f"SELECT n, ill, {expression} AS w FROM coded GROUP BY ALL", "w")
    assert "CANARY" not in str(error.value)
