"""DuckDB opened locked down: files, variables, settings, spilled rows and locks.  M8, M9, M13, M14, M15."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import textwrap
import time

import duckdb
import pytest
from sqlglot import exp, parse_one

from ppdm_sql.engines import spill
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.errors import DatabaseUnavailable, EngineError
from ppdm_sql.statements.names import Name, column
from tests.sizes import HANGS

pytestmark = pytest.mark.duckdb


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    return path


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


# -- nothing but tables is a table -----------------------------------------------------------------------


def test_a_python_variable_is_no_table(duckdb_engine):
    import pandas

    patients = pandas.DataFrame({"a": [1]})
    with pytest.raises(EngineError, match="patients"):
        duckdb_engine.fetch(exp.select(column("a")).from_(Name("patients").table()))
    assert duckdb_engine.relation_kind(Name("patients")) is None
    assert len(patients) == 1


def test_a_file_is_no_table(duckdb_engine, tmp_path, monkeypatch):
    (tmp_path / "x.csv").write_text("a\n1\n")
    monkeypatch.chdir(tmp_path)
    for name in ("x.csv", str(tmp_path / "x.csv")):
        with pytest.raises(EngineError):
            duckdb_engine.fetch(exp.select("*").from_(Name(name).table()))


# -- only the folders that were allowed ------------------------------------------------------------------


def test_only_allowed_folders_can_be_read_and_written(tmp_path):
    allowed, other = tmp_path / "out", tmp_path / "other"
    allowed.mkdir()
    other.mkdir()
    (other / "secret.csv").write_text("a\n1\n")
    with DuckDBEngine.open(":memory:", allow=[str(allowed)]) as engine:
        engine.pass_through(f"COPY (SELECT 1 AS a) TO '{allowed}/x.csv'")
        assert engine.pass_through(f"SELECT a FROM '{allowed}/x.csv'").rows == [(1,)]
        for path in (f"{other}/secret.csv", f"{allowed}/../other/secret.csv", "/etc/passwd"):
            with pytest.raises(EngineError, match="--allow"):
                engine.pass_through(f"SELECT * FROM read_csv('{path}')")
        with pytest.raises(EngineError, match="--allow"):
            engine.pass_through(f"COPY (SELECT 1 AS a) TO '{other}/y.csv'")
        with pytest.raises(EngineError):
            engine.pass_through(f"ATTACH '{other}/z.duckdb'")
    assert os.listdir(other) == ["secret.csv"]


@pytest.mark.parametrize(
    "setting",
    [
        "enable_external_access = true",
        "lock_configuration = false",
        "allowed_directories = ['/']",
        "memory_limit = '1TB'",
    ],
)
def test_the_settings_are_final(duckdb_engine, setting):
    with pytest.raises(EngineError):
        duckdb_engine.pass_through(f"SET {setting}")


def test_no_extension_is_fetched(duckdb_engine):
    with pytest.raises(EngineError):
        duckdb_engine.pass_through("INSTALL httpfs")


def test_memory_and_threads_are_as_asked(tmp_path):
    with DuckDBEngine.open(":memory:", memory_limit="64MB", threads=1) as engine:
        asked = "SELECT current_setting('threads') AS t, current_setting('memory_limit') AS m"
        ((threads, memory),) = engine.pass_through(asked).rows
        assert (threads, memory) == (1, "61.0 MiB")
    with pytest.raises(DatabaseUnavailable, match="setting"):
        DuckDBEngine.open(":memory:", memory_limit="a lot")


def test_half_of_the_memory_is_used_where_nothing_is_said():
    asked = "SELECT current_setting('memory_limit')"
    with DuckDBEngine.open(":memory:") as engine, duckdb.connect() as plain:
        plain.execute("SET memory_limit = '50%'")
        assert engine.fetch(parse_one(asked)) == plain.execute(asked).fetchall()


# -- what is spilled is private and does not stay --------------------------------------------------------


def test_spilled_rows_are_private_and_gone_afterwards(file):
    with DuckDBEngine.open(str(file), memory_limit="60MB", threads=1) as engine:
        folder = engine._temp
        assert mode(folder) == mode(folder.parent) == 0o700
        assert engine.pass_through("SELECT current_setting('temp_directory') AS d").rows == [(str(folder),)]
        many = "SELECT md5(CAST(range AS VARCHAR)) AS h FROM range(2000000) ORDER BY h"
        seen = False
        for _ in engine.batches(parse_one(many, dialect="duckdb"), rows=100_000):
            seen = seen or any(folder.rglob("*"))
        assert seen, "the test did not spill"
    assert not folder.parent.exists()
    assert sorted(path.name for path in file.parent.iterdir()) == ["clinic.duckdb"]


def test_what_a_dead_process_left_is_wiped_and_a_living_ones_is_not(file):
    base = file.parent / "clinic.duckdb.ppdm_tmp"
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left = {name: base / name for name in (f"{dead.pid}_x", f"{os.getppid()}_y", "duckdb_temp_storage", str(dead.pid))}
    for folder in left.values():
        folder.mkdir(parents=True)
        (folder / "names").write_text("John Smith")
    base.chmod(0o700)
    with DuckDBEngine.open(str(file)):
        assert {name for name, folder in left.items() if folder.exists()} == {f"{os.getppid()}_y"}


def test_two_engines_of_one_process_do_not_wipe_each_other():
    first, second = DuckDBEngine.open(":memory:"), DuckDBEngine.open(":memory:")
    assert first._temp != second._temp
    first.close()
    assert second._temp.is_dir()
    second.close()
    assert not second._temp.exists()


def test_a_folder_somebody_else_prepared_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    theirs = tmp_path / f"ppdm_{os.getuid()}"
    theirs.mkdir()
    theirs.chmod(0o777)  # others can put a link where our folder will be
    folder = spill.private_folder()
    assert theirs not in folder.parents
    assert mode(folder) == 0o700
    spill.wipe(folder)
    theirs.rmdir()
    theirs.symlink_to(tmp_path)
    assert spill.private_folder().parent != theirs


def test_a_read_only_place_spills_elsewhere(file, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, how: str(path) != str(file.parent))
    with DuckDBEngine.open(str(file)) as engine:
        assert file.parent not in engine._temp.parents


# -- locks -----------------------------------------------------------------------------------------------

HOLDER = """
import duckdb, sys, time
connection = duckdb.connect(sys.argv[1])
print("held", flush=True)
time.sleep(float(sys.argv[2]))
"""


@pytest.fixture
def holder():
    running = []

    def hold(path, seconds):
        process = subprocess.Popen([sys.executable, "-c", HOLDER, str(path), str(seconds)], stdout=subprocess.PIPE)
        running.append(process)
        assert process.stdout.readline() == b"held\n"
        return process

    yield hold
    for process in running:
        process.kill()
        process.wait()


@pytest.mark.parametrize("read_only", [False, True])
def test_a_locked_file_is_waited_for_and_its_holder_named(file, holder, read_only):
    process = holder(file, HANGS)
    began = time.monotonic()
    with pytest.raises(DatabaseUnavailable, match=rf"locked by process {process.pid}\b"):
        DuckDBEngine.open(str(file), lock_timeout=0.5, read_only=read_only)
    assert time.monotonic() - began >= 0.5
    assert sorted(path.name for path in file.parent.iterdir()) == ["clinic.duckdb"]


def test_a_lock_that_is_let_go_in_time_is_taken(file, holder):
    holder(file, 0.5)
    with DuckDBEngine.open(str(file), lock_timeout=HANGS) as engine:
        assert engine.fetch(exp.select(column("a")).from_(Name("t").table())) == [(1,)]


# -- nothing on stdout -----------------------------------------------------------------------------------


@pytest.mark.wide
def test_nothing_but_the_answer_is_on_stdout_even_when_it_takes_long():
    script = """
        import json, time
        from sqlglot import parse_one
        from ppdm_sql.engines.connect import open_engine
        rows = 12_000_000
        with open_engine(":memory:", threads=1) as engine:
            while True:
                slow = f"SELECT sum(length(md5(CAST(range AS VARCHAR)))) AS n FROM range({rows})"
                began = time.monotonic()
                found = int(engine.fetch_one(parse_one(slow, dialect="duckdb"))[0])
                if time.monotonic() - began > 2.5:  # the progress bar starts after two seconds
                    break
                rows *= 2
            print(json.dumps({"n": found, "rows": rows}))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["n"] == 32 * found["rows"]
    assert done.stderr == ""


