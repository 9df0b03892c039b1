"""Working tables have names of their own, are gone at the end, and are shared where that is asked for."""

from __future__ import annotations

import pytest
from sqlglot import exp

from ppdm_sql.errors import EngineError
from ppdm_sql.source.encode import make_lookup, recode
from ppdm_sql.statements.names import Name, column

ROWS = [(1, "a"), (2, None), (2, "b"), (None, "a")]
ONE = exp.select(exp.alias_(exp.Literal.number(1), "x"))


def content(engine, table) -> list[str]:
    return sorted(map(str, engine.fetch(exp.select("*").from_(table.table()))))


def is_there(engine, name: Name) -> bool:
    return engine.relation_kind(name) is not None


# -- names and ends ----------------------------------------------------------------------------------------


@pytest.mark.lacks("spark", reason="Spark has no transactions")
def test_what_is_lent_is_gone_at_the_end_also_after_a_roll_back(engine):
    columns = {"part": [1, 2], "label": ["a", None]}
    with engine.workspace() as work:
        lent = work.lend("labels", columns, analyze=True)
        assert content(engine, lent) == ["(1, 'a')", "(2, None)"]
        with pytest.raises(ZeroDivisionError), engine.transaction():  # noqa: PT012 - the roll-back is the point
            inside = work.lend("others", columns)
            assert content(engine, inside) == content(engine, lent)
            work.drop(lent)
            raise ZeroDivisionError
        assert content(engine, lent) == ["(1, 'a')", "(2, None)"]
    with pytest.raises(EngineError):
        content(engine, inside)
    failed = engine.workspace()
    with pytest.raises(ZeroDivisionError), failed as work, engine.transaction():  # noqa: PT012
        inside = work.lend("labels", columns)
        work.drop(inside)
        raise ZeroDivisionError
    assert not is_there(engine, inside)


def test_tables_and_views_are_there_until_the_end(engine, make_table):
    make_table(engine, "people", {"n": "INTEGER"}, [(1,), (2,)])
    with engine.workspace() as work:
        table = work.table("codes", ONE.copy(), analyze=True)
        loaded = work.load("labels", {"part": [1, 2], "label": ["a", "b"]}, analyze=True)
        view = work.view_of_text("source", "SELECT n FROM people")
        later = work.name("later")
        assert content(engine, table) == ["(1,)"]
        assert content(engine, loaded) == ["(1, 'a')", "(2, 'b')"]
        assert content(engine, view) == ["(1,)", "(2,)"]
        assert not is_there(engine, later)
    assert not any(is_there(engine, name) for name in (table, loaded, view))
    assert content(engine, Name("people")) == ["(1,)", "(2,)"]


def test_a_name_is_given_once_and_starts_with_our_prefix(duckdb_engine):
    names = [duckdb_engine.work.name("codes") for _ in range(3)]
    with duckdb_engine.workspace() as work:
        names += [work.name("codes") for _ in range(3)]
    assert len(set(names)) == 6
    assert all(name.last.startswith("ppdm_codes_") and name.schema is None for name in names)


def test_a_table_made_again_under_its_name_replaces_the_one_before(engine):
    with engine.workspace() as work:
        turn = work.name("turn")
        for number in (1, 2):
            engine.create_table(turn, exp.select(exp.alias_(exp.Literal.number(number), "x")), temporary=True)
            assert content(engine, turn) == [f"({number},)"]
    assert not is_there(engine, turn)


def test_workspaces_nest_and_a_table_can_be_made_in_the_outer_one(engine):
    with engine.workspace() as outer:
        assert engine.work is outer
        with engine.workspace() as inner:
            assert engine.work is inner
            scratch, result = inner.table("scratch", ONE.copy()), outer.table("result", ONE.copy())
        assert engine.work is outer
        assert (is_there(engine, scratch), is_there(engine, result)) == (False, True)
        engine.work.drop(result)
        assert not is_there(engine, result)


