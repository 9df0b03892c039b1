"""What is not below an opened folder is not read, whatever its name looks like."""

from __future__ import annotations

import os

import duckdb
import pytest

import ppdm_sql
from ppdm_sql.errors import EngineError, PolicyError, PpdmError

pytestmark = pytest.mark.duckdb

ROWS = "SELECT range AS id, range % 3 AS a, 's' || range % 2 AS s FROM range(60)"
CLAUSE = "WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 3 QUASI IDENTIFIER (a) SENSITIVE (s) ENTITY (id) SEED 1)"


@pytest.fixture
def lake(tmp_path, monkeypatch):
    """A folder that is opened, one that is not, and links from the first to the second."""
    monkeypatch.chdir(tmp_path)
    for name in ("in", "out", "in2"):
        (tmp_path / name).mkdir()
        duckdb.execute(f"COPY ({ROWS}) TO '{name}/x.parquet'")
        duckdb.execute(f"COPY ({ROWS}) TO '{name}/x.csv'")
    with duckdb.connect("out/raw.duckdb") as raw:
        raw.execute(f"CREATE TABLE people AS {ROWS}")
    os.symlink("../out/x.parquet", "in/link.parquet")
    os.symlink("../out", "in/folder")
    os.symlink("../out/raw.duckdb", "in/link.duckdb")
    os.symlink("x.parquet", "in/inner.parquet")
    return tmp_path


@pytest.fixture
def locked(lake):
    with ppdm_sql.connect("clinic.duckdb", create=True, allow=["in"]) as db:
        yield db


def publish(db, source, name="t_open"):
    return db.publish(f"CREATE TABLE {name} AS SELECT id, a, s FROM {source} {CLAUSE}")


def test_nothing_outside_of_the_opened_folders_is_read(locked, lake):
    outside = [
        *("'in/../out/x.parquet'", f"'{lake}/out/x.parquet'", "'in2/x.parquet'"),
        *("'in/link.parquet'", "'in/folder/x.parquet'", "read_csv('in/folder/x.csv')"),
        *("'in/*.parquet'", "read_parquet(['in/x.parquet', 'out/x.parquet'])", "'in/{x,link}.parquet'", "'in/?.csv'"),
        *("'https://localhost:1/x.parquet'", "'s3://bucket/x.parquet'", f"'file://{lake}/out/x.csv'"),
        *("'~/x.csv'", "'/etc/passwd'", "read_csv('/etc/passwd')", "'out/x.csv'", "read_text('in/x.csv')"),
        *("'in/x.parquet\0.csv'", "'in'", "read_csv('in')", "parquet_metadata('in/x.parquet')", "glob('in/*')"),
    ]
    for source in outside:
        with pytest.raises(PolicyError):
            publish(locked, source)
        with pytest.raises(PpdmError):
            locked.profile(f"SELECT * FROM {source}")
        assert not locked.releases(), source
    for ordinary in (
        "SELECT * FROM 'in/link.parquet'",
        "FROM read_csv('in/folder/x.csv')",
        "ATTACH 'in/link.duckdb' AS l",
    ):
        with pytest.raises(EngineError, match="--allow"):
            locked.execute(ordinary)


def test_a_link_inside_the_folder_is_the_file_it_leads_to(locked, lake):
    release = publish(locked, "'in/inner.parquet'")
    assert release.record.sources == (f"file:{lake}/in/x.parquet",)


def test_no_folder_is_opened_unless_it_is_asked_for(lake):
    with ppdm_sql.connect("clinic.duckdb", create=True) as db:
        for source in ("'in/x.parquet'", "read_csv('in/x.csv')"):
            with pytest.raises(PolicyError, match="--allow"):
                publish(db, source)


def test_a_table_that_is_named_like_a_file_is_the_table(locked):
    locked.execute(f'CREATE TABLE "in/x.parquet" AS SELECT id, 7 AS a, s FROM ({ROWS})')
    for spelling in ("'in/x.parquet'", '"in/x.parquet"'):
        release = publish(locked, spelling)
        assert release.record.sources == ("main.in/x.parquet",)
        assert set(release.df()["a"].astype(str)) == {"7"}
        locked.drop("t_open")
    assert publish(locked, "read_parquet('in/x.parquet')", "f_open").record.sources[0].startswith("file:")


def test_a_variable_is_no_table_and_a_frame_is_one_by_name_only(locked):
    people = duckdb.sql(ROWS).df()
    with pytest.raises(PolicyError, match="people does not exist"):
        publish(locked, "people")
    locked.register("crowd", people)
    assert publish(locked, "crowd").record.sources == ("frame:crowd",)


def test_a_with_hides_a_file_of_its_name(locked):
    """A name that a WITH defines where it stands is no file."""
    locked.execute(f"CREATE TABLE t AS {ROWS}")
    text = f"""CREATE TABLE t_open AS WITH "in/x.csv" AS (SELECT id, a, s FROM t) SELECT id, a, s FROM "in/x.csv" {CLAUSE}"""
    assert locked.publish(text).record.sources == ("main.t",)


def test_a_schema_and_an_attached_database_of_one_name_are_not_mixed_up(lake):
    with ppdm_sql.connect("clinic.duckdb", create=True, allow=["in", "out"]) as db:
        db.execute("CREATE SCHEMA raw; CREATE TABLE raw.people AS SELECT range AS id, 1 AS a, 's' AS s FROM range(40)")
        db.execute("ATTACH 'out/raw.duckdb' AS raw (READ_ONLY)")
        with pytest.raises(PpdmError):
            publish(db, "raw.people")
        assert publish(db, "raw.main.people").record.sources == (f"file:{lake}/out/raw.duckdb main.people",)
