"""measure() at the edges: empty, one row, no quasi-identifier, odd types, keys too wide, working tables."""

from __future__ import annotations

import functools
import json
import math
import re
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

import duckdb
import pytest

from ppdm_sql.checks import class_table, nulls
from ppdm_sql.checks.measure import Sensitive, measure
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.errors import EngineError, PolicyError
from ppdm_sql.requirements import (
    Closeness,
    ConfidenceLimit,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    RecursiveDiversity,
    SimpleDiversity,
)
from ppdm_sql.statements.names import Name
from tests import oracles
from tests.checks.tables import random_data

EVERY = (
    KAnonymity(1),
    DistinctDiversity(1),
    SimpleDiversity(Fraction(1)),
    RecursiveDiversity(Fraction(10), 1),
    RecursiveDiversity(Fraction(10), 3),
    EntropyDiversity(Fraction(1)),
    ConfidenceLimit(Fraction(1)),
    Closeness(Fraction(1), "equal"),
)


def about(engine, relation, quasi, sensitive, requirements, entity=None, nulls_as_value=False):
    info = {column.name: column for column in engine.columns(relation)}
    return measure(
        engine,
        relation,
        quasi=[info[name] for name in quasi],
        sensitive=[Sensitive(info[name], nulls_as_value=nulls_as_value) for name in sensitive],
        requirements=requirements,
        entity=info[entity] if entity else None,
    )


# -- few rows --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quasi", [["a"], []])
def test_an_empty_relation_satisfies_nothing(engine, make_table, quasi):
    relation = make_table(engine, "t", {"a": "TEXT", "s": "INTEGER"}, [])
    for sensitive, asked in ([["s"], [*EVERY, Closeness(Fraction(1))]], [[], [KAnonymity(1)]]):
        found = about(engine, relation, quasi, sensitive, asked)
        assert (found.rows, found.classes, found.k, found.k_null_matches_all) == (0, 0, None, None)
        assert found.histogram == ()
        assert found.risk.prosecutor_max is None
        for outcome in found.outcomes:
            assert not outcome.holds
            assert (outcome.achieved, outcome.breaching_classes, outcome.breaching_rows) == (None, 0, 0)
            assert outcome.achieved_text == "no rows"


def test_one_row(engine, make_table):
    relation = make_table(engine, "t", {"a": "TEXT", "s": "INTEGER"}, [("x", 1)])
    found = about(engine, relation, ["a"], ["s"], [*EVERY, Closeness(Fraction(0)), KAnonymity(2)])
    assert [outcome.holds for outcome in found.outcomes] == [
        True,
        True,
        True,
        True,
        False,
        True,
        True,
        True,
        True,
        False,
    ]
    assert found.risk.prosecutor_max == 1
    assert found.risk.unique_rows == 1


def test_no_quasi_identifier_is_one_class(engine, make_table):
    relation = make_table(engine, "t", {"s": "TEXT"}, [("x",), ("x",), ("y",), (None,)])
    asked = [KAnonymity(4), SimpleDiversity(Fraction(3, 2)), DistinctDiversity(2), Closeness(Fraction(0))]
    found = about(engine, relation, [], ["s"], asked)
    assert found.classes == 1
    assert found.holds
    assert found.k == 4
    assert about(engine, relation, [], [], [KAnonymity(4)]).holds


def test_columns_of_nothing_but_null(engine, make_table):
    rows = [(None, None, None)] * 5
    relation = make_table(engine, "t", {"a": "TEXT", "b": "INTEGER", "s": "DOUBLE"}, rows)
    asked = [KAnonymity(5), DistinctDiversity(1), Closeness(Fraction(0)), Closeness(Fraction(0), "equal")]
    found = about(engine, relation, ["a", "b"], ["s"], asked, nulls_as_value=True)
    assert found.holds
    assert found.classes == 1
    assert found.k_null_matches_all == 5
    assert not about(engine, relation, ["a", "b"], ["s"], [DistinctDiversity(2)], nulls_as_value=True).holds
    known = about(engine, relation, ["a", "b"], ["s"], asked)
    assert [outcome.holds for outcome in known.outcomes] == [True, False, False, False]
    assert {(one.breaching_classes, one.breaching_rows) for one in known.outcomes[1:]} == {(1, 5)}