def test_a_table_of_an_outer_workspace_can_be_dropped_early(duckdb_engine):
    with duckdb_engine.workspace() as outer:
        table = outer.table("large", ONE.copy())
        with duckdb_engine.workspace() as inner:
            inner.drop(table)
        assert not is_there(duckdb_engine, table)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_nothing_is_left_behind_after_a_failure(engine, error):
    made = []

    def fail() -> None:
        with engine.workspace() as work:
            made.append(work.table("a", ONE.copy()))
            with engine.workspace() as inner:
                made.append(inner.table("b", ONE.copy()))
                raise error

    with pytest.raises(error):
        fail()
    assert not any(is_there(engine, name) for name in made)
    assert engine.fetch(ONE.copy()) == [(1,)]


@pytest.mark.lacks("spark", reason="Spark has no transactions")
def test_a_transaction_that_failed_leaves_nothing_behind(engine):
    """A statement fails inside it, so that nothing can be dropped before the roll-back."""
    made = []

    def fail() -> None:
        with engine.workspace() as work:
            made.extend([work.table("kept", ONE.copy()), work.table("dropped", ONE.copy())])
            with engine.transaction(), engine.workspace() as inner:
                made.append(inner.table("inside", ONE.copy()))
                work.drop(made[1])
                engine.fetch(exp.select("*").from_(Name("ppdm_is_not_there").table()))

    with pytest.raises(EngineError):
        fail()
    assert not any(is_there(engine, name) for name in made)


def test_a_connection_that_was_handed_over_is_given_back_without_tables():
    import duckdb

    from ppdm_sql.engines.connect import open_engine

    connection = duckdb.connect()
    with open_engine(connection) as first, open_engine(connection) as second:
        tables = [engine.work.table("codes", ONE.copy()) for engine in (first, second, first)]
        assert len(set(tables)) == 3
    assert connection.execute("SELECT table_name FROM duckdb_tables()").fetchall() == []


def test_a_table_that_was_never_made_costs_no_statement(engine):
    said: list[str] = []
    engine.on_statement = said.append
    with engine.workspace() as work:
        work.name("never")
    engine.on_statement = None
    assert said == []


# -- sharing -----------------------------------------------------------------------------------------------


def test_look_ups_of_a_shared_relation_are_made_once(engine, make_table):
    relation = make_table(engine, "ppdm_r", {"n": "INTEGER", "s": "TEXT"}, ROWS, temporary=True)
    infos = engine.columns(relation)

    def looked_up():
        return {info.name: make_lookup(engine, relation, info) for info in infos}

    plain = looked_up()["n"]
    expected = content(engine, plain.table)
    said: list[str] = []
    with engine.workspace({relation}):
        with engine.workspace():  # the first plan
            first = looked_up()
        engine.on_statement = said.append
        with engine.workspace():  # the second one
            again = looked_up()
        engine.on_statement = None
        assert said == []
        assert again == first
        assert content(engine, first["n"].table) == expected
        tables = [one.table for one in first.values()]
        assert all(engine.work.keeps(table) for table in tables)
        assert not engine.work.keeps(plain.table)
    assert not any(engine.columns(table) for table in tables)
    assert content(engine, plain.table) == expected


def test_only_what_is_named_is_shared_and_the_names_may_grow(duckdb_engine):
    shared, made = {Name("a")}, []

    def make() -> int:
        made.append(1)
        return len(made)

    with duckdb_engine.workspace(shared) as work:
        assert [work.once(Name("a"), "x", make) for _ in range(2)] == [1, 1]
        assert work.once(Name("a"), "y", make) == 2
        assert [work.once(Name("b"), "x", make) for _ in range(2)] == [3, 4]
        shared.add(Name("b"))
        assert [work.once(Name("b"), "x", make) for _ in range(2)] == [5, 5]
    assert duckdb_engine.work.once(Name("a"), "x", make) == 6


def test_codes_that_a_plan_changed_are_its_own(duckdb_engine, make_table):
    """A look-up that was recoded is not shared."""
    relation = make_table(duckdb_engine, "ppdm_r", {"n": "INTEGER", "s": "TEXT"}, ROWS, temporary=True)
    info = duckdb_engine.columns(relation)[0]
    with duckdb_engine.workspace({relation}):
        with duckdb_engine.workspace():
            lookup = recode(duckdb_engine, make_lookup(duckdb_engine, relation, info), [1, 0])
            codes = exp.Select(expressions=[column("ppdm_code")]).from_(lookup.table.table())
            assert sorted(duckdb_engine.fetch(codes)) == [(0,), (1,)]
        assert not is_there(duckdb_engine, lookup.table)
