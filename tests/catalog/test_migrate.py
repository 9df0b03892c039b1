"""The catalog comes into being, stays as it is, and refuses what it does not know."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import duckdb
import pytest
from sqlglot import exp

from ppdm_sql import __version__
from ppdm_sql.catalog import migrate
from ppdm_sql.catalog.store import append
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.errors import DatabaseUnavailable, EngineError
from ppdm_sql.statements.names import SCHEMA, Name
from tests.sizes import HANGS

NUMBERS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
NEXT, LATER = f"{len(NUMBERS) + 1:04d}", len(NUMBERS) + 2  # the next file, and one of a later version
TABLES = {
    "migration", "setting", "run", "run_event", "release", "release_source", "release_event", "release_check",
    "model", "model_event", "model_node", "model_branch", "model_value", "model_count",
    "evaluation", "evaluation_point", "ledger", "ledger_entry", "release_reader", "release_recoding", "growth",
    "share_round",
}  # fmt: skip


def states(engine) -> dict[int, str]:
    return {found.number: found.state for found in migrate.status(engine)}


def has(engine, relation: str) -> bool:
    return engine.relation_kind(Name(SCHEMA, relation)) is not None


def test_a_fresh_database_gets_every_table(engine):
    assert migrate.migrate(engine) == NUMBERS
    assert set(engine.relations(SCHEMA)) == TABLES | {"release_state"}
    assert states(engine) == dict.fromkeys(NUMBERS, "applied")


def test_the_record_tells_what_was_run_and_by_which_version(catalog):
    first = migrate.status(catalog)[0]
    assert (first.number, first.name, first.version) == (1, "0001_migration.sql", __version__)
    assert first.applied_at is not None
    assert first.applied_at.tzinfo is None


def test_migrating_again_does_nothing(catalog, statements):
    assert migrate.migrate(catalog) == []
    assert not any(said.startswith(("CREATE", "INSERT")) for said in statements)


def test_ensure_asks_one_query_when_all_is_done(catalog, statements):
    migrate.ensure(catalog)
    assert len(statements) == 1


def test_ensure_makes_the_catalog_where_there_is_none(engine):
    migrate.ensure(engine)
    assert states(engine) == dict.fromkeys(NUMBERS, "applied")


def test_status_of_a_database_without_catalog_reads_only(engine, statements):
    assert states(engine) == dict.fromkeys(NUMBERS, "pending")
    assert all(said.startswith(("SELECT", "WITH")) for said in statements)
    assert not has(engine, "migration")


@pytest.mark.postgres
def test_a_read_only_session_can_look_but_not_migrate(postgres_engine, postgres_url):
    with type(postgres_engine).open(postgres_url, read_only=True) as reader:
        assert states(reader) == dict.fromkeys(NUMBERS, "pending")
        with pytest.raises(EngineError, match=r"^the database is open read-only"):
            migrate.ensure(reader)
        migrate.migrate(postgres_engine)
        assert states(reader) == dict.fromkeys(NUMBERS, "applied")
        migrate.ensure(reader)


@pytest.mark.duckdb
def test_a_read_only_file_can_be_looked_at_but_not_migrated(tmp_path, files):
    path = str(tmp_path / "clinic.duckdb")
    DuckDBEngine.open(path, create=True).close()
    with DuckDBEngine.open(path, read_only=True) as engine:
        assert states(engine) == dict.fromkeys(NUMBERS, "pending")
        with pytest.raises(EngineError, match=r"^the database is open read-only"):
            migrate.migrate(engine)
    with DuckDBEngine.open(path) as engine:
        migrate.migrate(engine)
    with DuckDBEngine.open(path, read_only=True) as engine:
        assert states(engine) == dict.fromkeys(NUMBERS, "applied")
        migrate.ensure(engine)  # nothing to do is nothing to refuse
        (files / f"{NEXT}_more.sql").write_text("CREATE TABLE ppdm.more (a TEXT);")
        assert states(engine)[int(NEXT)] == "pending"
        with pytest.raises(EngineError, match=r"^the database is open read-only"):
            migrate.ensure(engine)


# -- files and database that contradict each other -------------------------------------------------


def test_an_applied_file_must_not_change(catalog, files):
    changed = files / "0002_run.sql"
    changed.write_text(changed.read_text() + "-- one word more\n")
    assert states(catalog) == dict.fromkeys(NUMBERS, "applied") | {2: "changed"}
    for call in (migrate.migrate, migrate.ensure):
        with pytest.raises(EngineError, match=r"0002_run\.sql was changed"):
            call(catalog)


def test_other_line_ends_are_no_change(catalog, files):
    for file in files.iterdir():
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert states(catalog) == dict.fromkeys(NUMBERS, "applied")
    assert migrate.migrate(catalog) == []


def test_the_database_of_a_newer_version_is_refused(catalog, statements):
    newer = {
        "number": LATER,
        "name": f"{LATER:04d}_later.sql",
        "sha256": "0",
        "applied_at": migrate.now(),
        "version": "7.1",
    }
    append(catalog, "migration", newer)
    statements.clear()
    assert states(catalog)[LATER] == "unknown"
    for call in (migrate.migrate, migrate.ensure):
        with pytest.raises(DatabaseUnavailable, match=rf"ppdm_sql 7\.1 \({LATER:04d}_later\.sql\)"):
            call(catalog)
    assert not any(said.startswith(("CREATE", "INSERT")) for said in statements)


def test_only_what_is_missing_is_run(engine, files):
    later = {name: (files / name).read_text() for name in list(SUMS)[2:]}
    for name in later:
        (files / name).unlink()
    assert migrate.migrate(engine) == [1, 2]
    assert not has(engine, "release")
    for name, text in later.items():
        (files / name).write_text(text)
    assert states(engine) == dict.fromkeys(NUMBERS, "pending") | {1: "applied", 2: "applied"}
    assert migrate.migrate(engine) == NUMBERS[2:]
    assert has(engine, "release")


def test_a_hole_in_the_record_is_not_filled(engine, files):
    later = {file: file.read_text() for file in sorted(files.iterdir())[1:]}
    for file in later:
        file.unlink()
    migrate.migrate(engine)
    for file, text in later.items():
        file.write_text(text)
    third = migrate._read(files / "0003_release.sql")
    append(engine, "migration", vars(migrate._Record(3, third.name, third.sha256, migrate.now(), "0")))
    with pytest.raises(EngineError, match=r"0002_run\.sql is missing"):
        migrate.migrate(engine)
    assert not has(engine, "run")


@pytest.mark.parametrize(
    "name", [f"{LATER:04d}_gap.sql", "0004_twice.sql", "8_short.sql", f"{NEXT} blank.sql", "notes.sql"]
)
def test_files_are_numbered_without_gap(files, name):
    (files / name).write_text("CREATE TABLE ppdm.more (a TEXT);")
    with pytest.raises(EngineError, match=r"numbered|named"):
        migrate._files()


def test_a_user_table_of_the_same_name_is_not_taken_over(engine):
    engine.create_schema(SCHEMA)
    engine.create_table(Name(SCHEMA, "release"), exp.Select(expressions=[exp.alias_(exp.Literal.number(1), "mine")]))
    if engine.has_constraints:
        with pytest.raises(EngineError, match=r"0003_release\.sql failed"):
            migrate.migrate(engine)
    assert [found.name for found in engine.columns(Name(SCHEMA, "release"))] == ["mine"]


# -- things that go wrong on the way ---------------------------------------------------------------

BROKEN = "CREATE TABLE ppdm.half (a TEXT NOT NULL); CREATE TABLE ppdm.whole AS SELECT b FROM ppdm.nowhere;"
MENDED = "CREATE TABLE ppdm.half (a TEXT NOT NULL); CREATE TABLE ppdm.whole AS SELECT a FROM ppdm.half;"


@pytest.mark.lacks("spark", reason="Spark has no transactions")
def test_a_migration_that_fails_leaves_nothing_of_itself(engine, files):
    (files / f"{NEXT}_broken.sql").write_text(BROKEN)
    with pytest.raises(EngineError, match=rf"{NEXT}_broken\.sql failed"):
        migrate.migrate(engine)
    assert states(engine) == dict.fromkeys(NUMBERS, "applied") | {int(NEXT): "pending"}
    assert not has(engine, "half")


def test_a_migration_that_failed_can_be_run_when_it_is_mended(engine, files):
    """Also without transactions, where its first half already exists."""
    (files / f"{NEXT}_broken.sql").write_text(BROKEN)
    with pytest.raises(EngineError):
        migrate.migrate(engine)
    (files / f"{NEXT}_broken.sql").write_text(MENDED)
    assert migrate.migrate(engine) == [int(NEXT)]
    assert has(engine, "whole")


def test_the_record_and_the_change_are_one(engine, monkeypatch):
    """Killed between the two: the migration counts as not run, and runs again."""

    def killed(*_args, **_more):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(migrate, "append", killed)
        with pytest.raises(KeyboardInterrupt):
            migrate.migrate(engine)
    assert states(engine) == dict.fromkeys(NUMBERS, "pending")
    assert has(engine, "migration") != engine.has_transactions
    assert migrate.migrate(engine) == NUMBERS


# -- two at once -----------------------------------------------------------------------------------


def test_who_comes_second_waits_and_finds_it_done(engine, second):
    outcome: list[object] = []
    thread = threading.Thread(target=lambda: outcome.append(_migrated(second)))
    first = migrate._files()[0]
    with engine.transaction():
        for tree in migrate._statements(engine, first):
            engine.execute(tree)
        thread.start()
        thread.join(0.5)
        assert outcome == []  # it waits for what may still be rolled back
        append(engine, "migration", vars(migrate._Record(1, first.name, first.sha256, migrate.now(), "0")))
    thread.join(20)
    assert outcome == [NUMBERS[1:]]
    assert states(engine) == dict.fromkeys(NUMBERS, "applied")


def test_who_comes_second_takes_over_what_was_given_up(engine, second):
    outcome: list[object] = []
    thread = threading.Thread(target=lambda: outcome.append(_migrated(second)))
    with contextlib.suppress(ZeroDivisionError), engine.transaction():
        for tree in migrate._statements(engine, migrate._files()[0]):
            engine.execute(tree)
        thread.start()
        thread.join(0.3)
        raise ZeroDivisionError
    thread.join(20)
    assert outcome == [NUMBERS]


def _migrated(engine) -> object:
    try:
        return migrate.migrate(engine)
    except BaseException as problem:
        return problem


@pytest.mark.duckdb
def test_many_threads_migrate_once(tmp_path):
    connection = duckdb.connect(str(tmp_path / "clinic.duckdb"))
    engines = [DuckDBEngine(connection.cursor()) for _ in range(4)]
    together = threading.Barrier(len(engines))
    with ThreadPoolExecutor(len(engines)) as pool:
        ran = list(pool.map(lambda engine: (together.wait(), _migrated(engine))[1], engines))
    connection.close()
    assert sorted(number for numbers in ran for number in numbers) == NUMBERS


_PROCESS = """
import sys
from ppdm_sql.catalog import migrate
from ppdm_sql.engines.postgres.engine import PostgresEngine

