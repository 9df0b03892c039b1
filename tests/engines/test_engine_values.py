"""The same values on every engine: exact going in, exact coming out, equal where SQL says equal."""

from __future__ import annotations

import hashlib
import math
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp, parse_one

from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import EngineError
from ppdm_sql.statements.names import Name, aliased, column

COLUMNS = {
    "b": "BOOLEAN",
    "s": "SMALLINT",
    "i": "INTEGER",
    "l": "BIGINT",
    "r": "REAL",
    "d": "DOUBLE",
    "m": "DECIMAL(38, 18)",
    "t": "TEXT",
    "y": "DATE",
    "z": "TIMESTAMP",
    "w": "TIMESTAMPTZ",
}
LOW = (
    False, -(1 << 15), -(1 << 31), -(1 << 63), -1.5, 5e-324, Decimal("-99999999999999999999.999999999999999999"), "",
    date(1, 1, 1), datetime(1, 1, 1, 0, 0, 0, 1), datetime(1, 1, 1, tzinfo=UTC),
)  # fmt: skip
HIGH = (
    True, (1 << 15) - 1, (1 << 31) - 1, (1 << 63) - 1, 2.5, 1.7976931348623157e308,
    Decimal("0.000000000000000001"), "z", date(9999, 12, 31), datetime(9999, 12, 31, 23, 59, 59, 999999),
    datetime(2024, 3, 31, 1, 30, 0, 7, tzinfo=UTC),
)  # fmt: skip
NULLS = (None,) * len(COLUMNS)


def all_of(name: Name, *columns: str) -> exp.Select:
    return exp.Select(expressions=[column(c) for c in columns]).from_(name.table())


def test_every_type_at_its_ends(engine, make_table):
    table = make_table(engine, "t", COLUMNS, [LOW, HIGH, NULLS])
    rows = engine.fetch(all_of(table, *COLUMNS))
    assert sorted(rows, key=repr) == sorted([LOW, HIGH, NULLS], key=repr) or set(rows) == {LOW, HIGH, NULLS}
    kinds = [info.kind for info in engine.columns(table)]
    assert kinds == [
        Kind.BOOLEAN, Kind.INTEGER, Kind.INTEGER, Kind.INTEGER, Kind.FLOAT, Kind.FLOAT, Kind.DECIMAL, Kind.TEXT,
        Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP,
    ]  # fmt: skip


def test_batches_have_the_types_of_the_columns_and_the_rows_of_fetch(engine, make_table):
    table = make_table(engine, "t", COLUMNS, [LOW, HIGH, NULLS] * 5)
    batches = list(engine.batches(all_of(table, *COLUMNS), rows=4))
    assert sum(batch.num_rows for batch in batches) == 15
    assert batches[0].schema.types == [
        pa.bool_(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(38, 18), pa.string(),
        pa.date32(), pa.timestamp("us"), pa.timestamp("us", tz="UTC"),
    ]  # fmt: skip
    read = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
    assert sorted(map(repr, read)) == sorted(map(repr, [LOW, HIGH, NULLS] * 5)) or set(read) == {LOW, HIGH, NULLS}


def test_an_empty_result_is_one_batch_that_knows_its_columns(engine, make_table):
    table = make_table(engine, "t", COLUMNS, [])
    (batch,) = engine.batches(all_of(table, *COLUMNS))
    assert batch.num_rows == 0
    assert batch.schema.names == list(COLUMNS)
    assert engine.fetch(all_of(table, *COLUMNS)) == []
    assert {name: len(values) for name, values in engine.arrays(all_of(table, "i", "d")).items()} == {"i": 0, "d": 0}


def test_batches_that_are_not_read_to_the_end_leave_the_engine_usable(engine, make_table):
    table = make_table(engine, "t", {"i": "INTEGER"}, [(i,) for i in range(100)])
    found = engine.batches(all_of(table, "i"), rows=10)
    next(found)
    found.close()
    assert len(engine.fetch(all_of(table, "i"))) == 100


@pytest.mark.lacks("spark", reason="Spark has no transactions")
def test_batches_inside_a_transaction_see_what_it_wrote(engine, make_table):
    with engine.transaction():
        table = make_table(engine, "t", {"i": "INTEGER"}, [(i,) for i in range(25)])
        assert sum(batch.num_rows for batch in engine.batches(all_of(table, "i"), rows=10)) == 25
        engine.drop_table(table)
    assert engine.relation_kind(table) is None
    assert engine.has_transactions


# -- numbers that are not numbers ------------------------------------------------------------------------


def test_nan_infinity_and_minus_zero(engine, make_table):
    values = [math.nan, math.inf, -math.inf, -0.0, 0.0, 1e-320, None]
    table = make_table(engine, "t", {"d": "DOUBLE"}, [(value,) for value in values])
    found = [row[0] for row in engine.fetch(all_of(table, "d"))]
    told = sorted("NULL" if value is None else repr(value) for value in found)
    assert told == sorted("NULL" if value is None else repr(value) for value in values)


def test_nan_equals_itself_is_above_all_numbers_and_the_zeros_are_one_class(engine, make_table):
    table = make_table(engine, "t", {"d": "DOUBLE"}, [(math.nan,), (math.nan,), (-0.0,), (0.0,), (math.inf,), (None,)])
    counted = exp.select(aliased(exp.Count(this=exp.Star()), "n")).from_(table.table()).group_by(column("d"))
    assert sorted(row[0] for row in engine.fetch(counted)) == [1, 1, 2, 2]
    above = all_of(table, "d").where(exp.GT(this=column("d"), expression=exp.cast(exp.convert(5), "DOUBLE")))
    assert len(engine.fetch(above)) == 3


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.floats(allow_nan=False) | st.none(), min_size=1, max_size=50))
def test_doubles_are_kept_to_the_last_bit(duckdb_engine, postgres_engine, values):
    table = pa.table({"d": pa.array(values, pa.float64())})
    for engine in (duckdb_engine, postgres_engine):
        engine.load(Name("ppdm_t"), table)
        found = [row[0] for row in engine.fetch(all_of(Name("ppdm_t"), "d"))]
        assert sorted(map(repr, found)) == sorted(map(repr, values))


