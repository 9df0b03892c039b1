"""What leaves in files, next to files and in messages."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys

import duckdb
import pytest

from ppdm_sql.errors import PolicyError, PpdmError
from ppdm_sql.release.reverify import reverify_file
from tests.attacks.conftest import policy

ROLES = "IDENTIFIER (name) QUASI IDENTIFIER (a, b) SENSITIVE (s)"


@pytest.fixture
def released(db):
    """Every raw row carries a canary in its name; nothing of it may leave."""
    db.execute(
        "CREATE TABLE t AS SELECT 'CANARY' || md5(range::TEXT) AS name, range % 40 AS a, 'b' || range % 3 AS b, "
        "'s' || range % 4 AS s FROM range(2000)"
    )
    db.publish(policy("name, a, b, s", ROLES, "k = 5"))
    return db


@pytest.mark.parametrize("file", ["open.duckdb", "open.parquet", "open.csv"])
def test_no_raw_byte_is_in_what_is_handed_over(released, tmp_path, file):
    """Free pages, dictionaries, footers, manifest and certificate are searched."""
    released.export("t_open", file)
    for path in tmp_path.glob(f"{file}*"):
        assert b"CANARY" not in path.read_bytes(), path.name
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 or os.umask(0o022) != 0o077


def test_an_exported_database_holds_one_table(released, tmp_path):
    released.export("t_open", "open.duckdb")
    with duckdb.connect(str(tmp_path / "open.duckdb"), read_only=True) as con:
        assert con.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("t_open",)]
        assert con.execute("SELECT count(*) FROM duckdb_views() WHERE NOT internal").fetchall() == [(0,)]
        assert con.execute(
            "SELECT count(*) FROM duckdb_types() WHERE NOT internal AND logical_type = 'ENUM'"
        ).fetchall() == [(0,)]
        assert con.execute("SELECT comment FROM duckdb_tables()").fetchall() == [(None,)]


def test_statistics_speak_of_the_release_alone(db, tmp_path):
    """An outlier that was generalized away is in no zone map and no footer."""
    db.execute(
        "CREATE TABLE t AS SELECT CASE WHEN range = 5 THEN 987654321 ELSE range % 50 END AS a, 's' || range % 3 AS s FROM range(500)"
    )
    db.publish(policy("a, s", "QUASI IDENTIFIER (a) SENSITIVE (s)", "k = 5"))
    db.export("t_open", "open.parquet")
    db.export("t_open", "open.duckdb")
    with duckdb.connect() as con:
        footer = con.execute("SELECT * FROM parquet_metadata(?)", [str(tmp_path / "open.parquet")]).fetchall()
        assert "987654321" not in str(footer)
    with duckdb.connect(str(tmp_path / "open.duckdb"), read_only=True) as con:
        assert "987654321" not in str(con.execute("SELECT * FROM pragma_storage_info('t_open')").fetchall())


def test_rows_cannot_be_linked_by_position(released, tmp_path):
    """The i-th row of the release is not the i-th row of the source, beyond chance."""
    stored = released.engine.fetch(released.release("t_open").query)
    same = sum(row[2] == f"s{number % 4}" for number, row in enumerate(stored))
    chance = len(stored) / 4
    assert abs(same - chance) < 4 * (len(stored) * 0.25 * 0.75) ** 0.5


def test_spilled_rows_and_temporary_files_are_private_and_gone(tmp_path):
    """Under little memory rows are spilled; the folder is 0700 while it is there, and gone afterwards."""
    code = """
import os, stat, sys, ppdm_sql
with ppdm_sql.connect(sys.argv[1], create=True, memory_limit="120MB", threads=1) as db:
    db.execute("CREATE TABLE t AS SELECT 'CANARY' || md5(range::TEXT) AS name, range % 97 AS a, 's' || range % 4 AS s FROM range(600000)")
    folder = sys.argv[1] + ".ppdm_tmp"
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    db.execute("CREATE TABLE u AS SELECT * FROM t ORDER BY name")
    print(sum(len(files) for _, _, files in os.walk(folder)))
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "p.duckdb")], check=True, capture_output=True, text=True)
    assert {path.name for path in tmp_path.iterdir()} <= {"p.duckdb", "p.duckdb.wal"}


def test_error_texts_hold_no_value(released, tmp_path, capfd):
    """Casts, constraints, missing hierarchy values."""
    (tmp_path / "b.csv").write_text("b0;x;*\nb1;x;*\n")
    attempts = [
        policy("name, CAST(name AS INTEGER) AS a, b, s", ROLES),
        policy("name, a, b, s", ROLES.replace("b)", f"b HIERARCHY '{tmp_path / 'b.csv'}')")),
        "INSERT INTO t SELECT * FROM t WHERE CAST(name AS DATE) > DATE '2020-01-01'",
    ]
    for text in attempts:
        with pytest.raises(PpdmError) as refused:
            released.execute(text)
        assert "CANARY" not in str(refused.value)
        assert "b2" not in str(refused.value)
    shown = capfd.readouterr()
    assert "CANARY" not in shown.out + shown.err


