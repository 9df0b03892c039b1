"""What is left of an engine's error: names, places and paths of ours, never a value."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from ppdm_sql.engines.duckdb_errors import explanation

DATABASE, SPILL = Path("/srv/clinic.duckdb"), Path("/srv/.spill")


@pytest.mark.duckdb
@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('IO Error: Could not write file "/srv/clinic.duckdb.wal": No space left on device', "/srv/clinic.duckdb.wal"),
        ('IO Error: Could not write file "/srv/.spill/t-1.tmp": No space left on device', "/srv/.spill/t-1.tmp"),
        ('IO Error: Could not write file "/home/John Smith/x": No space left on device', "/srv/clinic.duckdb"),
        ("TransactionContext Error: Failed to commit: No space left on device", "/srv/clinic.duckdb"),
    ],
)
def test_a_full_disk_names_the_file_and_what_stays(text, path):
    told = str(explanation(duckdb.IOException(text), "COMMIT", (DATABASE, SPILL)))
    assert told == (f"the disk is full ({path}).  The transaction was rolled back; the database is unchanged")


@pytest.mark.duckdb
@pytest.mark.parametrize(
    ("made", "failing"),
    [
        ("CREATE TABLE t (a INT PRIMARY KEY)", "INSERT INTO t VALUES (4711), (4711)"),
        ("CREATE TABLE t (a INT UNIQUE, b INT)", "INSERT INTO t VALUES (4711, 1), (4711, 2)"),
        ("CREATE TABLE t (a VARCHAR CHECK (length(a) < 3))", "INSERT INTO t VALUES ('4711')"),
        ("CREATE TABLE t (a INT)", "INSERT INTO t SELECT CAST('4711 ' || x AS INT) FROM (VALUES ('4711')) v(x)"),
        ("CREATE TABLE t (a INT)", "SELECT error('4711')"),
        ("CREATE TABLE t (a TINYINT)", "INSERT INTO t SELECT x FROM (VALUES (4711)) v(x)"),
        ("CREATE TABLE t (a INT)", "SELECT CAST(x AS INT) * 1000000 FROM (VALUES (4711)) v(x)"),
    ],
)
def test_the_message_never_has_the_value_and_the_detail_has_it(made, failing):
    with duckdb.connect() as con:
        con.execute(made)
        with pytest.raises(duckdb.Error) as caught:
            con.execute(failing)
    found = explanation(caught.value, failing)
    assert "4711" not in str(found)
    assert found.fault is not None
    assert found.fault.name is None or "4711" not in found.fault.name
