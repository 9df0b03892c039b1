"""The figures of columns and of sets of columns are those of a count by hand, on every engine."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import pytest

from ppdm_sql.profile import column_sets
from ppdm_sql.profile.column_sets import ColumnSet
from ppdm_sql.profile.patterns import FREE_TEXT, ID, VALUE_PATTERNS, ValueCounts, look_of
from ppdm_sql.profile.roles import Role
from ppdm_sql.profile.table_profile import profile_table
from ppdm_sql.statements.names import Name
from ppdm_sql.watching import silent
from tests.profile.profile_tables import HOSTILE, TYPES, people, random_rows
from tests.sizes import seeds


def profiled(engine, relation, **options):
    with engine.workspace():
        return profile_table(engine, relation, "t", progress=silent, **options)


def figures(values):
    """rows, NULLs, distinct, unique rows, distinction, separation, by the definitions."""
    rows, counts = len(values), Counter(values)
    pairs = [one != other for one, other in itertools.permutations(values, 2)]
    return (
        rows, values.count(None), len(counts.keys() - {None}), sum(n == 1 for n in counts.values()),
        Fraction(len(counts), rows), Fraction(sum(pairs), len(pairs)),
    )  # fmt: skip


@seeds(small=2, full=20)
def test_the_figures_are_those_of_the_definitions(engine, make_table, seeds):
    for seed in seeds:
        rows = random_rows(seed)
        name = make_table(engine, f"random_{seed}", dict(zip(HOSTILE, TYPES, strict=True)), rows)
        found = profiled(engine, name)
        for place, one in enumerate(found.columns):
            values = [row[place] for row in rows]
            told = (one.rows, one.nulls, one.distinct, one.unique_rows, one.distinction, one.separation)
            assert told == figures(values), (seed, one.name)
        for sets in found.sets.values():
            for one in sets:
                places = [HOSTILE.index(name) for name in one.columns]
                counts = Counter(tuple(row[place] for place in places) for row in rows)
                assert one.unique_rows == sum(n == 1 for n in counts.values()), (seed, one)
        assert {(one.by, other) for one in found.determined for other in one.columns} == set(determined(found, rows))


def determined(found, rows):
    """Every pair of columns of which the first decides the second, by the definition."""
    worth = [one for one in found.columns if one.classes > 1 and 2 * one.classes <= one.rows]
    for one, other in itertools.permutations(worth, 2):
        by, then = HOSTILE.index(one.name), HOSTILE.index(other.name)
        if other.classes <= one.classes and len({(row[by], row[then]) for row in rows}) == one.classes:
            yield one.name, other.name


def test_a_sample_finds_the_sets_and_all_rows_count_them(duckdb_engine, make_table):
    rows = [(number % 90, number % 11, number % 7, number // 500) for number in range(3000)]
    name = make_table(duckdb_engine, "large", dict.fromkeys("abcd", "INTEGER"), rows)
    whole, sampled = profiled(duckdb_engine, name), profiled(duckdb_engine, name, sample=1000)
    assert (whole.sampled, sampled.sampled) == (None, 1000)
    every = {one.columns: one for sets in whole.sets.values() for one in sets}
    for sets in sampled.sets.values():
        for one in sets:
            counts = Counter(tuple(row["abcd".index(name)] for name in one.columns) for row in rows)
            assert one == ColumnSet(one.columns, sum(n == 1 for n in counts.values()), 3000)
            assert every.get(one.columns, one) == one
    assert sampled.determined == whole.determined == ()


def test_what_only_a_sample_determines_is_not_said(duckdb_engine, make_table, monkeypatch):
    """One row of 3,000 breaks what holds everywhere else; a sample of 200 nearly never has it."""
    rows = [(number % 40, number % 20) for number in range(3000)]
    rows[1234] = (0, 7)
    name = make_table(duckdb_engine, "nearly", {"a": "INTEGER", "b": "INTEGER"}, rows)
    monkeypatch.setattr(column_sets, "SAMPLE", 200)
    assert profiled(duckdb_engine, name, sample=200).determined == ()
    clean = make_table(duckdb_engine, "clean", {"a": "INTEGER", "b": "INTEGER"}, [row for row in rows if row != (0, 7)])
    assert [(one.by, one.columns) for one in profiled(duckdb_engine, clean, sample=200).determined] == [("a", ("b",))]


def test_people_are_recognized_on_every_engine(engine, make_table):
    columns, rows = people()
    found = profiled(engine, make_table(engine, "people", columns, rows))
    looks = {one.name: one.look.meaning for one in found.columns if one.look is not None}
    assert looks == {
        "patient_id": "id", "full_name": "name", "contact": "e-mail", "reachable": "phone", "born": "birth date",
        "postcode": "postcode", "note": "free text", "lives": "address",
    }  # fmt: skip
    roles = {one.name: one.role for one in found.roles}
    direct = ("patient_id", "full_name", "contact", "reachable", "note", "lives")
    assert {name for name, role in roles.items() if role is Role.IDENTIFIER} == set(direct)
    assert (roles["site"], roles["diagnosis"]) == (Role.INSENSITIVE, Role.SENSITIVE)
    assert found.quasi == ("born", "postcode", "sex", "smoker")


def test_nothing_of_the_data_is_in_a_profile(duckdb_engine, make_table):
    columns, rows = people()
    told = str(profiled(duckdb_engine, make_table(duckdb_engine, "people", columns, rows), quasi=["sex"]).as_json())
    texts = {str(value) for row in rows for value in row if isinstance(value, str) and len(value) > 3} - {"north"}
    assert [text for text in texts if text in told] == []


def test_an_empty_table_and_one_of_nulls(engine, make_table):
    empty = profiled(engine, make_table(engine, "empty", {"a": "INTEGER", "b": "TEXT"}, []))
    assert (empty.rows, empty.classes, empty.risk.unique_rows) == (0, 0, 0)
    nulls = profiled(engine, make_table(engine, "nulls", {"a": "INTEGER", "b": "TEXT"}, [(None, None)] * 5))
    assert [(one.distinct, one.nulls, one.separation) for one in nulls.columns] == [(0, 5, 0), (0, 5, 0)]


@pytest.mark.parametrize(
    ("name", "known", "distinct", "matches", "meaning"),
    [
        ("ward_id", 1000, 12, {}, None),  # twelve wards
        ("customer_id", 1000, 400, {}, ID),
        ("telephone", 1000, 2, {}, None),  # yes or no
        ("remark", 1000, 800, {"words": 600}, FREE_TEXT),
        ("remark", 1000, 3, {"words": 1000}, None),  # three long labels
        ("product_name", 1000, 700, {}, None),
        ("last_name", 1000, 700, {}, "name"),
        ("plz", 1000, 90, {}, "postcode"),
        ("code", 1000, 700, {"e-mail": 790}, None),
        ("code", 1000, 700, {"e-mail": 800}, "e-mail"),
    ],
)
def test_looks_need_enough_values(name, known, distinct, matches, meaning):
    counts = ValueCounts(known, distinct, matches)
    found = look_of(name, counts, is_text=True, is_moment=False, is_whole=False)
    assert (None if found is None else found.meaning) == meaning


FORMS = {
    "e-mail": ["a@b.org", "first.last@mail.example"],
    "phone": ["+49 30 1234567", "(555) 123-4567", "0171 2345678", "555-123-4567"],
    "id": ["123-45-6789", "DE89 3704 0044 0532 0130 00", "00000000-0000-0000-0000-00000000000a"],
    "online trace": ["https://example.org/x", "192.168.0.1"],
    "postcode": ["84114", "8001", "12345-6789", "SW1A 1AA", "K1A 0B6", "1012 AB"],
    "date": ["2024-02-29", "29.2.2024", "2/29/2024"],
    "name": ["Anna Berg", "Berg, Anna", "Åsa"[1:] + " Öst"],
}
OTHERS = ["flu", "Heart failure", "12", "3.5", "x@y", "202", "A-1", ""]


@pytest.mark.parametrize("meaning", FORMS)
def test_forms_match_alike_on_every_engine(engine, make_table, meaning):
    from sqlglot import exp

    from ppdm_sql.statements.names import column

    values = [value for value in FORMS[meaning] if not value.startswith("sa ")]
    name = make_table(
        engine, Name(f"forms_{len(meaning)}_{meaning[0]}"), {"v": "TEXT"}, [(v,) for v in [*values, *OTHERS]]
    )
    test = exp.RegexpLike(this=column("v"), expression=exp.Literal.string(VALUE_PATTERNS[meaning]))
    found = engine.fetch(exp.Select(expressions=[column("v")]).from_(name.table()).where(test))
    assert {value for (value,) in found} == set(values)
