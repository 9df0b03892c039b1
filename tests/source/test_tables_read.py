"""Which tables a query reads: a name means a WITH query only where that is in scope."""

from __future__ import annotations

import pytest
from sqlglot import parse_one

from ppdm_sql.errors import PolicyError
from ppdm_sql.policy import grammar
from ppdm_sql.source.relation import open_source
from ppdm_sql.source.tables import base_tables
from ppdm_sql.statements.names import Name

PEOPLE = {"id": "INTEGER", "age": "INTEGER", "ill": "TEXT"}
READS_PEOPLE = [
    "SELECT * FROM people",
    "SELECT * FROM (SELECT * FROM people) AS q WHERE EXISTS (WITH people AS (SELECT 1 AS one) SELECT * FROM people)",
    "WITH q AS (SELECT * FROM people), people AS (SELECT 1 AS one) SELECT * FROM q",
    "WITH people AS (SELECT * FROM people) SELECT * FROM people",
    "SELECT * FROM people WHERE id IN (WITH people AS (SELECT 1 AS one) SELECT one FROM people)",
    "WITH q AS (WITH people AS (SELECT 1 AS one) SELECT * FROM people) SELECT people.* FROM q, people",
    "SELECT (SELECT MAX(age) FROM people) AS a FROM others",
    "TABLE people",
]
ONLY_DUCKDB = [
    "FROM people SELECT id",
    "SELECT * FROM (UNPIVOT people ON id, age INTO NAME n VALUE v) AS q "
    "WHERE EXISTS (WITH people AS (SELECT 1 AS one) SELECT * FROM people)",
    "PIVOT people ON ill USING SUM(age)",
    "FROM (SUMMARIZE people)",
    "SELECT * FROM others POSITIONAL JOIN people",
    "SELECT o.* FROM others AS o ASOF JOIN people AS p ON o.id >= p.id",
    "SELECT * FROM people USING SAMPLE 3",
    "SELECT * FROM main.people, (WITH people AS (SELECT 1 AS one) SELECT * FROM people) AS q",
    'SELECT * FROM "PEOPLE"',
    "WITH people AS MATERIALIZED (SELECT * FROM people) SELECT * FROM people",
    "SELECT * FROM others, LATERAL (SELECT * FROM people WHERE people.id = others.id) AS l",
]
READS_NOTHING = ["WITH people AS (SELECT 1 AS id, 2 AS age, 'x' AS ill) SELECT * FROM people", "SELECT 1 AS id"]
POLICY = """CREATE TABLE open AS {} WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 2 QUASI IDENTIFIER (id)
    INSENSITIVE (age) SENSITIVE (ill))"""


@pytest.fixture
def filled(make_table):
    def with_tables(engine):
        for name in ("people", "others"):
            make_table(engine, name, PEOPLE, [(number, number % 2, "flu") for number in range(6)])
        return engine.qualified_name(Name("people"))

    return with_tables


def opened(engine, query):
    (stated,) = grammar.parse(POLICY.format(query), dialect=engine.dialect)
    return open_source(engine, stated.query, stated.policy, stated.place)


@pytest.mark.parametrize("query", READS_PEOPLE)
def test_a_table_is_listed_whatever_a_with_elsewhere_defines(engine, filled, query):
    people = filled(engine)
    assert people in base_tables(engine, parse_one(query, dialect=engine.dialect))


@pytest.mark.duckdb
@pytest.mark.parametrize("query", ONLY_DUCKDB)
def test_a_table_is_listed_in_duckdbs_own_syntax(duckdb_engine, filled, query):
    assert filled(duckdb_engine) in base_tables(duckdb_engine, parse_one(query, dialect="duckdb"))


@pytest.mark.parametrize("query", READS_NOTHING)
def test_a_query_of_no_table_is_refused(engine, filled, query):
    filled(engine)
    assert base_tables(engine, parse_one(query, dialect=engine.dialect)) == ()
    with pytest.raises(PolicyError, match=r"reads no table|column"):
        opened(engine, query)


@pytest.mark.postgres
def test_postgresql_tells_a_quoted_with_from_a_table(postgres_engine, filled):
    people = filled(postgres_engine)
    query = 'WITH "PEOPLE" AS (SELECT 1 AS one) SELECT * FROM people'
    assert base_tables(postgres_engine, parse_one(query, dialect="postgres")) == (people,)


@pytest.mark.lacks("spark", reason="Spark does not say which tables a query reads")
def test_what_the_database_sees_counts_too(engine, filled, monkeypatch):
    """A table that the parser misses is listed all the same."""
    people = filled(engine)
    monkeypatch.setattr("ppdm_sql.source.relation.base_tables", lambda *_: ())
    engine.pass_through("CREATE VIEW seen AS SELECT * FROM people")
    for query in ("SELECT id, age, ill FROM people AS p", "SELECT id, age, ill FROM seen"):
        assert opened(engine, query).tables == (people,)


@pytest.mark.duckdb
def test_a_scalar_macro_does_not_hide_the_table_it_reads(duckdb_engine, filled):
    people = filled(duckdb_engine)
    duckdb_engine.pass_through("CREATE MACRO aged(x) AS (SELECT MAX(age) FROM people WHERE id = x)")
    found = opened(duckdb_engine, "SELECT id, aged(id) AS age, ill FROM others")
    assert people in found.tables