def test_a_real_is_the_number_the_engine_computes_with(engine, make_table):
    table = make_table(engine, "t", {"r": "REAL"}, [(0.1,)])
    single = pa.scalar(0.1, pa.float32()).as_py()
    assert engine.fetch(all_of(table, "r")) == [(single,)]
    assert engine.arrays(all_of(table, "r"))["r"].tolist() == [single]
    assert next(engine.batches(all_of(table, "r"))).column(0).to_pylist() == [single]
    above = exp.GT(this=column("r"), expression=exp.cast(exp.Literal.string("0.1"), "DOUBLE"))
    assert len(engine.fetch(all_of(table, "r").where(above))) == 1


def test_numbers_that_differ_in_the_last_digit_stay_apart(engine, make_table):
    rows = [(Decimal("1.000000000000000001"), (1 << 53) + 1), (Decimal("1.000000000000000002"), (1 << 53) + 2)]
    table = make_table(engine, "t", {"m": "DECIMAL(38, 18)", "l": "BIGINT"}, rows)
    for name, place in (("m", 0), ("l", 1)):
        counted = exp.select(column(name)).from_(table.table()).group_by(column(name))
        assert {row[0] for row in engine.fetch(counted)} == {row[place] for row in rows}


# -- arrays ----------------------------------------------------------------------------------------------


def test_counts_and_sums_reach_numpy_as_whole_numbers(engine, make_table):
    table = make_table(engine, "t", {"g": "INTEGER", "l": "BIGINT"}, [(1, 1 << 40), (1, 1 << 40), (2, 3)])
    counted = exp.select(
        column("g"),
        aliased(exp.Count(this=exp.Star()), "n"),
        aliased(exp.cast(exp.Sum(this=column("l")), "BIGINT"), "s"),
    )
    found = engine.arrays(counted.from_(table.table()).group_by(column("g")).order_by(column("g")))
    assert {name: values.tolist() for name, values in found.items()} == {"g": [1, 2], "n": [2, 1], "s": [1 << 41, 3]}
    assert all(values.dtype.kind == "i" for values in found.values())


def test_floats_and_booleans_reach_numpy(engine, make_table):
    table = make_table(engine, "t", {"d": "DOUBLE", "b": "BOOLEAN"}, [(0.1, True)])
    found = engine.arrays(all_of(table, "d", "b"))
    assert found["d"].tolist() == [0.1]
    assert found["b"].tolist() == [True]


# -- parameters ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("BOOLEAN", True),
        ("BIGINT", (1 << 63) - 1),
        ("DOUBLE", 0.1),
        ("DECIMAL(38, 18)", Decimal("1.000000000000000001")),
        ("TEXT", "O'Brien 100% $k :k %(k)s"),
        ("DATE", date(1970, 1, 1)),
        ("TIMESTAMP", datetime(2024, 3, 31, 2, 30, 0, 1)),
        ("TIMESTAMPTZ", datetime(2024, 3, 31, 1, 30, tzinfo=UTC)),
    ],
)
def test_a_parameter_finds_its_row(engine, make_table, words, value):
    table = make_table(engine, "t", {"v": words}, [(value,), (None,)])
    same = exp.EQ(this=column("v"), expression=exp.Placeholder(this="k"))
    assert engine.fetch(all_of(table, "v").where(same), k=value, not_used=1) == [(value,)]