def test_null_counts_as_a_value_only_where_it_is_asked_for(engine, make_table):
    rows = [
        ("a", "flu"),
        ("a", "flu"),
        ("a", None),
        ("a", None),
        *[("b", None)] * 3,
        *[("c", "flu"), ("c", "cold")] * 2,
    ]
    relation = make_table(engine, "t", {"q": "TEXT", "s": "TEXT"}, rows)
    asked = [
        *(DistinctDiversity(2), SimpleDiversity(Fraction(2)), RecursiveDiversity(Fraction(2), 2)),
        *(EntropyDiversity(Fraction(2)), ConfidenceLimit(Fraction(1, 2)), Closeness(Fraction(1, 5))),
    ]
    known = about(engine, relation, ["q"], ["s"], asked).outcomes
    assert {(one.holds, one.breaching_classes, one.breaching_rows) for one in known} == {(False, 2, 7)}
    assert [one.achieved for one in known] == [0, 0, math.inf, 0.0, math.inf, math.inf]
    assert known[-1].achieved_text == "a class without known values"
    counted = about(engine, relation, ["q"], ["s"], asked[:5], nulls_as_value=True).outcomes
    assert {(one.holds, one.breaching_classes, one.breaching_rows) for one in counted} == {(False, 1, 3)}


def test_one_person_with_many_rows_is_no_group(engine, make_table):
    relation = make_table(engine, "t", {"zip": "TEXT", "who": "TEXT"}, [("1", "ann")] * 12 + [("2", "b"), ("2", "c")])
    by_rows = about(engine, relation, ["zip"], [], [KAnonymity(2)])
    by_person = about(engine, relation, ["zip"], [], [KAnonymity(2)], entity="who")
    assert by_rows.holds
    assert by_rows.k == 2
    assert not by_person.holds
    assert by_person.k == 1
    assert (by_person.outcomes[0].breaching_classes, by_person.outcomes[0].breaching_rows) == (1, 12)
    assert by_person.risk.unique_rows == 12


def test_rows_of_nobody_protect_nobody(engine, make_table):
    relation = make_table(engine, "t", {"a": "TEXT", "who": "INTEGER"}, [("x", None)] * 3)
    found = about(engine, relation, ["a"], [], [KAnonymity(1)], entity="who")
    assert found.k == 0
    assert not found.holds
    assert found.risk.prosecutor_max == 1


# -- values that look alike ------------------------------------------------------------------------------


def test_the_suppression_mark_is_a_value_like_any_other(engine, make_table):
    rows = [("*",), ("*",), ("?",), (None,), ("",)]
    relation = make_table(engine, "t", {"a": "TEXT"}, rows)
    assert about(engine, relation, ["a"], [], [KAnonymity(1)]).classes == 4


def test_a_collation_does_not_join_what_is_printed_apart():
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (a VARCHAR COLLATE NOCASE, s VARCHAR COLLATE NOCASE)")
    connection.execute("INSERT INTO t VALUES ('Ann', 'x'), ('ANN', 'X'), ('ann', 'x')")
    engine = DuckDBEngine(connection)
    found = about(engine, Name("t"), ["a"], ["s"], [KAnonymity(3)])
    assert (found.classes, found.k) == (3, 1)
    found = about(engine, Name("t"), [], ["s"], [DistinctDiversity(2), SimpleDiversity(Fraction(3, 2))])
    assert found.holds
    assert [outcome.achieved for outcome in found.outcomes] == [2, Fraction(3, 2)]


def test_zeros_that_print_apart_are_two_classes_and_one_fact(engine, make_table):
    rows = [(0.0, 0.0), (-0.0, -0.0), (math.nan, math.nan), (math.nan, math.nan)]
    relation = make_table(engine, "t", {"a": "DOUBLE", "s": "DOUBLE"}, rows)
    assert about(engine, relation, ["a"], [], [KAnonymity(1)]).classes == 3
    found = about(engine, relation, ["a"], ["s"], [KAnonymity(1)])
    assert found.classes == 3
    assert about(engine, relation, [], ["s"], [DistinctDiversity(3)]).outcomes[0].achieved == 2


@pytest.mark.postgres
def test_numbers_of_no_fixed_scale_print_apart(postgres_engine):
    postgres_engine.pass_through("CREATE TABLE t AS SELECT * FROM (VALUES (1.0::numeric), (1.00), (1.00)) AS v(a)")
    found = about(postgres_engine, Name("t"), ["a"], [], [KAnonymity(1)])
    assert (found.classes, found.k) == (2, 1)


