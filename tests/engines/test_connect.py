"""From what the user writes to an engine, without importing a driver that is not asked for."""

from __future__ import annotations

import subprocess
import sys

import duckdb
import pytest

import ppdm_sql
from ppdm_sql.engines import connect
from ppdm_sql.engines.connect import open_engine
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.errors import DatabaseUnavailable, PolicyError

DRIVERS = ("psycopg", "pyspark", "py4j")


@pytest.mark.parametrize("module", ["ppdm_sql", "ppdm_sql.engines.connect", "ppdm_sql.engines.duckdb"])
def test_drivers_are_imported_only_when_needed(module):
    script = f"import {module}, sys; print([name for name in {DRIVERS} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.duckdb
def test_duckdb_by_path_memory_and_connection(tmp_path):
    path = str(tmp_path / "a.duckdb")
    with open_engine(path, create=True) as engine:
        assert isinstance(engine, DuckDBEngine)
    with open_engine(path, read_only=True) as engine:
        assert engine.read_only
    with open_engine(":memory:") as engine:
        assert engine.title == "DuckDB"
    connection = duckdb.connect()
    with open_engine(connection) as engine:
        assert engine.title == "DuckDB"
    connection.execute("SELECT 1")
    with pytest.raises(DatabaseUnavailable, match="does not exist"):
        open_engine(str(tmp_path / "none.duckdb"))


@pytest.mark.postgres
def test_postgres_by_url(postgres_url):
    import psycopg

    wanted = psycopg.conninfo.conninfo_to_dict(postgres_url)
    for scheme in ("postgresql", "postgres"):
        with open_engine(f"{scheme}://{wanted['user']}@/{wanted['dbname']}?host={wanted['host']}") as engine:
            assert engine.title == "PostgreSQL"


@pytest.mark.parametrize(
    ("url", "package", "extra"), [("postgresql://h/d", "psycopg", "postgres"), ("spark:local[1]", "pyspark", "spark")]
)
def test_a_missing_driver_is_named_with_what_installs_it(monkeypatch, url, package, extra):
    monkeypatch.setitem(sys.modules, package, None)  # importing it now raises ImportError
    with pytest.raises(PolicyError, match=rf"{package} is not installed: pip install 'ppdm-sql\[{extra}\]'"):
        open_engine(url)


def test_what_is_no_database_is_told():
    with pytest.raises(PolicyError, match="got int"):
        open_engine(5)
    with pytest.raises(PolicyError, match=r"^unknown scheme mysql://; use a DuckDB file"):
        open_engine("mysql://u:secret@h/d")


@pytest.mark.duckdb
def test_options_that_were_not_given_do_not_count_and_unknown_ones_are_named():
    with open_engine(":memory:", memory_limit=None, threads=None, allow=(), settings={}, create=False) as engine:
        assert engine.title == "DuckDB"
    with pytest.raises(PolicyError, match="DuckDB has no option work_mem; valid options: create, read_only"):
        open_engine(":memory:", work_mem="1MB")


def test_zero_is_given():
    assert connect._is_left_out(None)
    assert connect._is_left_out(False)
    assert not connect._is_left_out(0)
    assert not connect._is_left_out(0.0)


VISITS = """
CREATE OR REPLACE TABLE visits_open AS SELECT * FROM visits WITH ANONYMIZATION (
    ALGORITHM mondrian REQUIRE k = 5 IDENTIFIER (id) QUASI IDENTIFIER (seen HIERARCHY CALENDAR (month, year), left AS RANGE))
"""


@pytest.mark.duckdb
def test_a_release_does_not_depend_on_the_time_zone_of_the_connection(tmp_path):
    path = str(tmp_path / "a.duckdb")
    with duckdb.connect(path) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(
            """CREATE TABLE visits AS SELECT i AS id, seen, seen + INTERVAL 3 HOUR AS "left" FROM (SELECT i,
            TIMESTAMPTZ '2023-12-31 22:00:00+00' + INTERVAL (i % 10) MONTH + INTERVAL (i % 7) HOUR AS seen FROM range(200) t(i))"""
        )
        found = []
        for zone in ("America/New_York", "Asia/Tokyo", "UTC"):
            connection.execute(f"SET TimeZone = '{zone}'")
            session = ppdm_sql.connect(connection)
            session.run(VISITS)
            assert session.run("VERIFY visits_open").holds
            assert connection.execute("SELECT current_setting('TimeZone')").fetchone() == (zone,)
            rows = connection.execute("SELECT seen, epoch(left_from), epoch(left_to), left_kind FROM visits_open")
            found.append(sorted(map(str, rows.fetchall())))
        assert found[0] == found[1] == found[2]
        assert any("2023" in row for row in found[0])
    with ppdm_sql.connect(path) as session:
        assert session.run("VERIFY visits_open").holds


@pytest.mark.duckdb
def test_a_time_zone_that_cannot_be_set_is_refused():
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'Asia/Tokyo'; SET lock_configuration = true")
        session = ppdm_sql.connect(connection)
        with pytest.raises(DatabaseUnavailable, match=r"Asia/Tokyo and cannot be set: SET TimeZone = 'UTC'"):
            session.run("VERIFY nothing")
