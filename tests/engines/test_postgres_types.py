"""Types of PostgreSQL: carried exactly, or refused by the name of their column."""

from __future__ import annotations

from decimal import Decimal
from uuid import UUID

import pyarrow as pa
import pytest
from sqlglot import exp

from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import EngineError
from ppdm_sql.statements.names import Name, aliased, column
from tests.engines.small_queries import query

pytest.importorskip("psycopg")
pytestmark = pytest.mark.postgres


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