# -- files that are not ours to open ---------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0" + bytes(100), b"a,b\n1,2\n", bytes(4096)])
def test_a_foreign_file_is_refused_and_left_as_it_is(tmp_path, content):
    path = tmp_path / "other.db"
    path.write_bytes(content)
    before = path.stat()
    with pytest.raises(DatabaseUnavailable, match="not a DuckDB database"):
        DuckDBEngine.open(str(path), create=True)
    assert path.read_bytes() == content
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert os.listdir(tmp_path) == ["other.db"]


@pytest.mark.parametrize("keep", [100, 5000])
def test_a_truncated_file_is_refused_and_left_as_it_is(file, keep):
    content = file.read_bytes()[:keep]
    file.write_bytes(content)
    with pytest.raises(DatabaseUnavailable):
        DuckDBEngine.open(str(file))
    assert file.read_bytes() == content
    assert os.listdir(file.parent) == ["clinic.duckdb"]


def test_a_missing_file_is_not_made_unless_asked(tmp_path):
    path = tmp_path / "new.duckdb"
    with pytest.raises(DatabaseUnavailable, match="--create"):
        DuckDBEngine.open(str(path))
    assert os.listdir(tmp_path) == []
    with DuckDBEngine.open(str(path), create=True) as engine:
        engine.create_table(Name("t"), parse_one("SELECT 1 AS a"))
    assert path.exists()
    with pytest.raises(DatabaseUnavailable, match="does not exist"):
        DuckDBEngine.open(str(tmp_path / "no" / "new.duckdb"), create=True)
    with pytest.raises(DatabaseUnavailable, match="folder, not"):
        DuckDBEngine.open(str(tmp_path))