engine = PostgresEngine.open(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
print(*migrate.migrate(engine))
"""


@pytest.mark.postgres
def test_two_processes_migrate_once(postgres_engine, postgres_url):
    command = [sys.executable, "-c", _PROCESS, postgres_url]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, **pipes) for _ in range(2)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    ran = [process.communicate(timeout=HANGS)[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert sorted(int(number) for numbers in ran for number in numbers) == NUMBERS
    assert states(postgres_engine) == dict.fromkeys(NUMBERS, "applied")


# -- the files themselves --------------------------------------------------------------------------


def test_every_migration_says_why_and_changes_no_row():
    for file in migrate._files():
        assert file.text.startswith("-- "), file.name
        assert not re.search(r"^\s*(UPDATE|DELETE|DROP|TRUNCATE)\b", file.text, re.MULTILINE | re.IGNORECASE), file.name


def test_what_has_been_released_is_never_edited():
    """Databases out there hold these sums.  A change to the catalog is a new file, not another sum here."""
    assert {file.name: file.sha256[:12] for file in migrate._files()} == SUMS


SUMS = {
    "0001_migration.sql": "3f43fea8f3a6",
    "0002_run.sql": "553df40cb9fe",
    "0003_release.sql": "b158ad8b3324",
    "0004_release_state.sql": "590965e6aa64",
    "0005_model.sql": "1ce7c334b965",
    "0006_evaluation.sql": "c0210d4de31e",
    "0007_ledger.sql": "8db0635e3e44",
    "0008_growing.sql": "6fc1ad804629",
    "0009_recoding.sql": "51128734a922",
    "0010_share_round.sql": "ecaadec255d9",
}
