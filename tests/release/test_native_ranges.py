"""AS NATIVE RANGE: the range of a row as one value of the engine's own type, where it has such types."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import duckdb
import pytest

from ppdm_sql.errors import PolicyError
from ppdm_sql.release.reverify import reverify_file

COLUMNS = {"id": "INTEGER", "small": "SMALLINT", "whole": "BIGINT", "price": "DECIMAL(8, 2)", "day": "DATE",
           "moment": "TIMESTAMP", "zoned": "TIMESTAMPTZ", "ratio": "DOUBLE"}  # fmt: skip
RANGES = {"small": "int4range", "whole": "int8range", "price": "numrange", "day": "daterange", "moment": "tsrange",
          "zoned": "tstzrange"}  # fmt: skip
POLICY = """CREATE OR REPLACE TABLE open AS SELECT id, {names} FROM things WITH ANONYMIZATION (
    ALGORITHM mondrian {options} REQUIRE k = {k} INSENSITIVE (id) QUASI IDENTIFIER ({columns}) SUPERSEDES ALL
    ACCEPT RISK (undeclared))"""
START = datetime(2020, 1, 1)


def policy(names, k: int = 3, form: str = "NATIVE RANGE", options: str = "") -> str:
    columns = ", ".join(f"{name} AS {form}" for name in names)
    return POLICY.format(names=", ".join(names), columns=columns, k=k, options=options)


@pytest.fixture
def tables(make_table):
    def filled(engine) -> None:
        rows = []
        for number in range(60):
            moment = START + timedelta(hours=31 * number)
            row = (
                number % 25,
                10**12 + number * 7,
                Decimal(number * 37) / 100,
                moment.date(),
                moment,
                moment.replace(tzinfo=UTC),
                0.5,
            )
            rows.append((number, *(None if number % 12 == place else value for place, value in enumerate(row))))
        make_table(engine, "things", COLUMNS, rows)

    return filled


@pytest.fixture
def lab(postgres_engine, tables, open_session):
    tables(postgres_engine)
    return open_session(postgres_engine)


def asked(lab, text: str) -> list[tuple]:
    """As a user would: the session itself looks for nothing in schema public."""
    connection = lab.engine._connection
    with connection.transaction():
        connection.execute("SET LOCAL search_path TO public")
        return connection.execute(text).fetchall()


@pytest.mark.postgres
@pytest.mark.parametrize("name", RANGES)
def test_every_range_holds_the_true_value_and_says_what_from_and_to_say(lab, name):
    lab.publish(policy([name]))
    assert asked(lab, f"SELECT DISTINCT pg_typeof({name})::TEXT FROM open") == [(RANGES[name],)]
    published = (
        f"SELECT r.{name}, r.{name} @> t.{name}::TEXT::{COLUMNS[name].replace('SMALLINT', 'INT')}, t.{name} IS NULL"
    )
    rows = asked(lab, f"{published} FROM open r JOIN things t USING (id)")
    assert len(rows) == 60
    for value, holds, missing in rows:
        assert (value is None) == missing
        assert missing or holds
    ends = asked(lab, f"SELECT id, lower({name}), upper({name}) FROM open ORDER BY id")
    lab.publish(policy([name], form="RANGE"))
    assert asked(lab, f"SELECT id, {name}_from, {name}_to FROM open ORDER BY id") == ends


@pytest.mark.postgres
def test_suppressed_missing_and_exact_can_be_told_apart_and_every_file_holds(lab):
    asked(lab, "UPDATE things SET price = 5.00 WHERE id >= 30 RETURNING id")
    asked(lab, "UPDATE things SET small = NULL WHERE id < 30 RETURNING id")
    lab.publish(policy(["small", "price"], k=6, options="(max_parts = 3)"))
    kinds = dict(
        asked(
            lab,
            """SELECT CASE WHEN price IS NULL THEN 'missing' WHEN lower_inf(price) AND upper_inf(price) THEN 'suppressed'
            WHEN lower(price) = upper(price) THEN 'exact' ELSE 'range' END, COUNT(*) FROM open GROUP BY 1""",
        )
    )
    assert set(kinds) <= {"missing", "suppressed", "exact", "range"}
    assert len(kinds) >= 2
    assert sum(kinds.values()) == 60
    assert lab.verify("open").holds
    for ending in ("duckdb", "parquet", "csv"):
        done = lab.export("open", f"out.{ending}")
        assert reverify_file(done.path).holds
    shown = asked(lab, "SELECT DISTINCT price::TEXT FROM open")
    with duckdb.connect() as connection:
        held = connection.execute(
            "SELECT DISTINCT price FROM read_parquet($1)", [done.path[:-3] + "parquet"]
        ).fetchall()
    assert sorted(map(str, held)) == sorted(map(str, shown))


@pytest.mark.postgres
def test_the_loss_is_that_of_the_labels(lab):
    names = ["small", "price", "moment"]
    native = lab.publish(policy(names))
    labels = lab.publish(policy(names).replace(" AS NATIVE RANGE", ""))
    assert native.record.manifest.utility.loss == labels.record.manifest.utility.loss
    assert (
        native.record.manifest.utility.columns[1].suppressed_rows
        == labels.record.manifest.utility.columns[1].suppressed_rows
    )


@pytest.mark.postgres
def test_a_column_without_a_range_type_is_refused_with_its_place(lab):
    with pytest.raises(PolicyError, match=r'2:\d+: column "ratio": AS NATIVE RANGE is not available on PostgreSQL'):
        lab.publish(policy(["ratio"]))


def test_an_engine_without_range_types_refuses(duck):
    with pytest.raises(PolicyError, match=r'2:\d+: column "day": AS NATIVE RANGE is not available on DuckDB'):
        duck.publish(policy(["day"]))
    assert duck.releases() == []


@pytest.mark.postgres
def test_trees_are_found_again_in_ranges_and_in_their_files(lab):
    text = """CREATE TABLE open AS SELECT id, small, price, id >= 25 AS late FROM things
        WHERE small IS NOT NULL AND price IS NOT NULL
        WITH ANONYMIZATION (ALGORITHM tpp REQUIRE k = 3 QUASI IDENTIFIER (small AS NATIVE RANGE,
        price AS NATIVE RANGE) IDENTIFIER (id) TARGET (late) ACCEPT RISK (boundaries, derived))"""
    made = lab.publish(text)
    assert made.record.manifest.patterns
    assert lab.verify("open").holds
    for ending in ("duckdb", "csv"):
        assert reverify_file(lab.export("open", f"trees.{ending}").path).holds


@pytest.mark.postgres
def test_a_live_view_shows_ranges_too(lab):
    text = """CREATE VIEW beds LIVE AS SELECT id, small, whole, day, small % 2 = 0 AS even FROM things
        WHERE small IS NOT NULL AND day IS NOT NULL AND whole IS NOT NULL
        WITH ANONYMIZATION (ALGORITHM tpp REQUIRE k = 3 IDENTIFIER (id)
        QUASI IDENTIFIER (small AS NATIVE RANGE, whole AS NATIVE RANGE, day AS NATIVE RANGE) TARGET (even)
        ACCEPT RISK (live, boundaries, derived))"""
    lab.publish(text)
    assert lab.verify("beds").holds
    assert asked(lab, "SELECT DISTINCT pg_typeof(small)::TEXT, pg_typeof(day)::TEXT FROM beds") == [
        ("int4range", "daterange")
    ]
    assert isinstance(asked(lab, "SELECT lower(day) FROM beds LIMIT 1")[0][0], date | None)
