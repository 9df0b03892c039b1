"""content_hash: blind to the order of rows, and to nothing else; the same figure on every engine."""

from __future__ import annotations

import hashlib
import json
import random
from datetime import date
from decimal import Decimal

import pytest

from ppdm_sql.errors import PolicyError
from ppdm_sql.verify import content
from ppdm_sql.verify.content import content_hash, same_content

COLUMNS = {
    "word": "TEXT",
    'o"brien': "INTEGER",
    "sum": "DECIMAL(10, 2)",
    "yes": "BOOLEAN",
    "day": "DATE",
    "big": "BIGINT",
}
ROWS = [
    ("Ann", 1, Decimal("1.50"), True, date(2024, 2, 29), 2**62),
    ("Ann", 1, Decimal("1.50"), True, date(2024, 2, 29), 2**62),
    ("e\u0301 '\\\" \U0001f642", -7, Decimal("-0.05"), False, date(1899, 12, 31), -1),
    ("", None, Decimal("0.00"), None, None, 0),
    (None, 0, None, True, date(1970, 1, 1), None),
    ("NULL", 0, Decimal("12345678.90"), True, date(1970, 1, 1), 10),
]
# What these rows are, once and for all: a change here breaks every figure that was recorded before.
FIGURE = "72d01afcbee05c83cb409b50383c47de95bdcf41262c65a3084e0b33da90c9d5"


def printed(value):
    if value is None or isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)


def naive_hash(columns, rows):
    """The definition: md5 of every row's text, two sums of 15 hexadecimal digits each, sha256 of it all."""
    sums = [0, 0]
    for row in rows:
        texts = ["-" if value is None else f"{len(printed(value))}:{printed(value)}" for value in row]
        digits = hashlib.md5(("ppdm-content/1|" + "".join(texts)).encode()).hexdigest()
        sums = [sums[0] + int(digits[:15], 16), sums[1] + int(digits[15:30], 16)]
    return hashlib.sha256(json.dumps(["ppdm-content/1", list(columns), len(rows), *sums]).encode()).hexdigest()


def test_every_engine_gives_the_figure_of_the_definition(engine, make_table):
    relation = make_table(engine, "t", COLUMNS, ROWS)
    assert content_hash(engine, relation, list(COLUMNS)) == naive_hash(COLUMNS, ROWS) == FIGURE


def test_rows_that_hardly_repeat_are_hashed_one_by_one(engine, make_table, monkeypatch):
    monkeypatch.setattr(content, "_MANY", 1)
    monkeypatch.setattr(content, "_LOOKED_AT", 1)
    relation, sent = make_table(engine, "t", COLUMNS, ROWS), []
    engine.on_statement = sent.append
    assert content_hash(engine, relation, list(COLUMNS), rows=len(ROWS)) == FIGURE
    engine.on_statement = None
    assert "GROUP BY" not in sent[-1]


def test_two_relations_are_the_same_only_where_every_row_is(engine, make_table):
    relation, names = make_table(engine, "t", COLUMNS, ROWS), list(COLUMNS)
    changed = ("", 0, Decimal("0.00"), None, None, 0)
    others = {
        "shuffled": ([ROWS[place] for place in (3, 0, 5, 1, 4, 2)], True),
        "short": (ROWS[1:], False),
        "twice": ([ROWS[0], *ROWS[2:], ROWS[2]], False),  # as many rows, another one twice
        "null": ([*ROWS[:3], changed, *ROWS[4:]], False),
    }
    for name, (rows, same) in others.items():
        assert same_content(engine, relation, make_table(engine, name, COLUMNS, rows), names) is same
    made = make_table(engine, "swapped", {"a": "TEXT", "b": "TEXT"}, [("x", "y"), ("u", None)])
    turned = make_table(engine, "turned", {"a": "TEXT", "b": "TEXT"}, [("y", "x"), (None, "u")])
    assert not same_content(engine, made, turned, ["a", "b"])


def test_the_order_of_the_rows_does_not_matter(engine, make_table):
    for seed in range(3):
        shuffled = random.Random(seed).sample(ROWS, len(ROWS))
        relation = make_table(engine, f"t{seed}", COLUMNS, shuffled)
        assert content_hash(engine, relation, list(COLUMNS)) == FIGURE


@pytest.mark.duckdb
def test_any_other_cell_gives_another_figure(duckdb_engine, make_table):
    others = ("other", 99, Decimal("7.77"), None, date(2000, 1, 1), 77)
    figures = {FIGURE}
    for place in range(2, len(ROWS)):  # the first two are equal rows
        for column in range(len(COLUMNS)):
            value = others[column] if ROWS[place][column] is not None or column != 3 else False
            row = (*ROWS[place][:column], value, *ROWS[place][column + 1 :])
            relation = make_table(
                duckdb_engine, f"t{place}_{column}", COLUMNS, [*ROWS[:place], row, *ROWS[place + 1 :]]
            )
            figure = content_hash(duckdb_engine, relation, list(COLUMNS))
            if row != ROWS[place]:
                assert figure not in figures
                figures.add(figure)
    assert len(figures) > 20


@pytest.mark.duckdb
@pytest.mark.parametrize("rows", [ROWS[1:], [ROWS[0], *ROWS], ROWS[:-1], []], ids=["one twin", "three", "cut", "none"])
def test_equal_rows_count_as_often_as_they_occur(duckdb_engine, make_table, rows):
    relation = make_table(duckdb_engine, "t", COLUMNS, rows)
    assert content_hash(duckdb_engine, relation, list(COLUMNS)) == naive_hash(COLUMNS, rows) != FIGURE


@pytest.mark.duckdb
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a", "bc"), ("ab", "c")),
        (("1:a", ""), ("", "1:a")),
        ((None, "x"), ("-", "x")),
        ((None, "x"), ("NULL", "x")),
        ((None, "x"), ("", "x")),
        ((None, "1:x"), ("-1:x", None)),
        (("\u00e9", "x"), ("e\u0301", "x")),
        (("Ann", "x"), ("ANN", "x")),
        (("a ", "x"), ("a", "x")),
    ],
)
def test_rows_that_read_alike_without_their_borders_differ(duckdb_engine, make_table, one, other):
    columns = {"a": "TEXT", "b": "TEXT"}
    first = make_table(duckdb_engine, "one", columns, [one])
    second = make_table(duckdb_engine, "other", columns, [other])
    assert content_hash(duckdb_engine, first, ["a", "b"]) != content_hash(duckdb_engine, second, ["a", "b"])


@pytest.mark.duckdb
def test_names_and_order_of_the_columns_belong_to_the_content(duckdb_engine, make_table):
    first = make_table(duckdb_engine, "one", {"a": "TEXT", "b": "TEXT"}, [("x", "x")])
    second = make_table(duckdb_engine, "two", {"a": "TEXT", "c": "TEXT"}, [("x", "x")])
    figures = {
        content_hash(duckdb_engine, first, ["a", "b"]),
        content_hash(duckdb_engine, first, ["b", "a"]),
        content_hash(duckdb_engine, first, ["a"]),
        content_hash(duckdb_engine, second, ["a", "c"]),
    }
    assert len(figures) == 4
    with pytest.raises(PolicyError, match="has no column"):
        content_hash(duckdb_engine, first, [])
