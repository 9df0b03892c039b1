"""Names and values from many hands: none is ever code, none is altered."""

from __future__ import annotations

import pytest
from sqlglot import exp

from ppdm_sql.errors import EngineError
from ppdm_sql.statements.names import Name, Word, aliased, column

HOSTILE = [
    'o"brien',
    "o'brien",
    'x"; DROP TABLE patients; --',
    "'; DROP TABLE patients; --",
    "(select max(age) from patients)",
    "patients.age",
    " leading and trailing ",
    "order",
    "select",
    "é😀ß",
    "x" * 60,
    "100%",
    "%(k)s",
    "$k",
    ":x",
    "back\\slash",
    "back`tick",
]
VALUES = [
    *HOSTILE,
    "",
    " ",
    "NULL",
    "\\N",
    "\\.",
    "a\nb",
    "a\n\\.\nb",
    "\t",
    "\r\n",
    "{}[]()<>|;,",
    "%s",
    "$1",
    "?",
    "e\u0301",
    "\u00e9",
    "\u200b",
    "\ufeff",
    "\ud7ff\ue000\U0010ffff",
    "x" * 70_000,
]


def everything(name: Name, *columns: str) -> exp.Select:
    return exp.Select(expressions=[column(c) for c in columns] or [exp.Star()]).from_(name.table())


@pytest.fixture
def sentinel(engine, make_table):
    """A table that an injected statement would take away."""
    name = make_table(engine, "patients", {"age": "INTEGER"}, [(117,)])
    yield name
    assert engine.fetch(everything(name, "age")) == [(117,)]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_column_may_have_any_name(engine, make_table, sentinel, hostile):
    table = make_table(engine, "t", {hostile: "INTEGER", "plain": "TEXT"}, [(1, "a"), (2, "b")])
    assert [info.name for info in engine.columns(table)] == [hostile, "plain"]
    found = engine.fetch(everything(table, hostile).where(exp.GT(this=column(hostile), expression=exp.convert(1))))
    assert found == [(2,)]
    (batch,) = engine.batches(exp.Select(expressions=[aliased(column(hostile), hostile)]).from_(table.table()))
    assert batch.schema.names == [hostile]
    (counted,) = engine.arrays(
        exp.Select(expressions=[aliased(exp.Count(this=exp.Star()), hostile)]).from_(table.table())
    )
    assert counted == hostile


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_working_table_may_have_any_name(engine, make_table, sentinel, hostile):
    table = make_table(engine, hostile, {"a": "INTEGER"}, [(1,)], temporary=True)
    assert engine.relation_kind(table) == "table"
    assert engine.fetch(everything(table, "a")) == [(1,)]
    engine.create_table(table, exp.select(aliased(exp.convert(2), "b")), temporary=True)
    assert engine.fetch(everything(table, "b")) == [(2,)]
    engine.drop_table(table, temporary=True)
    assert engine.relation_kind(table) is None


@pytest.mark.lacks("spark", reason="Spark allows only letters, digits and _")
@pytest.mark.parametrize("hostile", [name for name in HOSTILE if name not in ("order", "select", "x" * 60)])
def test_a_stored_table_schema_and_view_may_have_any_name(engine, make_table, sentinel, hostile):
    engine.create_schema(hostile)
    table = make_table(engine, Name(hostile, hostile), {"a": "INTEGER"}, [(1,)])
    view = Name(hostile, hostile[::-1] + "v")
    engine.create_view(view, everything(table, "a"))
    engine.comment(table, "table", hostile)
    engine.comment(view, "view", hostile)
    assert engine.relations(hostile) == sorted([table.last, view.last])
    assert engine.fetch(everything(view, "a")) == [(1,)]
    engine.drop_view(view)
    engine.drop_table(table)
    assert engine.relations(hostile) == []


@pytest.mark.spark
def test_spark_refuses_a_stored_name_before_it_writes_anything(spark_engine, make_table):
    for make in (spark_engine.create_table, spark_engine.create_view):
        with pytest.raises(EngineError, match="letters, digits and _"):
            make(Name("a b"), exp.select(aliased(exp.convert(1), "x")))
    with pytest.raises(EngineError, match="letters, digits and _"):
        spark_engine.create_schema("a b")


def test_a_name_with_a_nul_is_refused(engine, make_table):
    with pytest.raises(EngineError, match="NUL"):
        engine.fetch(everything(Name("a\0b")))
    with pytest.raises(EngineError, match="NUL"):
        make_table(engine, "t", {"a\0b": "INTEGER"}, [])


def test_a_name_longer_than_the_engine_keeps_is_refused_not_cut(engine, make_table):
    long = "é" * 32  # 64 bytes
    if engine.name_limit is None:
        table = make_table(engine, "t", {long: "INTEGER", long + "x": "INTEGER"}, [(1, 2)])
        assert engine.fetch(everything(table, long + "x")) == [(2,)]
        return
    with pytest.raises(EngineError, match="63 bytes"):
        make_table(engine, "t", {long: "INTEGER"}, [(1,)])
    assert engine.relation_kind(Name("t")) is None
    for look in (engine.relation_kind, engine.columns, engine.drop_table):
        with pytest.raises(EngineError, match="63 bytes"):
            look(Name("x" * 64))


def test_values_come_back_as_they_went(engine, make_table, sentinel):
    rows = [(number, value) for number, value in enumerate(VALUES)]
    table = make_table(engine, "t", {"n": "INTEGER", "v": "TEXT"}, rows)
    assert sorted(engine.fetch(everything(table, "n", "v"))) == rows
    assert sorted(zip(*batch_values(engine, everything(table, "n", "v")), strict=True)) == rows


@pytest.mark.parametrize("value", [value for value in VALUES if len(value) < 100])
def test_values_as_parameters_and_as_literals(engine, make_table, sentinel, value):
    table = make_table(engine, "t", {"v": "TEXT"}, [(value,), ("another",)])
    same = exp.EQ(this=column("v"), expression=exp.Placeholder(this="v"))
    assert engine.fetch(everything(table, "v").where(same), v=value) == [(value,)]
    literal = exp.EQ(this=column("v"), expression=exp.Literal.string(value))
    assert engine.fetch(everything(table, "v").where(literal)) == [(value,)]
    both = exp.And(this=same.copy(), expression=literal.copy())  # a % of the literal next to a real parameter
    assert engine.fetch(everything(table, "v").where(both), v=value) == [(value,)]


def batch_values(engine, query):
    batches = list(engine.batches(query, rows=7))
    return [
        [value for batch in batches for value in batch.column(i).to_pylist()] for i in range(len(batches[0].schema))
    ]


def test_the_case_of_a_name_without_quotes(engine):
    assert engine.fold(Word("Age", quoted=True)) == "Age"
    assert engine.fold(Word("AgeÄ")) == ("ageÄ" if engine.title == "PostgreSQL" else "AgeÄ")
