"""Making, finding and dropping relations: one contract, three engines."""

from __future__ import annotations

import contextlib

import pyarrow as pa
import pytest
from sqlglot import exp, parse_one

from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.errors import EngineError
from ppdm_sql.statements.names import Name, Word, aliased, column
from tests.engines.small_queries import one, rows

# -- looking ---------------------------------------------------------------------------------------------


def test_what_is_not_there(engine):
    for name in (Name("nothing"), Name("no_schema", "nothing")):
        assert engine.relation_kind(name) is None
        assert engine.columns(name) == []
        assert engine.view_query(name) is None
        assert engine.qualified_name(name) == str(name)
    assert engine.relations("no_schema") == []


def test_tables_views_and_working_tables_are_told_apart(engine, make_table):
    engine.create_schema("s")
    table = make_table(engine, Name("s", "t"), {"a": "INTEGER"}, [(1,)])
    engine.create_view(Name("s", "v"), exp.select(column("a")).from_(table.table()))
    engine.create_table(Name("ppdm_w"), one(2), temporary=True)
    engine.view_of_text(Name("ppdm_q"), "SELECT 3 AS a")
    assert engine.relation_kind(Name("s", "t")) == "table"
    assert engine.relation_kind(Name("s", "v")) == "view"
    assert engine.relation_kind(Name("ppdm_w")) == "table"
    assert engine.relation_kind(Name("ppdm_q")) == "view"
    assert engine.relations("s") == ["t", "v"]  # and no working table
    assert engine.qualified_name(Name("s", "t")) == "s.t"


def test_a_working_table_stands_before_a_stored_one_of_its_name(engine, make_table):
    stored = make_table(engine, "ppdm_both", {"a": "INTEGER"}, [(1,)])
    make_table(engine, "ppdm_both", {"b": "TEXT"}, [("x",)], temporary=True)
    assert [info.name for info in engine.columns(stored)] == ["b"]
    assert rows(engine, stored, "b") == [("x",)]
    engine.drop_table(stored, temporary=True)
    assert rows(engine, stored) == [(1,)]
    engine.drop_table(stored, temporary=True)  # does not reach the stored one
    assert rows(engine, stored) == [(1,)]


DECLARED = {
    "DuckDB": {
        "TINYINT": Kind.INTEGER, "HUGEINT": Kind.INTEGER, "UBIGINT": Kind.INTEGER, "DECIMAL(9,2)": Kind.DECIMAL,
        "FLOAT": Kind.FLOAT, "UUID": Kind.UUID, "TIMESTAMP_NS": Kind.TIMESTAMP, "TIMESTAMPTZ": Kind.TIMESTAMP,
        "ENUM ('x', 'y')": Kind.TEXT, "BLOB": Kind.UNSUPPORTED, "INTEGER[]": Kind.UNSUPPORTED, "JSON": Kind.UNSUPPORTED,
        "STRUCT(x INTEGER)": Kind.UNSUPPORTED, "MAP(INTEGER, INTEGER)": Kind.UNSUPPORTED, "INTERVAL": Kind.UNSUPPORTED,
        "TIME": Kind.UNSUPPORTED, "UNION(x INTEGER, y VARCHAR)": Kind.UNSUPPORTED,
    },
    "PostgreSQL": {
        "smallint": Kind.INTEGER, "numeric": Kind.DECIMAL, "numeric(9,2)": Kind.DECIMAL, "real": Kind.FLOAT,
        "varchar(5)": Kind.TEXT, "char(5)": Kind.TEXT, "name": Kind.TEXT, "uuid": Kind.UUID,
        "timestamptz": Kind.TIMESTAMP, "mood": Kind.TEXT, "year": Kind.INTEGER, "late_year": Kind.INTEGER,
        "moods": Kind.UNSUPPORTED,
        "bytea": Kind.UNSUPPORTED, "integer[]": Kind.UNSUPPORTED, "jsonb": Kind.UNSUPPORTED, "json": Kind.UNSUPPORTED,
        "interval": Kind.UNSUPPORTED, "time": Kind.UNSUPPORTED, "money": Kind.UNSUPPORTED,
        "int4range": Kind.UNSUPPORTED, "pair": Kind.UNSUPPORTED, "inet": Kind.UNSUPPORTED, "xml": Kind.UNSUPPORTED,
        "bit(3)": Kind.UNSUPPORTED,
    },
    "Spark": {
        "TINYINT": Kind.INTEGER, "DECIMAL(9,2)": Kind.DECIMAL, "FLOAT": Kind.FLOAT, "VARCHAR(5)": Kind.TEXT,
        "CHAR(5)": Kind.TEXT, "TIMESTAMP": Kind.TIMESTAMP, "TIMESTAMP_NTZ": Kind.TIMESTAMP, "BINARY": Kind.UNSUPPORTED,
        "ARRAY<INT>": Kind.UNSUPPORTED, "STRUCT<x: INT>": Kind.UNSUPPORTED, "MAP<INT, INT>": Kind.UNSUPPORTED,
    },
}  # fmt: skip