def test_parameters_beside_modulo_like_and_percent_literals(engine, make_table):
    table = make_table(engine, "t", {"i": "INTEGER", "v": "TEXT"}, [(i, f"{i}%") for i in range(10)])
    query = parse_one("SELECT i FROM t WHERE i % $m = 1 AND v LIKE '%1%' AND v <> '%(m)s' ORDER BY i", dialect="duckdb")
    assert engine.fetch(query, m=5) == [(1,)]
    assert engine.relation_kind(table) == "table"


def test_parameters_in_create_table_as(engine):
    query = parse_one("SELECT CAST($a AS INTEGER) AS a, CAST($b AS VARCHAR) AS b", dialect="duckdb")
    for temporary in (True, False):
        name = Name("ppdm_made" if temporary else "made")
        engine.create_table(name, query, temporary=temporary, a=7, b="o'b%", c=None)
        assert engine.fetch(all_of(name, "a", "b")) == [(7, "o'b%")]


def test_a_missing_parameter_is_an_error(engine):
    with pytest.raises(EngineError):
        engine.fetch(parse_one("SELECT CAST($a AS INTEGER) AS a, CAST($b AS INTEGER) AS b", dialect="duckdb"), b=1)


# -- texts and their numbers -----------------------------------------------------------------------------

TEXTS = ["", "abc", "é😀ß", "e\u0301", "a\nb", "x" * 1000, "100%"]


def test_the_hash_of_a_text_is_the_same_number_on_every_engine(engine, make_table):
    table = make_table(engine, "t", {"v": "TEXT"}, [(text,) for text in TEXTS])
    parts = [aliased(engine.hash_number(column("v"), part), f"p{part}") for part in (0, 1)]
    found = {row[0]: row[1:] for row in engine.fetch(exp.select(column("v"), *parts).from_(table.table()))}
    for text in TEXTS:
        digits = hashlib.md5(text.encode()).hexdigest()
        assert found[text] == (int(digits[:15], 16), int(digits[15:30], 16))


def test_exact_text_orders_and_compares_bytes(engine, make_table):
    words = ["B", "a", "A", "b", "é", "Z", "z", "_", "ä", "e\u0301"]
    table = make_table(engine, "t", {"v": "TEXT"}, [(word,) for word in words])
    exact = engine.exact_text(column("v"))
    ordered = exp.select(aliased(exact, "x")).from_(table.table()).order_by(exact.copy())
    assert [row[0] for row in engine.fetch(ordered)] == sorted(words, key=str.encode)


def classes_of(engine, table, expression):
    counted = exp.select(aliased(exp.Count(this=exp.Star()), "n")).from_(table.table()).group_by(expression)
    return sorted(row[0] for row in engine.fetch(counted))


LAX = {
    "DuckDB": "CREATE TABLE lax (v VARCHAR COLLATE NOCASE)",
    "Spark": "CREATE TABLE lax (v STRING COLLATE UTF8_LCASE) USING parquet",
    "PostgreSQL": "CREATE TABLE lax (v TEXT COLLATE nocase)",
}


def test_a_collation_that_merges_strings_is_undone(engine):
    if engine.title == "PostgreSQL":
        try:
            engine.pass_through(
                "CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
            )
        except EngineError:
            pytest.skip("this PostgreSQL is built without ICU: no collation merges strings (citext has its own test)")
    engine.pass_through(LAX[engine.title])
    engine.pass_through("INSERT INTO lax VALUES ('a'), ('A'), ('b')")
    lax = Name("lax")
    assert classes_of(engine, lax, column("v")) == [1, 2]
    assert classes_of(engine, lax, engine.exact_text(column("v"))) == [1, 1, 1]
    assert [info.kind for info in engine.columns(lax)] == [Kind.TEXT]


@pytest.mark.parametrize(("size", "fits"), [(1, 0), (255, 254), (256, 255), (65_536, 65_535), (1 << 20, (1 << 20) - 1)])
def test_the_type_of_codes_holds_them(engine, size, fits):
    cast = exp.cast(exp.convert(fits), engine.code_type(size))
    assert engine.fetch(exp.select(aliased(cast, "c"))) == [(fits,)]
