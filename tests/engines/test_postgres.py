"""What is particular to PostgreSQL: search path, roles, privileges, locks, types and passwords."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from decimal import Decimal
from uuid import UUID

import pyarrow as pa
import pytest
from sqlglot import exp, parse_one

from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import DatabaseUnavailable, EngineError, PolicyError
from ppdm_sql.statements.names import Name, aliased, column

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.postgres


def one(value: int, name: str = "a") -> exp.Select:
    return exp.select(aliased(exp.convert(value), name))


def rows(engine, name: Name, *columns: str):
    return sorted(engine.fetch(exp.Select(expressions=[column(c) for c in columns or ("a",)]).from_(name.table())))


def query(text: str) -> exp.Expr:
    return parse_one(text, dialect="duckdb")


@pytest.fixture
def opened(postgres_url):
    """A second session, with options of its own, or as another role."""
    from ppdm_sql.engines.postgres.engine import PostgresEngine

    engines = []

    def open_(user=None, **options):
        url = psycopg.conninfo.make_conninfo(postgres_url, user=user) if user else postgres_url
        engines.append(PostgresEngine.open(url, **options))
        return engines[-1]

    yield open_
    for engine in engines:
        engine.close()


# -- the search path -------------------------------------------------------------------------------------


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
    with pytest.raises(EngineError, match="name the schema"):
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


# -- views and roles -------------------------------------------------------------------------------------


@pytest.fixture
def roles(postgres_admin):
    names = ["ppdm_test_reader", 'ppdm_test o\'neil "x"']
    for name in names:
        postgres_admin.execute(psycopg.sql.SQL("CREATE ROLE {} LOGIN").format(psycopg.sql.Identifier(name)))
    postgres_admin.execute("GRANT USAGE ON SCHEMA public TO PUBLIC")
    return names


def test_select_is_granted_to_the_named_roles_and_nobody_else(postgres_engine, opened, roles):
    postgres_engine.create_table(Name("t"), one(1))
    postgres_engine.pass_through("GRANT ALL ON t TO PUBLIC")
    assert postgres_engine.grantees(Name("t")) == ["public"]
    postgres_engine.grant_select(Name("t"), roles)
    assert postgres_engine.grantees(Name("t")) == sorted(roles)
    assert rows(opened(user=roles[0]), Name("t")) == [(1,)]
    with pytest.raises(EngineError, match=r"not allowed to do this: permission denied for table t"):
        opened(user=roles[0]).pass_through("DELETE FROM t")
    assert postgres_engine.grantees(Name("nothing")) == []


def test_a_missing_role_is_named_and_nothing_changes(postgres_engine, roles):
    postgres_engine.create_table(Name("t"), one(1))
    with pytest.raises(PolicyError, match="no role nobody, no one"):
        postgres_engine.grant_select(Name("t"), ["nobody", roles[0], "no one"])
    assert postgres_engine.grantees(Name("t")) == []


def test_a_view_has_a_security_barrier(postgres_engine, roles, opened):
    postgres_engine.create_table(Name("t"), query("SELECT 1 AS a, 'CANARY' AS b UNION ALL SELECT 2, 'open'"))
    postgres_engine.create_view(Name("v"), query("SELECT b FROM t WHERE a = 2"))
    options = "SELECT reloptions::text AS o FROM pg_class WHERE relname = 'v'"
    assert "security_barrier=true" in postgres_engine.pass_through(options).rows[0][0]
    postgres_engine.grant_select(Name("v"), roles)
    postgres_engine.pass_through("GRANT CREATE ON SCHEMA public TO PUBLIC")
    reader = opened(user=roles[0])
    reader.pass_through(
        "CREATE FUNCTION public.spy(text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 "
        "AS $$ BEGIN RAISE EXCEPTION 'saw %', $1; END $$"
    )
    with pytest.raises(EngineError) as error:
        reader.pass_through("SELECT b FROM v WHERE spy(b)")
    assert "saw open" in str(error.value.__cause__)


def test_a_view_whose_columns_change_keeps_its_readers(postgres_engine, roles):
    postgres_engine.create_view(Name("v"), one(1))
    postgres_engine.grant_select(Name("v"), roles)
    postgres_engine.create_view(Name("v"), one(2), replace=True)
    assert postgres_engine.grantees(Name("v")) == sorted(roles)
    postgres_engine.create_view(Name("v"), one(3, "other"), replace=True)
    assert postgres_engine.grantees(Name("v")) == sorted(roles)
    with postgres_engine.transaction():
        postgres_engine.create_view(Name("v"), one(4, "third"), replace=True)
        postgres_engine.create_table(Name("t"), one(1))
    assert rows(postgres_engine, Name("v"), "third") == [(4,)]
    assert rows(postgres_engine, Name("t")) == [(1,)]


def test_a_view_others_hang_on_is_not_torn_away(postgres_engine):
    postgres_engine.create_view(Name("v"), one(1))
    postgres_engine.create_view(Name("w"), exp.select(column("a")).from_(Name("v").table()))
    with pytest.raises(EngineError, match="depend"):
        postgres_engine.create_view(Name("v"), one(2, "other"), replace=True)
    assert rows(postgres_engine, Name("w")) == [(1,)]


def test_comments_are_kept(postgres_engine):
    postgres_engine.create_table(Name("t"), one(1))
    postgres_engine.comment(Name("t"), "table", "it's 100% \\ ours")
    assert postgres_engine.pass_through("SELECT obj_description('t'::regclass) AS c").rows == [("it's 100% \\ ours",)]


def test_other_relations_that_hold_rows(postgres_engine):
    postgres_engine.pass_through("CREATE MATERIALIZED VIEW m AS SELECT 1 AS a")
    postgres_engine.pass_through("CREATE TABLE p (a integer) PARTITION BY RANGE (a)")
    assert postgres_engine.relation_kind(Name("m")) == "table"
    assert postgres_engine.relation_kind(Name("p")) == "table"
    assert [info.kind for info in postgres_engine.columns(Name("m"))] == [Kind.INTEGER]
    assert postgres_engine.view_query(Name("m")) is not None
    postgres_engine.pass_through("CREATE SEQUENCE s")
    postgres_engine.pass_through("CREATE INDEX i ON p (a)")
    assert postgres_engine.relation_kind(Name("s")) is postgres_engine.relation_kind(Name("i")) is None


# -- transactions and locks ------------------------------------------------------------------------------


def test_a_transaction_sees_one_state(postgres_engine, opened):
    postgres_engine.create_table(Name("t"), one(1))
    other = opened()
    with postgres_engine.transaction():
        assert rows(postgres_engine, Name("t")) == [(1,)]
        other.pass_through("UPDATE t SET a = 2")
        assert rows(postgres_engine, Name("t")) == [(1,)]
    assert rows(postgres_engine, Name("t")) == [(2,)]


def test_a_change_by_another_session_is_a_conflict(postgres_engine, opened):
    postgres_engine.create_table(Name("t"), one(1))
    other = opened()

    def change():
        with postgres_engine.transaction():
            rows(postgres_engine, Name("t"))
            other.pass_through("UPDATE t SET a = 2")
            postgres_engine.pass_through("UPDATE t SET a = 3")

    with pytest.raises(DatabaseUnavailable, match="another one changed"):
        change()
    assert rows(postgres_engine, Name("t")) == [(2,)]


def test_a_failed_statement_that_was_swallowed_is_no_commit(postgres_engine):
    def swallow():
        with postgres_engine.transaction():
            postgres_engine.create_table(Name("t"), one(1))
            with contextlib.suppress(EngineError):
                postgres_engine.fetch(query("SELECT 1 // 0 AS x"))

    with pytest.raises(EngineError, match="rolled back"):
        swallow()
    assert postgres_engine.relation_kind(Name("t")) is None


def test_a_lock_is_waited_for_and_then_told(postgres_engine, opened):
    postgres_engine.create_table(Name("t"), one(1))
    impatient = opened(lock_timeout=0.2)
    with postgres_engine.transaction():
        postgres_engine.pass_through("LOCK TABLE t IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(DatabaseUnavailable, match="--lock-timeout"):
            impatient.drop_table(Name("t"))
    impatient.drop_table(Name("t"))


def test_two_swaps_at_once_are_one_after_the_other(postgres_engine, opened):
    postgres_engine.create_table(Name("t"), one(0))
    outcomes = []

    def swap(value):
        engine = opened(lock_timeout=20)
        try:
            with engine.transaction():
                engine.drop_table(Name("t"))
                engine.create_table(Name("t"), one(value))
            outcomes.append(value)
        except EngineError as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=swap, args=(value,)) for value in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ((left,),) = rows(postgres_engine, Name("t"))
    assert left in outcomes
    assert len(outcomes) == 2


def test_a_lost_connection_is_told(postgres_engine, postgres_admin):
    ((pid,),) = postgres_engine.pass_through("SELECT pg_backend_pid() AS p").rows
    postgres_admin.execute("SELECT pg_terminate_backend(%s)", (pid,))
    with pytest.raises(DatabaseUnavailable, match=r"shutting down|lost"):
        postgres_engine.fetch(one(1))


def test_a_read_only_database_is_noticed_before_any_work(opened, postgres_url):
    url = psycopg.conninfo.make_conninfo(postgres_url, options="-c default_transaction_read_only=on")
    from ppdm_sql.engines.postgres.engine import PostgresEngine

    with PostgresEngine.open(url) as engine:
        assert engine.read_only
        with pytest.raises(EngineError, match="read-only"):
            engine.check_writable()
        with pytest.raises(DatabaseUnavailable, match="read-only"):
            engine.create_table(Name("t"), one(1))
    assert opened(read_only=True).read_only
    assert not opened().read_only


def test_settings_of_the_session(opened):
    engine = opened(settings={"work_mem": "7MB"})
    assert engine.pass_through("SHOW work_mem").rows == [("7MB",)]
    assert engine.pass_through("SHOW timezone").rows == [("UTC",)]
    with pytest.raises(DatabaseUnavailable, match="setting"):
        opened(settings={"work_mem": "CANARY"})


# -- types -----------------------------------------------------------------------------------------------


def batch(engine, text):
    (found,) = engine.batches(exp.select("*").from_(Name(text).table()))
    return found


def test_types_postgresql_alone_has_reach_arrow_exactly(postgres_engine):
    for text in (
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE DOMAIN price AS numeric(9, 2)",
        "CREATE DOMAIN label AS mood",
        "CREATE TABLE t (u uuid, m mood, l label, p price, n numeric, big numeric(60, 5), odd numeric(3, -2), "
        'c char(4), v varchar(4), i8 bigint, q "char")',
        "INSERT INTO t VALUES ('550e8400-e29b-41d4-a716-446655440000', 'ok', 'sad', 1.5, 1.50, 1.5, 1234, 'x', 'y', 1, 'q')",
        "INSERT INTO t VALUES (NULL, NULL, NULL, NULL, 'NaN', NULL, NULL, NULL, NULL, NULL, NULL)",
        "INSERT INTO t (n) VALUES (1.5), ('-Infinity'), (1e30), (-0.0)",
    ):
        postgres_engine.pass_through(text)
    found = batch(postgres_engine, "t")
    assert dict(zip(found.schema.names, found.schema.types, strict=True)) == {
        "u": pa.string(), "m": pa.string(), "l": pa.string(), "p": pa.decimal128(9, 2), "n": pa.string(),
        "big": pa.decimal256(60, 5), "odd": pa.string(), "c": pa.string(), "v": pa.string(), "i8": pa.int64(), "q": pa.string(),
    }  # fmt: skip
    assert found.to_pylist()[0] == {
        "u": "550e8400-e29b-41d4-a716-446655440000", "m": "ok", "l": "sad", "p": Decimal("1.50"), "n": "1.5",
        "big": Decimal("1.50000"), "odd": "1200", "c": "x   ", "v": "y", "i8": 1, "q": "q",
    }  # fmt: skip
    assert found.column("n").to_pylist() == ["1.5", "NaN", "1.5", "-Infinity", "1" + "0" * 30, "0"]
    assert postgres_engine.fetch(query("SELECT u FROM t WHERE u IS NOT NULL")) == [
        (UUID("550e8400-e29b-41d4-a716-446655440000"),)
    ]


@pytest.mark.parametrize("words", ["jsonb", "integer[]", "bytea", "interval", "int4range", "pair", "time"])
def test_types_that_are_not_carried_are_refused_by_the_name_of_the_column(postgres_engine, words):
    postgres_engine.pass_through("CREATE TYPE pair AS (x integer, y integer)")
    postgres_engine.pass_through(f"CREATE TABLE t (wrong {words})")
    with pytest.raises(EngineError, match="wrong"):
        batch(postgres_engine, "t")


def test_values_arrow_or_python_do_not_have_are_refused_without_telling_them(postgres_engine):
    postgres_engine.pass_through("CREATE TABLE t (n numeric(9, 2), d date)")
    postgres_engine.pass_through("INSERT INTO t VALUES ('NaN', NULL)")
    with pytest.raises(EngineError, match="no exact counterpart"):
        batch(postgres_engine, "t")
    postgres_engine.pass_through("TRUNCATE t")
    postgres_engine.pass_through("INSERT INTO t VALUES (NULL, '4711-03-04 BC')")
    with pytest.raises(EngineError) as error:
        batch(postgres_engine, "t")
    assert "4711" not in str(error.value)


def test_nanoseconds_are_refused_not_rounded(postgres_engine):
    exact = pa.table({"z": pa.array([1_000], pa.timestamp("ns"))})
    postgres_engine.load(Name("ppdm_w"), exact)
    with pytest.raises(EngineError, match="column z"):
        postgres_engine.load(Name("ppdm_w"), pa.table({"z": pa.array([1_001], pa.timestamp("ns"))}))


CITEXT = """
CREATE TYPE public.citext;
CREATE FUNCTION public.citextin(cstring) RETURNS citext AS 'textin' LANGUAGE internal IMMUTABLE STRICT;
CREATE FUNCTION public.citextout(citext) RETURNS cstring AS 'textout' LANGUAGE internal IMMUTABLE STRICT;
CREATE TYPE public.citext (INPUT = citextin, OUTPUT = citextout, LIKE = text, CATEGORY = 'S', COLLATABLE = true);
CREATE CAST (citext AS text) WITHOUT FUNCTION AS IMPLICIT;
CREATE FUNCTION public.citext_cmp(citext, citext) RETURNS integer LANGUAGE sql IMMUTABLE STRICT
    AS 'SELECT bttextcmp(lower($1::text), lower($2::text))';