@pytest.mark.parametrize(
    "path",
    [
        "../evil.csv",
        "/tmp/evil.csv",
        "a/../../evil.csv",
        "evil\0.csv",
        "",
        "x" * 300 + ".csv",
        "nowhere/x.csv",
        "x.exe",
        ".",
        "link/evil.csv",
    ],
)
def test_exports_stay_in_their_folder(released, tmp_path, path):
    (tmp_path / "link").symlink_to(tmp_path.parent)
    with pytest.raises(PolicyError):
        released.export("t_open", path)
    assert not list(tmp_path.parent.glob("evil*"))


def test_a_file_that_is_not_ours_is_not_overwritten(released, tmp_path):
    (tmp_path / "open.csv").write_text("mine")
    with pytest.raises(PolicyError, match="will not be overwritten"):
        released.export("t_open", "open.csv")
    assert (tmp_path / "open.csv").read_text() == "mine"
    released.export("t_open", "other.csv")
    released.export("t_open", "other.csv")


def test_formulas_in_csv_become_text_on_request(db, tmp_path):
    db.execute(
        "CREATE TABLE t AS SELECT range % 3 AS a, (['=1+1', '+2', '-3', '@x', 'plain', '5'])[range % 6 + 1] AS s FROM range(60)"
    )
    db.publish(policy("a, s", "QUASI IDENTIFIER (a) SENSITIVE (s)"))
    db.export("t_open", "plain.csv")
    assert '"=1+1"' in (tmp_path / "plain.csv").read_text()
    db.export("t_open", "safe.csv", {"spreadsheet_safe": True})
    text = (tmp_path / "safe.csv").read_text()
    for cell in ("'=1+1", "'+2", "'-3", "'@x", "plain", "5"):
        assert f'"{cell}"' in text
    assert reverify_file(tmp_path / "safe.csv").holds


# -- forged afterwards --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE t_open SET s = 's9' WHERE s = 's1'",
        "DELETE FROM t_open WHERE s = 's1'",
        "INSERT INTO t_open SELECT * FROM t_open LIMIT 1",
        "ALTER TABLE t_open ADD COLUMN ssn INTEGER",
        "ALTER TABLE t_open RENAME s TO z",
        "DROP TABLE t_open",
        "UPDATE ppdm.release SET manifest = replace(manifest, '\"k = 5\"', '\"k = 9\"')",
        "UPDATE ppdm.release SET content_hash = 'x'",
    ],
)
def test_verify_finds_what_was_changed_in_the_database(released, change):
    assert released.verify("t_open").holds
    released.engine.pass_through(change)
    assert not released.verify("t_open").holds


def test_verify_finds_what_was_changed_in_a_file(released, tmp_path):
    for file in ("open.parquet", "open.csv", "open.duckdb"):
        released.export("t_open", file)
        assert reverify_file(tmp_path / file).holds
    with duckdb.connect(str(tmp_path / "open.duckdb")) as con:
        con.execute("UPDATE t_open SET s = 's0'")
    assert not reverify_file(tmp_path / "open.duckdb").holds
    content = (tmp_path / "open.csv").read_text()
    (tmp_path / "open.csv").write_text(content.replace('"s1"', '"s2"', 1))
    assert not reverify_file(tmp_path / "open.csv").holds
    beside = tmp_path / "open.parquet.manifest.json"
    manifest = json.loads(beside.read_text())
    manifest["policy"]["requirements"] = ["k = 400"]
    beside.write_text(json.dumps(manifest))
    assert not reverify_file(tmp_path / "open.parquet").holds


@pytest.mark.parametrize("forged", ["{}", "[]", "not json", '{"format": "ppdm-release/1"}', '{"format": 5}'])
def test_a_hostile_manifest_is_refused(released, tmp_path, forged):
    released.export("t_open", "open.parquet")
    (tmp_path / "open.parquet.manifest.json").write_text(forged)
    with pytest.raises(PolicyError, match="manifest"):
        reverify_file(tmp_path / "open.parquet")


@pytest.mark.parametrize("file", ["open.duckdb", "open.parquet", "open.csv"])
def test_a_recipient_re_derives_the_guarantee_with_a_bare_duckdb(released, tmp_path, file, monkeypatch):
    """The certificate, run where the file is; then on a file that was changed."""
    released.publish(
        policy(
            "name, a, b, s",
            ROLES,
            "k = 5, distinct_l = 2, simple_l = 1.5, entropy_l = 1.2, recursive_l = (4, 2), t = 0.5 equal",
        )
    )
    released.export("t_open", file)
    monkeypatch.chdir(tmp_path)
    verdicts, content = run_certificate(tmp_path / file)
    assert len(verdicts) == 6
    assert all(verdict.startswith("holds") for verdict in verdicts.values())
    assert content == json.loads((tmp_path / f"{file}.manifest.json").read_text())["export"]["content_hash"]
    if file == "open.duckdb":
        with duckdb.connect(file) as con:
            con.execute("DELETE FROM t_open WHERE s <> 's1'")
        verdicts, forged = run_certificate(tmp_path / file)
        assert verdicts["distinct_l = 2"] == "BREACHED"
        assert forged != content


def run_certificate(file):
    verdicts, content = {}, None
    with duckdb.connect() as con:
        for statement in duckdb.extract_statements(file.with_name(f"{file.name}.certificate.sql").read_text()):
            rows = con.execute(statement).fetchall()
            if rows and len(rows[0]) == 4:
                verdicts[rows[0][0]] = rows[0][3]
            elif rows:
                content = rows[0][0]
    return verdicts, content
