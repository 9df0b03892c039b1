"""What a database, a role, a policy or a function may set, and what ppdm_sql does about it."""

from __future__ import annotations

import pytest
from sqlglot import exp, parse_one

from ppdm_sql.engines.postgres.engine import PostgresEngine
from ppdm_sql.engines.postgres.session import PINNED
from ppdm_sql.errors import DatabaseUnavailable, EngineError, PolicyError
from ppdm_sql.statements.names import Name, aliased

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.postgres

WRONG = {
    "search_path": "public, pg_catalog",
    "standard_conforming_strings": "off",
    "backslash_quote": "on",
    "client_encoding": "LATIN1",
    "transform_null_equals": "on",
    "row_security": "off",
    "session_replication_role": "replica",
    "quote_all_identifiers": "on",
    "array_nulls": "off",
    "xmloption": "document",
    "TimeZone": "Asia/Tokyo",
    "DateStyle": "German, DMY",
    "IntervalStyle": "iso_8601",
    "extra_float_digits": "-15",
    "bytea_output": "escape",
    "client_min_messages": "debug1",
}
HOSTILE = "\\'); DROP TABLE public.sentinel; --"


def test_every_pinned_setting_is_tried():
    assert list(WRONG) == list(PINNED)


def settings(engine) -> dict[str, str]:
    names = exp.Array(expressions=[exp.Literal.string(name) for name in PINNED])
    query = exp.select(aliased(exp.Unnest(expressions=[names]), "n"))
    found = {
        name: engine.fetch_one(parse_one(f"SELECT current_setting('{name}') AS s")) for (name,) in engine.fetch(query)
    }
    return {name: value.split(",")[0] if name == "DateStyle" else value for name, (value,) in found.items()}


def set_all(prefix: str = "SET") -> str:
    return "; ".join(
        f"{prefix} {name} = {value if name == 'search_path' else repr(value)}" for name, value in WRONG.items()
    )


def configured(is_local: str = "false") -> str:
    return " ".join(f"PERFORM set_config('{name}', '{value}', {is_local});" for name, value in WRONG.items())


TEXTS = {
    "SET": set_all(),
    "SET SESSION": set_all("SET SESSION"),
    "set_config": "; ".join(f"SELECT set_config('{name}', '{value}', false)" for name, value in WRONG.items()),
    "DO": f"DO $$ BEGIN {configured()} END $$",
    "DO that commits and fails": f"DO $$ BEGIN {configured()} COMMIT; RAISE EXCEPTION 'no'; END $$",
    "RESET ALL": "RESET ALL",
    "DISCARD ALL": "DISCARD ALL",
    "ALTER ROLE": "; ".join(
        f"ALTER ROLE current_user SET {name} = '{value}'" for name, value in list(WRONG.items())[1:]
    ),
}


@pytest.fixture
def at_home(postgres_admin):
    """Settings of the database and of the role go with the test."""
    yield
    ((database, role),) = postgres_admin.execute("SELECT current_database(), current_user").fetchall()
    postgres_admin.execute(f'ALTER DATABASE "{database}" RESET ALL')
    postgres_admin.execute(f'ALTER ROLE "{role}" RESET ALL')


@pytest.mark.parametrize("text", TEXTS)
def test_no_text_of_the_user_changes_what_a_statement_means(postgres_engine, at_home, text):
    try:
        postgres_engine.pass_through(TEXTS[text])
    except EngineError:
        assert "fails" in text
    assert settings(postgres_engine) == PINNED


def test_no_text_inside_a_transaction_either(postgres_engine):
    with postgres_engine.transaction():
        postgres_engine.pass_through(set_all("SET LOCAL"))
        assert settings(postgres_engine) == PINNED
    assert settings(postgres_engine) == PINNED
    with pytest.raises(EngineError), postgres_engine.transaction():
        postgres_engine.pass_through(set_all("SET LOCAL") + "; SELECT 1 / 0")
    assert settings(postgres_engine) == PINNED


