"""What goes wrong is reported in names and counts: no value of the data is in a message, on stdout or on stderr."""

from __future__ import annotations

import traceback

import pytest
from sqlglot import exp, parse_one

from ppdm_sql.errors import EngineError
from ppdm_sql.statements.names import Name, aliased, column

CANARY = "CANARY John Smith 1971"


@pytest.fixture
def people(engine, make_table):
    return make_table(engine, "people", {"name": "TEXT", "n": "INTEGER"}, [(CANARY, 2_000_000_000)] * 3)


def failing(people):
    """Statements that each engine refuses because of what is in the table."""
    name, number, source = column("name"), column("n"), people.table()
    yield exp.select(aliased(exp.cast(name, "INT"), "x")).from_(source)
    yield exp.select(aliased(exp.cast(name, "DATE"), "x")).from_(source)
    yield exp.select(aliased(exp.cast(name, "DOUBLE"), "x")).from_(source)
    yield exp.select(aliased(exp.cast(name, "BOOLEAN"), "x")).from_(source)
    yield exp.select(aliased(exp.cast(number, "SMALLINT"), "x")).from_(source)
    yield exp.select(aliased(exp.Add(this=number.copy(), expression=number.copy()), "x")).from_(source)


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("way", ["fetch", "arrays", "batches", "working table", "stored table"])
def test_a_value_the_engine_chokes_on_is_not_told(engine, people, capfd, caplog, number, way):
    caplog.set_level("DEBUG")
    query = list(failing(people))[number]
    with pytest.raises(EngineError) as error:
        {
            "fetch": lambda: engine.fetch(query),
            "arrays": lambda: engine.arrays(query),
            "batches": lambda: list(engine.batches(query)),
            "working table": lambda: engine.create_table(Name("ppdm_w"), query, temporary=True),
            "stored table": lambda: engine.create_table(Name("w"), query),
        }[way]()
    told = str(error.value) + caplog.text + "".join(capfd.readouterr())
    told += "".join(traceback.format_exception(error.value))
    assert "CANARY" not in told
    assert "Smith" not in told
    assert "2000000000" not in told
    assert str(error.value)


def test_a_literal_in_a_refused_statement_is_not_told(engine, people):
    wrong = exp.EQ(this=exp.cast(exp.Literal.string(CANARY), "INT"), expression=column("n"))
    with pytest.raises(EngineError) as error:
        engine.fetch(exp.select(column("n")).from_(people.table()).where(wrong))
    assert "CANARY" not in str(error.value)


def test_a_parameter_in_a_refused_statement_is_not_told(engine, people, capfd):
    query = parse_one("SELECT CAST($canary AS INTEGER) AS x", dialect="duckdb")
    with pytest.raises(EngineError) as error:
        engine.fetch(query, canary=CANARY)
    assert "CANARY" not in str(error.value) + "".join(capfd.readouterr())


def test_names_that_are_missing_are_told(engine, people):
    with pytest.raises(EngineError, match="no_such_table"):
        engine.fetch(exp.select(column("a")).from_(Name("no_such_table").table()))
    with pytest.raises(EngineError, match="no_such_column"):
        engine.fetch(exp.select(column("no_such_column")).from_(people.table()))
    with pytest.raises(EngineError, match=r"(?i)no_such_function"):
        engine.fetch(
            exp.select(exp.Anonymous(this="no_such_function", expressions=[column("n")])).from_(people.table())
        )
    with pytest.raises(EngineError, match=r"(?i)syntax"):
        engine.pass_through("SELEC 1")


def test_the_statement_is_kept_for_who_asks(engine):
    with pytest.raises(EngineError) as error:
        engine.fetch(exp.select(column("a")).from_(Name("nope").table()))
    assert "SELECT" in error.value.sql
    assert error.value.__context__ is not None


def test_the_engine_goes_on_after_an_error(engine, people):
    for query in failing(people):
        with pytest.raises(EngineError):
            engine.fetch(query)
    assert engine.fetch_one(exp.select(exp.Count(this=exp.Star())).from_(people.table())) == (3,)


def test_nothing_is_printed(engine, people, capfd):
    engine.create_table(Name("t"), exp.select(column("name")).from_(people.table()))
    engine.drop_table(Name("not_there"))
    engine.fetch(exp.select(column("name")).from_(people.table()))
    assert capfd.readouterr() == ("", "")