def test_the_kinds_of_types_that_are_not_everywhere(engine):
    if engine.title == "PostgreSQL":
        engine.pass_through("CREATE TYPE mood AS ENUM ('x', 'y')")
        engine.pass_through("CREATE DOMAIN moods AS mood[]")
        engine.pass_through("CREATE DOMAIN year AS integer")
        engine.pass_through("CREATE DOMAIN late_year AS year CHECK (VALUE > 2000)")
        engine.pass_through("CREATE TYPE pair AS (x integer, y integer)")
    declared = DECLARED[engine.title]
    columns = ", ".join(f"c{number} {words}" for number, words in enumerate(declared))
    engine.pass_through(f"CREATE TABLE t ({columns}){' USING parquet' if engine.title == 'Spark' else ''}")
    found = engine.columns(Name("t"))
    assert [(words, info.kind) for words, info in zip(declared, found, strict=True)] == list(declared.items())
    assert all(isinstance(info, ColumnInfo) and info.declared for info in found)


# -- making ----------------------------------------------------------------------------------------------


def test_loading_replaces_a_working_table_and_not_a_stored_one(engine):
    first, second = pa.table({"a": [1, 2]}), pa.table({"b": ["x"]})
    engine.load(Name("ppdm_l"), first)
    engine.load(Name("ppdm_l"), second)
    assert rows(engine, Name("ppdm_l"), "b") == [("x",)]
    engine.load(Name("stored"), first, temporary=False)
    with pytest.raises(EngineError):
        engine.load(Name("stored"), second, temporary=False)
    assert rows(engine, Name("stored")) == [(1,), (2,)]


def test_loading_what_only_arrow_has(engine):
    table = pa.table(
        {
            "u": pa.array([0, 255], pa.uint8()),
            "v": pa.array([0, 65_535], pa.uint16()),
            "w": pa.array([0, (1 << 32) - 1], pa.uint32()),
            "c": pa.array(["x", None]).dictionary_encode(),
            "l": pa.array(["y", None], pa.large_string()),
        }
    )
    engine.load(Name("ppdm_l"), table)
    assert rows(engine, Name("ppdm_l"), *table.column_names) == [
        (0, 0, 0, "x", "y"),
        (255, 65_535, (1 << 32) - 1, None, None),
    ]


def test_loading_no_row(engine):
    engine.load(Name("ppdm_l"), pa.table({"a": pa.array([], pa.int32())}))
    assert rows(engine, Name("ppdm_l")) == []


def test_loading_refuses_what_it_could_not_keep(engine):
    nested = pa.table({"nested": pa.array([[1]])})
    if engine.title == "DuckDB":  # which keeps lists; the source refuses them
        engine.load(Name("ppdm_l"), nested)
        assert [info.kind for info in engine.columns(Name("ppdm_l"))] == [Kind.UNSUPPORTED]
    else:
        with pytest.raises(EngineError, match="nested"):
            engine.load(Name("ppdm_l"), nested)