EXOTIC = {
    "HUGEINT": "170141183460469231731687303715884105727, 170141183460469231731687303715884105726",
    "UBIGINT": "18446744073709551615, 18446744073709551614",
    "DECIMAL(38, 18)": "'1.000000000000000001', '1.000000000000000002'",
    "UUID": "'00000000-0000-0000-0000-00000000000a', '00000000-0000-0000-0000-00000000000b'",
    "TIMESTAMP_NS": "'2024-02-29 08:30:00.000000001', '2024-02-29 08:30:00.000000002'",
    "TIMESTAMPTZ": "'2024-02-29 08:30:00+00', '2024-02-29 08:30:00.000001+00'",
    "ENUM ('a', 'A')": "'a', 'A'",
    "FLOAT": "'0.1', '0.10000001'",
}


@pytest.mark.parametrize("kind", EXOTIC)
def test_exact_types_are_told_apart_to_the_last_digit(kind):
    connection = duckdb.connect()
    one, other = EXOTIC[kind].split(", ")
    connection.execute(f"CREATE TABLE t (a {kind}, s {kind})")
    connection.execute(f"INSERT INTO t VALUES ({one}, {one}), ({other}, {other}), ({other}, {one}), (NULL, NULL)")
    engine = DuckDBEngine(connection)
    found = about(engine, Name("t"), ["a"], ["s"], [KAnonymity(1), DistinctDiversity(2)])
    assert found.classes == 3
    assert found.k_null_matches_all == 2
    assert [outcome.breaching_classes for outcome in found.outcomes] == [0, 2]


def test_types_every_engine_has(engine, make_table):
    rows = [
        (True, date(2024, 2, 29), Decimal("1.10"), datetime(2024, 1, 1, tzinfo=UTC), 2**63 - 1),
        (False, date(2024, 2, 29), Decimal("1.10"), datetime(2024, 1, 1, tzinfo=UTC), 2**63 - 1),
        (False, date(2024, 2, 29), Decimal("1.11"), datetime(2024, 1, 1, 0, 0, 1, tzinfo=UTC), -(2**63)),
    ]
    columns = {"b": "BOOLEAN", "d": "DATE", "m": "DECIMAL(10, 2)", "z": "TIMESTAMPTZ", "i": "BIGINT"}
    relation = make_table(engine, "t", columns, rows)
    for name, classes in zip(columns, (2, 1, 2, 2, 2), strict=True):
        assert about(engine, relation, [name], [], [KAnonymity(1)]).classes == classes, name
        assert about(engine, relation, [name], ["i"], [DistinctDiversity(1)]).classes == classes, name
    assert about(engine, relation, list(columns), ["m"], [DistinctDiversity(1)]).classes == 3


# -- entropy in doubt ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "l", "holds"),
    [
        ([2, 2, 2], Fraction(3), True),  # three equal ones: floating point says no
        ([1] * 7, Fraction(7), True),
        ([4, 1, 1, 1, 1], Fraction(4), True),  # exactly two bits, and not equally frequent
        ([8, 2, 2, 2, 2], Fraction(4), True),
        ([4, 1, 1, 1, 1], Fraction(4000000001, 1000000000), False),  # nearer than floating point can be trusted
        ([4, 1, 1, 1, 1], Fraction(3999999999, 1000000000), True),
        ([3, 1], Fraction(2), False),
        ([5], Fraction(1), True),
    ],
)
def test_entropy_at_its_bound(engine, make_table, counts, l, holds):
    rows = [("x", value) for value, count in enumerate(counts) for _ in range(count)]
    relation = make_table(engine, "t", {"a": "TEXT", "s": "INTEGER"}, [*rows, *(("y", n) for n in range(40))])
    found = about(engine, relation, ["a"], ["s"], [EntropyDiversity(l)]).outcomes[0]
    assert found.holds == holds == oracles.entropy_reaches(counts, l)
    assert (found.breaching_classes, found.breaching_rows) == ((0, 0) if holds else (1, sum(counts)))
    assert (found.achieved >= l) == holds


# -- wide keys, many NULLs -------------------------------------------------------------------------------


