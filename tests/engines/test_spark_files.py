"""Tables of the catalog on Spark, read from their files without Spark."""

from __future__ import annotations

import pytest

from ppdm_sql.statements.names import Name

pytest.importorskip("pyspark", reason="pyspark is not installed")
pytestmark = pytest.mark.spark

KEPT = Name("ppdm", "kept")


@pytest.fixture
def stored(spark_engine):
    spark_engine.create_schema("ppdm")
    spark_engine.pass_through(
        "CREATE TABLE ppdm.kept (n BIGINT, x DOUBLE, t STRING, b BOOLEAN, at TIMESTAMP_NTZ, zoned TIMESTAMP) USING parquet"
    )
    return spark_engine


def insert(engine, *values):
    for value in values:
        engine.pass_through(f"INSERT INTO ppdm.kept VALUES {value}")


def test_files_say_what_spark_says(stored):
    assert stored._read_files(KEPT, 9).num_rows == 0
    insert(
        stored,
        "(1, 0.1, 'a''b', true, TIMESTAMP_NTZ '1582-10-04 01:02:03.000004', TIMESTAMP '2026-11-19 21:00:00.5+02:00')",
        "(2, NULL, NULL, NULL, NULL, NULL), (3, CAST('NaN' AS DOUBLE), '', false, TIMESTAMP_NTZ '9999-12-31 23:59:59', NULL)",
    )
    read = stored._read_files(KEPT, 9)
    asked = stored._sql("SELECT * FROM ppdm.kept", {}).toArrow()
    assert read.schema.types == asked.schema.types
    assert str(read.sort_by("n").to_pylist()) == str(asked.sort_by("n").to_pylist())  # NaN is not NaN, but reads so
    stored.pass_through("ALTER TABLE ppdm.kept ADD COLUMNS (later STRING)")
    assert stored._read_files(KEPT, 9)["later"].to_pylist() == [None] * 3


def test_reading_ends_at_the_limit(stored):
    insert(stored, *(f"({n}, NULL, NULL, NULL, NULL, NULL)" for n in range(4)))
    assert stored.read_whole(KEPT, 2).num_rows == 3


def test_what_is_no_plain_table_is_asked_of_spark(stored):
    insert(stored, "(1, NULL, NULL, NULL, NULL, NULL)")
    stored.pass_through("CREATE TABLE ppdm.other USING parquet AS SELECT ARRAY(1) AS many")
    stored.pass_through("CREATE VIEW ppdm.seen AS SELECT n FROM ppdm.kept")
    assert stored._read_files(Name("ppdm", "other"), 9) is None
    assert stored._read_files(Name("ppdm", "seen"), 9) is None
    assert stored._read_files(Name("ppdm", "missing"), 9) is None
    assert stored.read_whole(Name("ppdm", "seen"), 9)["n"].to_pylist() == [1]
    folder = stored._place_of("ppdm") / "kept"
    (folder / "notes.txt").write_text("x")
    assert stored._read_files(KEPT, 9) is None
    (folder / "notes.txt").unlink()
    assert stored._read_files(KEPT, 9)["n"].to_pylist() == [1]
    next(folder.glob("*.parquet")).write_bytes(b"damaged")
    assert stored._read_files(KEPT, 9) is None