def test_a_working_table_is_computed_once(engine):
    draw = {"DuckDB": "random()", "PostgreSQL": "random()", "Spark": "rand()"}[engine.title]
    query = exp.select(aliased(exp.Anonymous(this=draw[:-2], expressions=[]), "a"))
    engine.create_table(Name("ppdm_w"), query, temporary=True)
    assert rows(engine, Name("ppdm_w")) == rows(engine, Name("ppdm_w"))


def test_a_stored_table_is_not_replaced(engine):
    engine.create_table(Name("t"), one(1))
    with pytest.raises(EngineError):
        engine.create_table(Name("t"), one(2))
    assert rows(engine, Name("t")) == [(1,)]


def test_drop_table_is_for_tables_and_drop_view_for_views(engine):
    engine.create_table(Name("t"), one(1))
    engine.create_view(Name("v"), exp.select(column("a")).from_(Name("t").table()))
    with pytest.raises(EngineError):
        engine.drop_table(Name("v"))
    with pytest.raises(EngineError):
        engine.drop_view(Name("t"))
    assert rows(engine, Name("v")) == [(1,)]
    engine.drop_view(Name("v"))
    engine.drop_table(Name("t"))
    engine.drop_view(Name("v"))
    engine.drop_table(Name("t"))
    assert engine.relation_kind(Name("t")) is None


def test_a_view_is_replaced_when_asked_and_also_when_its_columns_change(engine):
    engine.create_table(Name("t"), one(1))
    view = Name("v")
    engine.create_view(view, exp.select(column("a")).from_(Name("t").table()))
    with pytest.raises(EngineError):
        engine.create_view(view, exp.select(column("a")).from_(Name("t").table()))
    other = exp.select(aliased(exp.convert("x"), "b"), aliased(exp.convert(2), "c"))
    engine.create_view(view, other, replace=True)
    assert [info.name for info in engine.columns(view)] == ["b", "c"]
    assert rows(engine, view, "b", "c") == [("x", 2)]
    engine.create_view(Name("fresh"), other, replace=True)
    assert rows(engine, Name("fresh"), "c") == [(2,)]


def test_the_query_behind_a_view(engine):
    engine.create_table(Name("t"), one(7))
    engine.create_view(Name("v"), exp.select(column("a")).from_(Name("t").table()))
    text = engine.view_query(Name("v"))
    assert engine.view_query(Name("t")) is None
    assert engine.pass_through(text).rows == [(7,)]


def test_a_view_of_text_is_the_users_query_to_the_letter(engine):
    engine.create_table(Name("t"), one(7))
    query = "SELECT a, '100% $k :x' AS \"p\" FROM t -- and a comment"
    if engine.title == "Spark":
        query = query.replace('"p"', "`p`")
    engine.view_of_text(Name("ppdm_q"), query)
    assert rows(engine, Name("ppdm_q"), "a", "p") == [(7, "100% $k :x")]
    engine.view_of_text(Name("ppdm_q"), "SELECT 'other' AS z")
    assert [info.name for info in engine.columns(Name("ppdm_q"))] == ["z"]


def test_schemas_comments_and_statistics(engine):
    engine.create_schema("s")
    engine.create_schema("s")
    table, view = Name("s", "t"), Name("s", "v")
    engine.create_table(table, one(1))
    engine.create_view(view, exp.select(column("a")).from_(table.table()))
    engine.comment(table, "table", "it's 100% ours; -- \\ \n $k")
    engine.comment(view, "view", "it's 100% ours")
    engine.analyze(table)
    assert rows(engine, view) == [(1,)]


def test_roles_are_only_where_they_are(engine):
    engine.create_table(Name("t"), one(1))
    assert engine.grantees(Name("t")) == []
    if not engine.has_grants:
        with pytest.raises(EngineError, match="no roles"):
            engine.grant_select(Name("t"), ["x"])


