"""What is kept of a relation is made once and says the same; everything else is made anew."""

from __future__ import annotations

from sqlglot import exp

from ppdm_sql.source.encode import encode, make_lookup
from ppdm_sql.source.kept import is_kept, keeping, once, table_for
from ppdm_sql.statements.names import Name, column, own

ROWS = [(1, "a"), (2, None), (2, "b"), (None, "a")]


def content(engine, table) -> list[str]:
    return sorted(map(str, engine.fetch(exp.select("*").from_(table.table()))))


def test_look_ups_and_codes_of_a_kept_relation_are_made_once(engine, make_table):
    relation = make_table(engine, own("ppdm_r"), {"n": "INTEGER", "s": "TEXT"}, ROWS, temporary=True)
    infos = engine.columns(relation)

    def coded(extra: str):
        lookups = {info.name: make_lookup(engine, relation, info, number) for number, info in enumerate(infos)}
        return lookups, encode(engine, relation, lookups, ["s"], extra={"ppdm_x": exp.Literal.string(extra)})

    plain_lookups, plain = coded("x")
    expected = content(engine, plain.table)
    said: list[str] = []
    with keeping(engine, {relation}):
        lookups, first = coded("x")
        engine.on_statement = said.append
        again_lookups, again = coded("x")
        engine.on_statement = None
        assert said == []
        assert (again_lookups, again) == (lookups, first)
        assert content(engine, first.table) == expected
        other = coded("y")[1]
        assert other.table != first.table
        assert content(engine, first.table) == expected  # the other one was not written into it
        assert {one.table for one in lookups.values()}.isdisjoint(one.table for one in plain_lookups.values())
        tables = [first.table, other.table, *(one.table for one in lookups.values())]
        assert all(is_kept(engine, table) for table in tables)
    for table in tables:
        assert not engine.columns(table)
    assert coded("x") == (plain_lookups, plain)


def test_only_what_is_named_is_kept_and_the_names_may_grow(duckdb_engine):
    kept, made = {Name("a")}, []

    def make() -> int:
        made.append(1)
        return len(made)

    with keeping(duckdb_engine, kept):
        assert [once(duckdb_engine, Name("a"), "x", make) for _ in range(2)] == [1, 1]
        assert once(duckdb_engine, Name("a"), "y", make) == 2
        assert [once(duckdb_engine, Name("b"), "x", make) for _ in range(2)] == [3, 4]
        assert table_for(duckdb_engine, Name("b"), "ppdm_t") == own("ppdm_t")
        kept.add(Name("b"))
        assert [once(duckdb_engine, Name("b"), "x", make) for _ in range(2)] == [5, 5]
        assert table_for(duckdb_engine, Name("b"), "ppdm_t") != table_for(duckdb_engine, Name("b"), "ppdm_t")
    assert once(duckdb_engine, Name("a"), "x", make) == 6


def test_codes_that_a_plan_changed_are_its_own(duckdb_engine, make_table):
    """A look-up that was recoded is no kept one, and neither are the codes made with it."""
    from ppdm_sql.source.encode import recoded

    relation = make_table(duckdb_engine, own("ppdm_r"), {"n": "INTEGER", "s": "TEXT"}, ROWS, temporary=True)
    info = duckdb_engine.columns(relation)[0]
    with keeping(duckdb_engine, {relation}):
        lookup = recoded(duckdb_engine, make_lookup(duckdb_engine, relation, info, 0), [1, 0], 0)
        first = encode(duckdb_engine, relation, {"n": lookup}, [])
        assert first.table == own("ppdm_coded")
        codes = exp.Select(expressions=[column(first.codes["n"])]).from_(first.table.table())
        assert sorted(duckdb_engine.fetch(codes)) == [(0,), (0,), (1,), (2,)]
