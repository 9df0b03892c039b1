"""Statements of sql/release/ as they stand: what an auditor runs of them, and what the joint check counts by them."""

from __future__ import annotations

import hashlib

import duckdb
import pytest

from ppdm_sql import resources


@pytest.fixture
def connection():
    with duckdb.connect() as opened:
        yield opened


def test_a_model_file_is_the_measured_one_or_it_is_not(connection, tmp_path):
    """One file with these bytes holds; other bytes do not, and neither do two files."""
    text = resources.sql_text("release/model_file")
    content = b'{"model": "m\xc3\xa9"}'
    (tmp_path / "one.json").write_bytes(content)
    (tmp_path / "other.json").write_bytes(content + b" ")
    (tmp_path / "two").mkdir()
    for name in ("a.json", "b.json"):
        (tmp_path / "two" / name).write_bytes(content)
    sha256 = hashlib.sha256(content).hexdigest()

    def verdict(pattern):
        return connection.execute(text, {"file": str(tmp_path / pattern), "sha256": sha256}).fetchone()[1]

    assert verdict("one.json") == "holds"
    assert verdict("other.json") == "BREACHED"
    assert verdict("two/*.json") == "BREACHED"


# (number, parent, is a leaf, class, rows): a root of 5 + 3 rows over two leaves.
NODES = [(0, None, False, 0, 5), (0, None, False, 1, 3)]
LEAVES = [(1, 0, True, 0, 4), (1, 0, True, 1, 1), (2, 0, True, 0, 1), (2, 0, True, 1, 2)]
OTHERWISE = [(1, 0, True, 0, 4), (1, 0, True, 1, 1), (2, 0, True, 0, 2), (2, 0, True, 1, 1)]


@pytest.mark.parametrize(
    ("counts", "rows", "verdict"),
    [
        ([*NODES, *LEAVES], 8, "holds"),
        ([*NODES, *LEAVES], 9, "BREACHED"),
        ([*NODES, *OTHERWISE], 8, "BREACHED"),  # as many rows, of other classes
        ([*NODES, *LEAVES[:2]], 5, "BREACHED"),
        ([], 8, "BREACHED"),
    ],
)
def test_the_counts_of_a_model_add_up_class_by_class(connection, counts, rows, verdict):
    connection.execute(
        "CREATE TABLE counts (ppdm_number INT, ppdm_parent INT, ppdm_is_leaf BOOL, ppdm_class INT, ppdm_rows INT)"
    )
    if counts:
        connection.executemany("INSERT INTO counts VALUES (?, ?, ?, ?, ?)", counts)
    text = resources.sql_text("release/model_sums")
    assert connection.execute(text, {"rows": rows}).fetchone()[1] == verdict


SIDE = "ppdm_key0 INT, ppdm_key1 INT, ppdm_person INT, ppdm_part INT, ppdm_least INT, ppdm_most INT, ppdm_all INT"


def test_rows_that_must_be_in_a_pair_of_classes(connection):
    """A key with 3 and 2 rows.  Two of the three are in class 1, both of the two in class 7: one at least is in both.

    The third is in class 2, and may be the one that is left over: nobody must be in 2 and 7.
    """
    for side in ("left_side", "right_side"):
        connection.execute(f"CREATE TABLE {side} ({SIDE})")
    connection.execute("INSERT INTO left_side VALUES (1, 1, 9, 1, 2, 2, 3), (1, 1, 9, 2, 1, 1, 3)")
    connection.execute("INSERT INTO right_side VALUES (1, 1, 9, 7, 2, 2, 2)")
    found = connection.execute(resources.sql_text("release/joint_by_row")).fetchall()
    assert sorted(found) == [(1, 1, 9, 1, 7, 1, 2, 2, 0), (1, 1, 9, 2, 7, 0, 1, 2, 0)]