# -- running ---------------------------------------------------------------------------------------------


def test_pass_through_shows_what_came_up_to_a_limit(engine):
    assert engine.pass_through("CREATE SCHEMA s") is None
    shown = engine.pass_through("SELECT 1 AS a, 'x%' AS b UNION ALL SELECT 1, 'x%' UNION ALL SELECT 1, 'x%'", limit=2)
    assert (shown.columns, shown.rows) == (("a", "b"), [(1, "x%")] * 2)
    assert engine.pass_through("SELECT 1 AS a WHERE 1 = 0").columns == ("a",)


def test_one_row_means_one(engine):
    assert engine.fetch_one(one(1)) == (1,)
    with pytest.raises(EngineError, match="got 0"):
        engine.fetch_one(parse_one("SELECT 1 AS a WHERE 1 = 0", dialect="duckdb"))


def test_every_statement_can_be_watched_and_no_parameter_is_in_it(engine, caplog):
    told = []
    engine.on_statement = told.append
    caplog.set_level("DEBUG", logger="ppdm_sql")
    engine.fetch(parse_one("SELECT CAST($canary AS VARCHAR) AS a", dialect="duckdb"), canary="CANARY4711")
    engine.pass_through("SELECT 1 AS a")
    assert len(told) == 2
    assert "CANARY4711" not in "".join(told) + caplog.text


def test_names_are_made_from_words(engine):
    name = engine.name([Word("S"), Word("T", quoted=True)])
    assert name == (Name("s", "T") if engine.title == "PostgreSQL" else Name("S", "T"))


# -- transactions ----------------------------------------------------------------------------------------


def test_a_transaction_that_ends_well_is_kept(engine):
    with engine.transaction():
        engine.create_table(Name("t"), one(1))
    assert rows(engine, Name("t")) == [(1,)]


@pytest.mark.lacks("spark", reason="Spark has no transactions")
@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_a_transaction_that_fails_leaves_nothing(engine, make_table, failure):
    make_table(engine, "t", {"a": "INTEGER"}, [(1,)])

    def swap():
        with engine.transaction():
            engine.drop_table(Name("t"))
            engine.create_table(Name("t"), one(2))
            engine.create_schema("fresh")
            engine.create_view(Name("v"), one(3))
            raise failure

    with pytest.raises(failure):
        swap()
    assert rows(engine, Name("t")) == [(1,)]
    assert engine.relation_kind(Name("v")) is None
    assert engine.relations("fresh") == []


@pytest.mark.lacks("spark", reason="Spark has no transactions")
def test_a_statement_that_fails_takes_the_transaction_with_it(engine):
    def fail():
        with engine.transaction():
            engine.create_table(Name("t"), one(1))
            engine.fetch(exp.select(column("nope")).from_(Name("t").table()))

    with pytest.raises(EngineError):
        fail()
    assert engine.relation_kind(Name("t")) is None
    engine.create_table(Name("t"), one(1))


@pytest.mark.lacks("spark", reason="Spark has no transactions")
def test_transactions_do_not_nest(engine):
    with engine.transaction(), pytest.raises(EngineError, match="already open"), engine.transaction():
        pass
    with engine.transaction():
        engine.create_table(Name("t"), one(1))
    assert rows(engine, Name("t")) == [(1,)]


def test_without_transactions_the_body_simply_runs(engine):
    if engine.has_transactions:
        pytest.skip("this engine has them")
    with contextlib.suppress(ValueError), engine.transaction():
        engine.create_table(Name("t"), one(1))
        raise ValueError
    assert rows(engine, Name("t")) == [(1,)]


def test_closing_is_the_end_of_a_with(duckdb_engine):
    with duckdb_engine as same:
        assert same is duckdb_engine
    with pytest.raises(EngineError):
        duckdb_engine.fetch(one(1))
