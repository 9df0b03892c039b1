"""The analysts' queries on raw and released rows: what they are refused for, and the errors by hand and at random."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from fractions import Fraction

import pytest
from evaluate_tables import QUICK

from ppdm_sql.errors import PolicyError
from ppdm_sql.evaluate.workload import (
    Query,
    answered_share,
    errors_of,
    mean_error,
    queries_of,
    read_workload,
    true_answers,
    workload_error,
)
from ppdm_sql.policy.policy import Place
from ppdm_sql.statements.names import Name

RAW, OPEN = Name("raw rows"), Name("data")  # the release may be called what the queries call it


def stored(engine, make_table, raw, shown):
    make_table(engine, "raw rows", {"age": "INTEGER", "town": "TEXT", "paid": "DECIMAL(8, 2)"}, raw)
    make_table(engine, "data", {"age": "TEXT", "town": "TEXT", "paid": "DECIMAL(8, 2)"}, shown)


def asked(engine, *queries):
    return workload_error(engine, queries, RAW, OPEN)


RAW_ROWS = [(10, "a", 4), (20, "a", 6), (30, "b", 10), (40, None, 0)]
OPEN_ROWS = [("< 30", "a", 4), ("< 30", "c", 6), (">= 30", "b", 20)]


@QUICK
def test_errors_are_those_told_by_hand(engine, make_table):
    stored(engine, make_table, RAW_ROWS, OPEN_ROWS)
    found = asked(
        engine,
        "SELECT COUNT(*), SUM(paid) FROM data",  # 4 -> 3, 20 -> 30
        "SELECT town, COUNT(*) AS n FROM data GROUP BY town",  # a 2 -> 1, b 1 -> 1, NULL is gone
        "SELECT AVG(age) FROM data AS d",  # age became text
        "SELECT town FROM data WHERE town IS NOT NULL",  # a, a, b against a, b, c
        "SELECT COUNT(*) FROM data WHERE town = 'nowhere'",  # 0 and 0
        "SELECT SUM(paid) FROM data WHERE town = 'c'",  # NULL against 6
        "SELECT d.town, MAX(d.paid) FROM (SELECT * FROM data) AS d WHERE d.town IN (SELECT town FROM data) GROUP BY 1",
        "SELECT COUNT(*) FROM data WHERE age IS NOT NULL HAVING COUNT(*) > 3",  # the release has no line
    )
    assert [one.error for one in found] == [
        Fraction(3, 8), Fraction(1, 2), 1, Fraction(1, 3), 0, 1, Fraction(2, 3), 1,
    ]  # fmt: skip
    assert [one.shape for one in found] == [
        "figures",
        "groups",
        "figures",
        "rows",
        "figures",
        "figures",
        "groups",
        "figures",
    ]
    assert [one.answered for one in found] == [True, True, False, True, True, True, True, True]
    assert (found[1].recall, found[1].precision) == (Fraction(2, 3), Fraction(2, 3))
    assert (found[3].recall, found[3].precision) == (Fraction(2, 3), Fraction(2, 3))
    assert [one.number for one in found] == list(range(1, 9))


@QUICK
@pytest.mark.parametrize("seed", range(3))
def test_groups_and_figures_of_random_rows(engine, make_table, seed):
    dice = random.Random(seed)
    raw, shown = (
        [(dice.randrange(9), dice.choice(["a", "b", "é", None]), dice.randrange(50)) for _ in range(60)]
        for _ in range(2)
    )
    stored(engine, make_table, raw, [(str(age), town, paid) for age, town, paid in shown])
    one, two, three = asked(
        engine, "SELECT SUM(paid), COUNT(DISTINCT town) FROM data",
        "SELECT town, age, COUNT(*), SUM(paid) FROM data GROUP BY town, age", "SELECT age, town FROM data",
    )  # fmt: skip

    def relative(truth, told):
        return Fraction(0) if truth == told else Fraction(abs(told - truth), abs(truth)) if truth else Fraction(1)

    figures = ([sum(row[2] for row in rows), len({row[1] for row in rows if row[1]})] for rows in (raw, shown))
    assert one.error == sum(relative(*pair) for pair in zip(*figures, strict=True)) / 2
    groups = []
    for rows in (raw, shown):
        held = defaultdict(lambda: [0, 0])
        for age, town, paid in rows:
            held[town, age][0] += 1
            held[town, age][1] += paid
        groups.append(held)
    before, after = groups
    errors = [
        relative(figure, after[key][place]) if key in after else 1
        for key, row in list(before.items())
        for place, figure in enumerate(row)
    ]
    assert two.error == Fraction(sum(errors), len(errors))
    assert two.recall == Fraction(len(before.keys() & after.keys()), len(before))
    there = (Counter(row[:2] for row in raw) & Counter(row[:2] for row in shown)).total()
    assert (three.recall, three.error) == (Fraction(there, 60), 1 - Fraction(there, 60))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('SELECT * FROM "raw rows"', "query 1: it reads something other than data"),
        ("SELECT * FROM main.data", "something other than data"),
        ("SELECT * FROM 'secret.csv'", "something other than data"),
        ("SELECT * FROM read_csv('secret.csv')", "something other than data"),
        ('SELECT * FROM "Data"', "something other than data"),
        ("SELECT (SELECT MAX(paid) FROM other) FROM data", "something other than data"),
        ("WITH t AS (SELECT * FROM other) SELECT * FROM t, data", "something other than data"),
        ("SELECT 1 FROM data, LATERAL (SELECT * FROM other) AS o", "something other than data"),
        ("SELECT * FROM data WHERE EXISTS (FROM other)", "something other than data"),
        ("SELECT 1 FROM data UNION ALL SELECT 2 FROM other", "something other than data"),
        ("DELETE FROM data", "only queries"),
        ("COPY data TO 'x'", "only queries"),
        ("CREATE TABLE x AS SELECT 1", "only queries"),
        ("SELECT * FROM data WHERE (", "1:26: query 1: \\( is never closed"),
        ("SELECT COUNT(* FROM data;\nSELECT", "1:13: query 1"),
        ("SELECT nothing FROM data", "query 1: it fails on the raw data"),
    ],
)
def test_anything_but_a_query_of_data_is_refused(duckdb_engine, make_table, text, why):
    stored(duckdb_engine, make_table, RAW_ROWS, OPEN_ROWS)
    make_table(duckdb_engine, "other", {"paid": "INTEGER"}, [(1,)])
    with pytest.raises(PolicyError, match=why):
        asked(duckdb_engine, text)
    assert duckdb_engine.relation_kind(Name("x")) is None


def test_a_query_of_whatever_columns_there_are_has_no_answer_where_one_is_missing(duckdb_engine, make_table):
    make_table(duckdb_engine, "raw rows", {"age": "INTEGER", "paid": "INTEGER"}, [(1, 2)])
    make_table(duckdb_engine, "data", {"age": "INTEGER"}, [(1,)])
    figures, rows = asked(duckdb_engine, "SELECT MAX(COLUMNS(*)) FROM data", "SELECT * FROM data")
    assert (figures.answered, figures.error, figures.recall) == (False, 1, None)
    assert (rows.answered, rows.error, rows.recall) == (False, 1, 0)


def test_the_raw_rows_are_asked_once_for_many_releases(duckdb_engine, make_table):
    stored(duckdb_engine, make_table, RAW_ROWS, OPEN_ROWS)
    queries = queries_of("SELECT COUNT(*) FROM data; SELECT AVG(age) FROM data")
    answers = true_answers(duckdb_engine, queries, RAW)
    found = errors_of(duckdb_engine, answers, OPEN)
    assert found == workload_error(duckdb_engine, queries, RAW, OPEN)
    assert (mean_error(found), answered_share(found)) == (Fraction(5, 8), Fraction(1, 2))
    same = errors_of(duckdb_engine, answers, RAW)
    assert (mean_error(same), answered_share(same)) == (0, 1)


def test_a_name_that_the_query_defines_is_not_the_rows(duckdb_engine, make_table):
    stored(duckdb_engine, make_table, RAW_ROWS, OPEN_ROWS)
    (found,) = asked(duckdb_engine, "WITH data AS (SELECT 1 AS x) SELECT COUNT(*) FROM data")
    assert found.error == 0
    (found,) = asked(duckdb_engine, "WITH few AS (SELECT * FROM DATA WHERE paid > 5) SELECT COUNT(*) FROM few")
    assert (found.shape, found.error) == ("figures", 0)


def test_a_file_is_read_with_places(tmp_path, duckdb_engine, make_table):
    stored(duckdb_engine, make_table, RAW_ROWS, OPEN_ROWS)
    file = tmp_path / "asked.sql"
    file.write_text(
        "-- how many\nSELECT COUNT(*) FROM data;\n\n  SELECT ';' AS x, COUNT(*) FROM data GROUP BY 1;\n", "utf-8"
    )
    queries = read_workload(file)
    assert [(one.number, one.place.line, one.place.column) for one in queries] == [(1, 2, 1), (2, 4, 3)]
    assert [one.place.file for one in workload_error(duckdb_engine, queries, RAW, OPEN)] == [str(file)] * 2
    file.write_text("SELECT 1 FROM data;\nSELECT 2 FROM elsewhere;", "utf-8")
    with pytest.raises(PolicyError, match=r"asked\.sql:2:1: query 2: it reads something"):
        workload_error(duckdb_engine, read_workload(file), RAW, OPEN)
    file.write_text("-- nothing\n", "utf-8")
    with pytest.raises(PolicyError, match="no query"):
        read_workload(file)
    with pytest.raises(PolicyError, match="cannot be read"):
        read_workload(tmp_path / "absent.sql")
    file.write_bytes(b"SELECT '\xff'")
    with pytest.raises(PolicyError, match="UTF-8"):
        read_workload(file)


def test_messages_tell_no_values_and_too_long_answers_are_refused(duckdb_engine, make_table, monkeypatch):
    stored(duckdb_engine, make_table, RAW_ROWS, OPEN_ROWS)
    with pytest.raises(PolicyError) as caught:
        asked(duckdb_engine, "SELECT CAST(town || 'secret' AS INTEGER) FROM data")
    assert "secret" not in str(caught.value)
    monkeypatch.setattr("ppdm_sql.evaluate.workload.MOST_LINES", 3)
    with pytest.raises(PolicyError, match="more than 3 rows"):
        asked(duckdb_engine, "SELECT age FROM data")
    (found,) = asked(duckdb_engine, "SELECT age FROM data WHERE TRY_CAST(age AS INTEGER) IS NULL OR age < '3'")
    assert found.answered
    monkeypatch.setattr("ppdm_sql.evaluate.workload.MOST_LINES", 2)
    (found,) = asked(duckdb_engine, "SELECT town FROM data WHERE town IS NOT NULL AND paid > 4")
    assert found.answered
    (found,) = asked(duckdb_engine, "SELECT town FROM data WHERE paid > 6 OR TRY_CAST(age AS INTEGER) IS NULL")
    assert (found.answered, found.error) == (False, 1)  # three lines of the release against one
    assert queries_of("SELECT 1 FROM data") == [Query(1, "SELECT 1 FROM data", Place(1, 1, None))]