def test_a_read_only_database_can_be_read_and_is_not_written(file):
    before = file.read_bytes()
    with DuckDBEngine.open(str(file), read_only=True) as engine:
        assert engine.read_only
        with pytest.raises(EngineError, match="read-only"):
            engine.check_writable()
        assert engine.fetch(exp.select(column("a")).from_(Name("t").table())) == [(1,)]
        engine.create_table(Name("ppdm_w"), parse_one("SELECT 2 AS a"), temporary=True)
        with pytest.raises(EngineError, match="read-only"):
            engine.create_table(Name("new"), parse_one("SELECT 2 AS a"))
    assert file.read_bytes() == before


def test_a_file_that_may_not_be_written_is_opened_read_only(file, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, how: str(path) != str(file))  # root may write everything
    with DuckDBEngine.open(str(file)) as engine:
        assert engine.read_only


def test_a_killed_run_leaves_the_old_table(file):
    script = """
        import sys, time
        from sqlglot import parse_one
        from ppdm_sql.engines.connect import open_engine
        from ppdm_sql.statements.names import Name
        engine = open_engine(sys.argv[1])
        with engine.transaction():
            engine.drop_table(Name("t"))
            engine.create_table(Name("t"), parse_one("SELECT 2 AS a"))
            print("open", flush=True)
            time.sleep(60)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), str(file)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "open\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (file.parent / "clinic.duckdb.ppdm_tmp").exists()
    with DuckDBEngine.open(str(file)) as engine:
        assert engine.fetch(exp.select(column("a")).from_(Name("t").table())) == [(1,)]
    assert not (file.parent / "clinic.duckdb.ppdm_tmp").exists()


# -- what DuckDB alone has -------------------------------------------------------------------------------


def test_a_view_is_secure(duckdb_engine):
    duckdb_engine.create_view(Name("v"), parse_one("SELECT 1 AS a"))
    ((text,),) = duckdb_engine.pass_through("SELECT sql FROM duckdb_views() WHERE view_name = 'v'").rows
    assert text.startswith("CREATE SECURE VIEW")


def test_a_connection_that_was_handed_over_stays_open():
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    with DuckDBEngine(connection) as engine:
        assert engine.relation_kind(Name("t")) == "table"
    assert connection.execute("SELECT a FROM t").fetchall() == [(1,)]


def test_moments_do_not_depend_on_the_machines_zone():
    script = """
        from sqlglot import parse_one
        from ppdm_sql.engines.connect import open_engine
        with open_engine(":memory:") as engine:
            text = "SELECT CAST(TIMESTAMPTZ '2024-03-31 01:30:00+00' AS VARCHAR) AS t"
            print(engine.fetch_one(parse_one(text, dialect="duckdb"))[0])
    """
    told = set()
    for zone in ("UTC", "America/New_York", "Asia/Kathmandu"):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script)],
            capture_output=True, text=True, check=True, env={**os.environ, "TZ": zone},
        )  # fmt: skip
        told.add(done.stdout)
    assert told == {"2024-03-31 01:30:00+00\n"}