def test_quasi_identifiers_that_need_more_than_one_key(engine, make_table):
    columns = {f"q{number}": "INTEGER" for number in range(45)} | {"s": "TEXT"}  # 3 ** 45 is beyond 64 bits
    rows = [(*((row * (number + 1)) % 3 or None for number in range(45)), "ab"[row % 2]) for row in range(18)]
    relation = make_table(engine, "t", columns, rows)
    mappings = [dict(zip(columns, row, strict=True)) for row in rows]
    quasi = list(columns)[:-1]
    found = about(engine, relation, quasi, ["s"], [RecursiveDiversity(Fraction(2), 3), Closeness(Fraction(0))])
    assert found.classes == len(oracles.classes(mappings, quasi)) == 3
    assert found.k_null_matches_all == oracles.null_matches_all_k(mappings, quasi)
    distances = oracles.class_distances(mappings, quasi, "s", "equal")
    assert found.outcomes[1].achieved == max(distances.values())


@pytest.mark.parametrize("limit", [1, 4, 30])
def test_keys_may_be_cut_anywhere(duckdb_engine, make_table, monkeypatch, limit):
    monkeypatch.setattr(class_table, "pack_key", functools.partial(class_table.pack_key, limit=limit))
    for seed in range(2000, 2008):
        data = random_data(seed)
        relation = make_table(duckdb_engine, f"t{seed}", data.columns, data.rows)
        asked = [RecursiveDiversity(Fraction(2), 3), Closeness(Fraction(1))]
        counting = data.numbers in data.nulls_as_value
        found = about(duckdb_engine, relation, data.quasi, [data.numbers], asked, nulls_as_value=counting)
        assert found.classes == len(data.classes)
        assert found.k_null_matches_all == oracles.null_matches_all_k(data.mappings, data.quasi)
        assert found.outcomes[1].achieved == max(data.distances(data.numbers, "ordered").values())


def test_too_many_combinations_of_nulls_are_not_measured(duckdb_engine, make_table, monkeypatch):
    relation = make_table(duckdb_engine, "t", {"a": "TEXT", "b": "TEXT"}, [("x", None), (None, "y"), ("x", "y")])
    assert about(duckdb_engine, relation, ["a", "b"], [], [KAnonymity(1)]).k_null_matches_all == 3
    monkeypatch.setattr(nulls, "MOST_PATTERNS", 2)
    found = about(duckdb_engine, relation, ["a", "b"], [], [KAnonymity(1)])
    assert found.k_null_matches_all is None
    assert found.k == 1
    monkeypatch.setattr(nulls, "MOST_PATTERNS", 3)
    monkeypatch.setattr(nulls, "MOST_MEETINGS", 8)
    assert about(duckdb_engine, relation, ["a", "b"], [], [KAnonymity(1)]).k_null_matches_all is None


def test_three_hundred_quasi_identifiers(duckdb_engine, make_table):
    columns = {f"q{number}": "INTEGER" for number in range(300)} | {"s": "TEXT"}
    rows = [(*((row + number) % 2 for number in range(300)), "ab"[row % 2]) for row in range(8)]
    relation = make_table(duckdb_engine, "t", columns, rows)
    quasi = list(columns)[:-1]
    assert about(duckdb_engine, relation, quasi, [], [KAnonymity(4)]).holds


# -- what it leaves behind, and what it says ------------------------------------------------------------


def working_tables(statements: list[str]) -> set[Name]:
    return {Name(found) for sql in statements for found in re.findall(r"TABLE .?(ppdm_[a-z_]+_[0-9]+)", sql)}


def test_working_tables_are_gone_afterwards(engine, make_table):
    relation = make_table(engine, "t", {"a": "TEXT", "s": "INTEGER", "w": "INTEGER"}, [("x", 1, 1), (None, 2, 1)])
    asked = [*EVERY, Closeness(Fraction(1))]
    heard: list[str] = []
    engine.on_statement = heard.append
    about(engine, relation, ["a"], ["s"], asked)
    about(engine, relation, ["a"], [], [KAnonymity(1)], entity="w")
    engine.on_statement = None
    made = working_tables(heard)
    assert {name.last.rstrip("0123456789") for name in made} >= {"ppdm_cells_", "ppdm_classes_", "ppdm_lookup_"}
    assert [name for name in made if engine.relation_kind(name)] == []