@pytest.mark.parametrize("whose", ["DATABASE", "ROLE"])
def test_settings_of_the_database_and_of_the_role_are_pinned_at_connect(postgres_url, postgres_admin, at_home, whose):
    ((database, role),) = postgres_admin.execute("SELECT current_database(), current_user").fetchall()
    for name, value in list(WRONG.items())[1:]:
        postgres_admin.execute(
            f"""ALTER {whose} "{database if whose == "DATABASE" else role}" SET {name} = '{value}'"""
        )
    with PostgresEngine.open(postgres_url) as engine:
        assert settings(engine) == PINNED
    with PostgresEngine.open(postgres_url, settings={"standard_conforming_strings": "off"}) as engine:
        assert settings(engine) == PINNED


def test_what_cannot_be_pinned_is_refused(postgres_engine, postgres_url, postgres_admin):
    postgres_admin.execute("CREATE ROLE ppdm_test_plain LOGIN")
    postgres_admin.execute("ALTER ROLE ppdm_test_plain SET session_replication_role = replica")
    with pytest.raises(
        DatabaseUnavailable, match="session_replication_role is not origin: the role cannot set it back"
    ):
        PostgresEngine.open(psycopg.conninfo.make_conninfo(postgres_url, user="ppdm_test_plain"))


def test_a_function_that_sets_something_while_it_is_read_publishes_nothing(postgres_engine):
    postgres_engine.pass_through(
        "CREATE FUNCTION public.turn(integer) RETURNS integer LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM set_config('search_path', 'public, pg_catalog', false); RETURN $1; END $$"
    )
    with (
        pytest.raises(DatabaseUnavailable, match="search_path is not pg_catalog, pg_temp"),
        postgres_engine.transaction(),
    ):
        postgres_engine.create_table(Name("t"), parse_one("SELECT public.turn(1) AS a", dialect="postgres"))
    assert postgres_engine.relation_kind(Name("t")) is None


@pytest.mark.parametrize("way", ["database", "policy", "function"])
def test_a_value_does_not_become_sql(postgres_engine, postgres_url, postgres_admin, at_home, open_session, way):
    """Also not where a function turns the setting off in the middle of a publication."""
    postgres_admin.execute("CREATE TABLE public.sentinel (x integer)")
    postgres_admin.execute("CREATE TABLE public.people (id integer, ward text, zip integer, illness text)")
    for i in range(40):
        row = (i, HOSTILE if i % 2 else "north", i % 4, f"x{i % 3}")
        postgres_admin.execute("INSERT INTO public.people VALUES (%s, %s, %s, %s)", row)
    off = "set_config('standard_conforming_strings', 'off', false)"
    if way == "database":
        ((database,),) = postgres_admin.execute("SELECT current_database()").fetchall()
        postgres_admin.execute(f'ALTER DATABASE "{database}" SET standard_conforming_strings = off')
    with PostgresEngine.open(postgres_url) as engine:
        if way == "policy":
            engine.pass_through(f"DO $$ BEGIN PERFORM {off}; END $$")
        if way == "function":
            engine.fetch(parse_one(f"SELECT {off} AS s", dialect="postgres"))
        engine.create_table(Name("kept"), exp.select(aliased(exp.Literal.string(HOSTILE), "a")))
        engine.comment(Name("kept"), "table", HOSTILE)
        assert engine.comment_on(Name("kept")) == HOSTILE
        assert engine.fetch(exp.select("*").from_(Name("kept").table())) == [(HOSTILE,)]
        open_session(engine).publish(
            "CREATE TABLE people_open AS SELECT id, ward, zip, illness FROM people WITH ANONYMIZATION (ALGORITHM "
            "mondrian REQUIRE k = 4 IDENTIFIER (id) QUASI IDENTIFIER (ward, zip) SENSITIVE (illness))"
        )
        assert engine.relation_kind(Name("sentinel")) == "table"


# -- what has the name of a built-in -----------------------------------------------------------------------

