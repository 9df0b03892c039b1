"""The file with which rows outside of a release of tpp get its labels."""

from __future__ import annotations

import random
from pathlib import Path

import duckdb
import pytest

from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.forms.read_labels import LabelReader
from ppdm_sql.session import connect

pytestmark = pytest.mark.duckdb

COLUMNS = "id INTEGER, age INTEGER, ward TEXT, pay DECIMAL(8, 2), sex TEXT, back TEXT"
POLICY = """
CREATE OR REPLACE TABLE open AS SELECT id, age, ward, pay, sex, back FROM people
WITH ANONYMIZATION (ALGORITHM tpp {options} REQUIRE k = {k} IDENTIFIER (id)
    QUASI IDENTIFIER (age, ward, pay, sex) TARGET (back) ACCEPT RISK (boundaries) SUPERSEDES ALL)
"""
NAMES = ("age", "ward", "pay", "sex")


def people(rows: int, seed: int) -> list[tuple]:
    draw = random.Random(seed)
    found = []
    for number in range(rows):
        age, ward = draw.randint(20, 60), draw.choice(["north", "south", "east", "west", None, "rare"])
        back = (age > 41) != (ward in ("north", "west") and draw.random() < 0.8)
        found.append((number, age, ward, round(draw.uniform(900, 4000), 2), draw.choice("FM"), "yes" if back else "no"))
    return found


@pytest.fixture
def session(tmp_path):
    with connect(str(tmp_path / "x.duckdb"), create=True, out=tmp_path) as found:
        found.engine._connection.execute(f"CREATE TABLE people ({COLUMNS})")
        found.engine._connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", people(300, 1))
        yield found


def recoded(files, rows: list[tuple]) -> dict[int, tuple]:
    with duckdb.connect() as analyst:
        analyst.execute(Path(files[0]).read_text(encoding="utf-8"))
        analyst.execute(f"CREATE TABLE mine ({COLUMNS})")
        analyst.executemany("INSERT INTO mine VALUES (?, ?, ?, ?, ?, ?)", rows)
        return {
            row[0]: row[1:]
            for row in analyst.execute(f"SELECT id, {', '.join(NAMES)} FROM recode_open('mine')").fetchall()
        }


@pytest.mark.parametrize("k", [5, 20, 60, 300])
def test_rows_of_the_table_get_the_labels_that_were_published(session, k):
    session.execute(POLICY.format(options="", k=k))
    connection = session.engine._connection
    shown = connection.execute(f"SELECT {', '.join(NAMES)} FROM open ORDER BY ALL").fetchall()
    found = recoded(session.export("open", "open.parquet").recodes, people(300, 1))
    assert sorted(found.values(), key=str) == sorted(shown, key=str)


def test_labels_of_other_rows_are_true_of_them(session):
    session.execute(POLICY.format(options="", k=5))
    rows = [*people(300, 2), (900, 7, "moon", 99999.0, "x", "no"), (901, None, None, None, None, "no")]
    found = recoded(session.export("open", "open.parquet").recodes, rows)
    readers = [LabelReader(ColumnInfo(name, Kind.DECIMAL, "DECIMAL(8, 2)")) for name in ("age", "pay")]
    assert len({one for row in found.values() for one in row}) > 4
    for number, age, ward, pay, sex, _ in rows:
        labels = dict(zip(NAMES, found[number], strict=True))
        for reader, value, label in zip(readers, (age, pay), (labels["age"], labels["pay"]), strict=True):
            extent = reader.read(label)
            ticks = None if value is None else round(value * 100)
            assert label == "*" or (
                (extent.low is None or extent.low <= ticks) and (extent.stop is None or ticks < extent.stop)
            )
        for value, label in ((ward, labels["ward"]), (sex, labels["sex"])):
            words = [label] if label is None else label.strip("{}").split(", ")
            assert label == "*" or value in words or (value is None and "NULL" in words)


def test_the_papers_numbers_say_nothing_of_other_rows(session):
    session.execute(POLICY.format(options="(numbers = shifted)", k=5).replace(
        "SELECT id, age, ward, pay, sex, back FROM people", "SELECT id, age, COALESCE(ward, 'none') AS ward, pay, sex, back FROM people"))  # fmt: skip
    assert not session.export("open", "open.parquet").recodes