CREATE FUNCTION public.citext_eq(citext, citext) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT
    AS 'SELECT lower($1::text) = lower($2::text)';
CREATE FUNCTION public.citext_lt(citext, citext) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT
    AS 'SELECT lower($1::text) < lower($2::text)';
CREATE OPERATOR public.= (LEFTARG = citext, RIGHTARG = citext, FUNCTION = citext_eq, COMMUTATOR = =, MERGES);
CREATE OPERATOR public.< (LEFTARG = citext, RIGHTARG = citext, FUNCTION = citext_lt);
CREATE OPERATOR CLASS public.citext_ops DEFAULT FOR TYPE citext USING btree AS
    OPERATOR 1 <, OPERATOR 3 =, FUNCTION 1 citext_cmp(citext, citext);
"""


def test_citext_is_text_and_its_bytes_decide(postgres_engine, postgres_admin):
    postgres_admin.execute(CITEXT)  # the extension is not in every server; this is its heart
    postgres_engine.pass_through("CREATE TABLE lax (v citext)")
    postgres_engine.pass_through("INSERT INTO lax VALUES ('a'), ('A'), ('b')")
    lax = Name("lax")
    assert [info.kind for info in postgres_engine.columns(lax)] == [Kind.TEXT]

    def classes(expression):
        counted = exp.select(aliased(exp.Count(this=exp.Star()), "n")).from_(lax.table()).group_by(expression)
        return sorted(row[0] for row in postgres_engine.fetch(counted))

    assert classes(column("v")) == [1, 2]
    assert classes(postgres_engine.exact_text(column("v"))) == [1, 1, 1]
    assert batch(postgres_engine, "lax").schema.types == [pa.string()]


def test_sums_reach_numpy_whole(postgres_engine):
    found = postgres_engine.arrays(
        query("SELECT SUM(x) AS s, AVG(x) AS a, COUNT(*) AS n FROM (VALUES (1), (2)) AS v(x)")
    )
    assert {name: (values.dtype.kind, values.tolist()) for name, values in found.items()} == {
        "s": ("i", [3]), "a": ("f", [1.5]), "n": ("i", [2]),
    }  # fmt: skip
    with pytest.raises(EngineError, match="column a holds NULL"):
        postgres_engine.arrays(query("SELECT CAST(NULL AS INTEGER) AS a"))


def test_a_statement_with_a_nul_is_refused_not_cut(postgres_engine):
    with pytest.raises(EngineError, match="NUL"):
        postgres_engine.pass_through("CREATE TABLE t (a integer)\0 nonsense")
    assert postgres_engine.relation_kind(Name("t")) is None


# -- connecting ------------------------------------------------------------------------------------------

SECRET = "S3cret"
URLS = [
    f"postgresql://u:{SECRET}@localhost:1/db",
    f"postgresql://u:{SECRET}@no.such.host.invalid/db",
    f"postgresql://u:{SECRET}/@localhost:1/db",
    f"postgresql://u:{SECRET}@{SECRET}@localhost:1/db",
    f"postgresql://u:{SECRET}:{SECRET}@localhost:1/db",
    f"postgresql://u:{SECRET}?{SECRET}@localhost:1/db",
    f"postgresql://u:{SECRET}#{SECRET}@localhost:1/db",
    f"postgresql://u:%{SECRET}@localhost:1/db",
    f"postgresql://u:{SECRET}[@localhost:1/db",
    f"postgresql://localhost:1/db?password={SECRET}",
    f"postgresql://localhost:1/db?pasword={SECRET}",
    f"postgresql://localhost:{SECRET}/db",
]


@pytest.mark.parametrize("url", URLS)
def test_a_password_is_never_told(url, capfd):
    import traceback

    from ppdm_sql.engines.postgres.engine import PostgresEngine

    with pytest.raises(DatabaseUnavailable) as error:
        PostgresEngine.open(url)
    told = "".join(traceback.format_exception(error.value)) + "".join(capfd.readouterr())
    assert SECRET not in told.replace(f"'{url}'", "")  # the test's own line


def test_why_a_database_cannot_be_opened(postgres_url):
    from ppdm_sql.engines.postgres.engine import PostgresEngine

    with pytest.raises(DatabaseUnavailable, match="postgresql://localhost:1/db cannot be opened: nothing answers"):
        PostgresEngine.open("postgresql://localhost:1/db")
    with pytest.raises(DatabaseUnavailable, match="no such database"):
        PostgresEngine.open(psycopg.conninfo.make_conninfo(postgres_url, dbname="ppdm_nowhere"))
    with pytest.raises(DatabaseUnavailable, match="no such role"):
        PostgresEngine.open(psycopg.conninfo.make_conninfo(postgres_url, user="ppdm_nobody"))


def test_an_enum_with_a_cast_of_its_owners_making_is_not_read(postgres_engine):
    for text in (
        "CREATE TYPE mood AS ENUM ('sad')",
        "CREATE FUNCTION evil(mood) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'ran as the DBA'; END $$",
        "CREATE TABLE t (m mood)",
        "INSERT INTO t VALUES ('sad')",
    ):
        postgres_engine.pass_through(text)
    assert [info.kind for info in postgres_engine.columns(Name("t"))] == [Kind.TEXT]
    postgres_engine.pass_through("CREATE CAST (mood AS text) WITH FUNCTION evil(mood)")
    assert [info.kind for info in postgres_engine.columns(Name("t"))] == [Kind.UNSUPPORTED]
    assert batch(postgres_engine, "t").to_pylist() == [{"m": "sad"}]  # the text of an enum needs no cast


def test_a_composite_that_calls_itself_citext_is_none(postgres_engine):
    postgres_engine.pass_through("CREATE TYPE citext AS (x text)")
    postgres_engine.pass_through("CREATE TABLE t (v citext)")
    assert [info.kind for info in postgres_engine.columns(Name("t"))] == [Kind.UNSUPPORTED]


def test_a_load_that_fails_leaves_no_table(postgres_engine):
    with pytest.raises(EngineError) as error:
        postgres_engine.load(Name("t"), pa.table({"v": ["fine", "CANARY\0"]}), temporary=False)
    assert "CANARY" not in str(error.value)
    assert postgres_engine.relation_kind(Name("t")) is None
