"""PostgreSQL's search path: our statements mean PostgreSQL's own functions, the user's names mean the user's tables."""

from __future__ import annotations

import hashlib

import pytest
from sqlglot import exp

from ppdm_sql.errors import EngineError
from ppdm_sql.statements.names import Name, column
from tests.engines.small_queries import one, query, rows

pytest.importorskip("psycopg")
pytestmark = pytest.mark.postgres


@pytest.fixture
def traps(postgres_admin):
    """What a user with CREATE on public can leave for the DBA to step on (CVE-2018-1058, CVE-2026-2360)."""
    for text in (
        "CREATE TABLE public.stolen (who text)",
        "CREATE FUNCTION public.md5(varchar) RETURNS text LANGUAGE sql AS "
        "$$ INSERT INTO public.stolen VALUES ('md5'); SELECT 'evil' $$",
        "CREATE FUNCTION public.lower(varchar) RETURNS text LANGUAGE sql AS $$ SELECT 'evil' $$",
        "CREATE FUNCTION public.length(varchar) RETURNS integer LANGUAGE sql AS $$ SELECT -1 $$",
        "CREATE FUNCTION public.same(varchar, varchar) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$",
        "CREATE OPERATOR public.= (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = public.same)",
        "CREATE FUNCTION public.glue(varchar, varchar) RETURNS text LANGUAGE sql AS $$ SELECT 'evil' $$",
        "CREATE OPERATOR public.|| (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = public.glue)",
        "CREATE FUNCTION public.set_config(text, varchar, boolean) RETURNS text LANGUAGE sql AS $$ SELECT 'evil' $$",
        "CREATE TABLE public.people (name varchar)",
        "INSERT INTO public.people VALUES ('Ann'), ('Bob')",
    ):
        postgres_admin.execute(text)


CALLS = {
    "SELECT MD5(name) AS x FROM people WHERE name = CAST('Ann' AS VARCHAR)": hashlib.md5(b"Ann").hexdigest(),
    "SELECT LOWER(name) AS x FROM people WHERE name = CAST('Ann' AS VARCHAR)": "ann",
    "SELECT LENGTH(name) AS x FROM people WHERE name = CAST('Ann' AS VARCHAR)": 3,
    "SELECT name || name AS x FROM people WHERE name = CAST('Ann' AS VARCHAR)": "AnnAnn",
}


@pytest.mark.parametrize("text", CALLS)
def test_functions_and_operators_are_postgresqls_own(traps, postgres_engine, text):
    assert postgres_engine.fetch(query(text)) == [(CALLS[text],)]
    postgres_engine.create_table(Name("ppdm_w"), query(text), temporary=True)
    assert rows(postgres_engine, Name("ppdm_w"), "x") == [(CALLS[text],)]
    assert rows(postgres_engine, Name("stolen"), "who") == []


def test_the_traps_would_have_caught_a_plain_session(traps, postgres_admin):
    with postgres_admin.transaction(force_rollback=True):
        assert postgres_admin.execute("SELECT md5(name) FROM people LIMIT 1").fetchone() == ("evil",)


def test_names_without_a_schema_are_found_along_the_users_path(postgres_engine, opened, postgres_admin):
    for schema, value in (("public", 1), ("clinic", 2)):
        postgres_admin.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        postgres_admin.execute(f"CREATE TABLE {schema}.t AS SELECT {value} AS a")
    assert rows(postgres_engine, Name("t")) == [(1,)]
    assert postgres_engine.qualified_name(Name("t")) == "public.t"
    postgres_engine.pass_through("SET search_path = clinic, public")
    assert rows(postgres_engine, Name("t")) == [(2,)]
    assert postgres_engine.qualified_name(Name("t")) == "clinic.t"
    postgres_engine.create_table(Name("new"), one(3))
    assert postgres_engine.relations("clinic") == ["new", "t"]
    assert postgres_engine.fetch_one(query("SELECT CURRENT_SCHEMA() AS s")) == ("clinic",)
    postgres_engine.drop_table(Name("t"))
    assert rows(postgres_engine, Name("t")) == [(1,)]
    assert rows(opened(), Name("t")) == [(1,)]


def test_the_users_path_comes_back_after_an_error_and_after_a_roll_back(postgres_engine):
    postgres_engine.create_table(Name("t"), one(1))
    with pytest.raises(EngineError):
        postgres_engine.pass_through("SELECT 1 / 0")
    assert postgres_engine.fetch_one(query("SELECT CURRENT_SETTING('search_path') AS s")) == ("pg_catalog, pg_temp",)
    with pytest.raises(EngineError), postgres_engine.transaction():
        postgres_engine.pass_through("SELECT 1 / 0")
    assert postgres_engine.fetch_one(query("SELECT CURRENT_SETTING('search_path') AS s")) == ("pg_catalog, pg_temp",)
    assert rows(postgres_engine, Name("t")) == [(1,)]
    assert postgres_engine.pass_through("SELECT a FROM t").rows == [(1,)]


def test_a_path_without_a_schema_says_so(postgres_engine):
    postgres_engine.pass_through("SET search_path = nowhere")
    with pytest.raises(EngineError, match="write the schema"):
        postgres_engine.create_table(Name("t"), one(1))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("WITH t AS (SELECT 5 AS a) SELECT a FROM t", 5),
        ("WITH t AS (SELECT a + 1 AS a FROM t) SELECT a FROM t", 2),
        ("WITH x AS (SELECT a FROM t), t AS (SELECT 7 AS a) SELECT x.a FROM x", 1),
        ("WITH RECURSIVE t AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM t WHERE a < 4) SELECT MAX(a) AS a FROM t", 4),
        ("WITH t AS (SELECT 5 AS a) SELECT (SELECT MAX(t.a) FROM t) AS a", 5),
        ("SELECT (WITH t AS (SELECT 8 AS a) SELECT a FROM t) + t.a AS a FROM t", 9),
        ("SELECT t.a FROM t WHERE EXISTS (SELECT 1 FROM t AS u WHERE u.a = t.a)", 1),
    ],
)
def test_a_with_clause_hides_a_table_exactly_where_sql_says(postgres_engine, text, expected):
    postgres_engine.create_table(Name("t"), one(1))
    assert postgres_engine.fetch(query(text)) == [(expected,)]


def test_a_stored_view_cannot_hang_on_a_working_table(postgres_engine):
    postgres_engine.create_table(Name("ppdm_w"), one(1), temporary=True)
    with pytest.raises(EngineError):  # PostgreSQL would make the view temporary, with a notice
        postgres_engine.create_view(Name("v"), exp.select(column("a")).from_(Name("ppdm_w").table()))