def test_working_tables_are_gone_after_an_error(duckdb_engine, make_table, monkeypatch):
    relation = make_table(duckdb_engine, "t", {"a": "TEXT", "s": "INTEGER"}, [("x", 1)])

    def fail(*_):
        raise EngineError("no")

    monkeypatch.setattr("ppdm_sql.checks.measurement.profile", fail)
    heard = []
    duckdb_engine.on_statement = heard.append
    listener = duckdb_engine.on_statement
    with pytest.raises(EngineError, match="no"):
        about(duckdb_engine, relation, ["a"], ["s"], EVERY)
    assert duckdb_engine.on_statement is listener
    assert working_tables(heard)
    assert [name for name in working_tables(heard) if duckdb_engine.relation_kind(name)] == []


def test_statements_hold_no_value_and_have_one_fingerprint(duckdb_engine, make_table):
    rows = [("canary-a", 987654321, "canary-s"), ("canary-b", -987654321, "canary-t")]
    relation = make_table(duckdb_engine, "t", {"a": "TEXT", "i": "BIGINT", "s": "TEXT"}, rows)
    heard = []
    duckdb_engine.on_statement = heard.append
    one = about(duckdb_engine, relation, ["a", "i"], ["s"], EVERY)
    assert not any("canary" in sql or "987654321" in sql for sql in heard)
    assert one.statements == about(duckdb_engine, relation, ["a", "i"], ["s"], EVERY).statements
    assert one.statements != about(duckdb_engine, relation, ["a"], ["s"], EVERY).statements


def test_the_result_is_plain_json(engine, make_table):
    relation = make_table(engine, "t", {"a": "TEXT", "s": "INTEGER"}, [("x", 1), ("x", 2), ("y", 2)])
    asked = [*EVERY, RecursiveDiversity(Fraction(2), 2), Closeness(Fraction(1, 5))]
    content = json.loads(json.dumps(about(engine, relation, ["a"], ["s"], asked).as_json(), allow_nan=False))
    assert content["rows"] == 3
    assert content["k"] == 1
    assert content["holds"] is False
    last = content["requirements"][-1]
    assert last == {
        "requirement": "t = 0.2 ordered",
        "column": "s",
        "holds": False,
        "achieved": pytest.approx(1 / 3),
        "achieved_exact": "1/3",
        "achieved_text": "t = 0.3334",
        "breaching_classes": 1,
        "breaching_rows": 1,
    }
    assert content["requirements"][-2]["achieved"] is None
    assert content["requirements"][-2]["achieved_text"] == "fewer than 2 values"


@pytest.mark.parametrize(
    ("sensitive", "asked", "told"),
    [
        ([], SimpleDiversity(Fraction(2)), "simple_l = 2 needs a SENSITIVE column"),
        (["s"], Closeness(Fraction(1, 5), "ordered"), 'column "s" (text) has no order'),
        (["s"], Closeness(Fraction(1, 5), "hierarchical"), 'column "s" has no HIERARCHY'),
        (["s"], Closeness(Fraction(1, 5), "euclid"), "the distances are equal, ordered, hierarchical"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_any_work(duckdb_engine, make_table, sensitive, asked, told):
    relation = make_table(duckdb_engine, "t", {"a": "TEXT", "s": "TEXT"}, [("x", "y")])
    duckdb_engine.on_statement = pytest.fail
    info = {"s": Sensitive(next(c for c in DuckDBEngine.columns(silent(duckdb_engine), relation) if c.name == "s"))}
    duckdb_engine.on_statement = pytest.fail
    with pytest.raises(PolicyError) as caught:
        measure(duckdb_engine, relation, quasi=[], sensitive=[info[n] for n in sensitive], requirements=[asked])
    assert told in str(caught.value)


def silent(engine):
    engine.on_statement = None
    return engine


# -- one engine, several ways ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings", [["PRAGMA disable_optimizer"], ["SET threads = 1"], ["SET perfect_ht_threshold = 22"]]
)
def test_optimizer_and_threads_change_nothing(make_table, settings):
    """Attack B6."""
    plain, changed = DuckDBEngine(duckdb.connect()), DuckDBEngine(duckdb.connect())
    for setting in settings:
        changed._connection.execute(setting)
    for seed in range(3000, 3004):
        data = random_data(seed)
        found = []
        for engine in (plain, changed):
            relation = make_table(engine, f"t{seed}", data.columns, data.rows)
            asked = [*EVERY, EntropyDiversity(Fraction(2)), Closeness(Fraction(1, 5))]
            found.append(about(engine, relation, data.quasi, [data.numbers], asked))
        assert found[0].as_json() == found[1].as_json()