SHADOWS = {
    "added": ("md5", "CREATE FUNCTION pg_catalog.md5(varchar) RETURNS text LANGUAGE sql AS $$ SELECT 'evil' $$"),
    "in SQL": (
        "lower",
        "CREATE OR REPLACE FUNCTION pg_catalog.lower(text) RETURNS text LANGUAGE sql AS $$ SELECT 'evil' $$",
    ),
    "of SQL": (
        "round",
        "CREATE OR REPLACE FUNCTION pg_catalog.round(numeric) RETURNS numeric LANGUAGE internal AS 'numeric_abs'; "
        "GRANT EXECUTE ON FUNCTION pg_catalog.round(numeric) TO PUBLIC",
    ),
    "in plpgsql": (
        "upper",
        "CREATE OR REPLACE FUNCTION pg_catalog.upper(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN 'e'; END $$",
    ),
    "aggregate": (
        "max",
        "CREATE OR REPLACE AGGREGATE pg_catalog.max(integer) (SFUNC = pg_catalog.int4smaller, STYPE = integer)",
    ),
    "renamed": ("md5_old", "ALTER FUNCTION pg_catalog.md5(text) RENAME TO md5_old"),
    "moved": (
        "md5",
        "ALTER FUNCTION pg_catalog.md5(text) SET SCHEMA public; GRANT EXECUTE ON FUNCTION public.md5(text) TO PUBLIC",
    ),
    "simplified": ("starts_with", "ALTER FUNCTION pg_catalog.starts_with(text, text) STABLE"),
    "operator": (
        "=",
        "CREATE FUNCTION public.same(varchar, varchar) RETURNS boolean LANGUAGE sql AS 'SELECT true'; "
        "CREATE OPERATOR pg_catalog.= (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = public.same)",
    ),
    "moved operator": ("=", "ALTER OPERATOR pg_catalog.= (integer, integer) SET SCHEMA public"),
    "type": ("_int2_old, int2_old", "ALTER TYPE pg_catalog.int2 RENAME TO int2_old"),
    "cast": ("CAST .integer AS text.", "CREATE CAST (integer AS text) WITH FUNCTION pg_catalog.to_hex(integer)"),
}


@pytest.mark.parametrize(("name", "shadow"), SHADOWS.values(), ids=SHADOWS)
def test_a_shadow_among_the_built_ins_is_refused(postgres_admin, name, shadow):
    with postgres_admin.transaction(force_rollback=True):
        engine = PostgresEngine(postgres_admin)
        engine.check_builtins()
        engine.pass_through(shadow)
        with pytest.raises(PolicyError, match=f"^{name} was added to PostgreSQL"):
            engine.check_builtins()
    postgres_admin.execute("RESET ALL")


def test_privileges_of_built_ins_are_not_refused(postgres_admin):
    """A careful administrator takes such functions from PUBLIC."""
    with postgres_admin.transaction(force_rollback=True):
        for function in ("pg_sleep(double precision)", "pg_sleep_for(interval)", "set_config(text, text, boolean)"):
            postgres_admin.execute(f"REVOKE EXECUTE ON FUNCTION pg_catalog.{function} FROM PUBLIC")
        PostgresEngine(postgres_admin).check_builtins()
    postgres_admin.execute("RESET ALL")


def test_functions_elsewhere_are_not_found_and_not_refused(postgres_engine, postgres_admin):
    postgres_admin.execute("CREATE FUNCTION public.md5(varchar) RETURNS text LANGUAGE sql AS $$ SELECT 'evil' $$")
    postgres_engine.pass_through(
        "CREATE FUNCTION pg_temp.md5(varchar) RETURNS text LANGUAGE sql AS $$ SELECT 'evil' $$"
    )
    postgres_engine.check_builtins()
    hashed = parse_one("SELECT MD5(CAST('a' AS VARCHAR)) AS h", dialect="duckdb")
    assert postgres_engine.fetch_one(hashed) == ("0cc175b9c0f1b6a831c399e269772661",)
