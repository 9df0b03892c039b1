"""Transactions and locks of PostgreSQL, and sessions that end or may not write."""

from __future__ import annotations

import contextlib
import threading

import pytest

from ppdm_sql.errors import DatabaseUnavailable, EngineError
from ppdm_sql.statements.names import Name
from tests.engines.small_queries import one, query, rows
from tests.sizes import HANGS

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.postgres


def test_a_transaction_sees_one_state(postgres_engine, opened):
    postgres_engine.create_table(Name("t"), one(1))
    other = opened()
    with postgres_engine.transaction():
        assert rows(postgres_engine, Name("t")) == [(1,)]
        other.pass_through("UPDATE t SET a = 2")
        assert rows(postgres_engine, Name("t")) == [(1,)]
    assert rows(postgres_engine, Name("t")) == [(2,)]


def test_a_change_by_another_session_is_a_conflict(postgres_engine, opened):
    postgres_engine.create_table(Name("t"), one(1))
    other = opened()

    def change():
        with postgres_engine.transaction():
            rows(postgres_engine, Name("t"))
            other.pass_through("UPDATE t SET a = 2")
            postgres_engine.pass_through("UPDATE t SET a = 3")

    with pytest.raises(DatabaseUnavailable, match="another one changed"):
        change()
    assert rows(postgres_engine, Name("t")) == [(2,)]


def test_a_failed_statement_that_was_swallowed_is_no_commit(postgres_engine):
    def swallow():
        with postgres_engine.transaction():
            postgres_engine.create_table(Name("t"), one(1))
            with contextlib.suppress(EngineError):
                postgres_engine.fetch(query("SELECT 1 // 0 AS x"))

    with pytest.raises(EngineError, match="rolled back"):
        swallow()
    assert postgres_engine.relation_kind(Name("t")) is None


def test_a_lock_is_waited_for_and_then_told(postgres_engine, opened):
    postgres_engine.create_table(Name("t"), one(1))
    impatient = opened(lock_timeout=0.2)
    with postgres_engine.transaction():
        postgres_engine.pass_through("LOCK TABLE t IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(DatabaseUnavailable, match="--lock-timeout"):
            impatient.drop_table(Name("t"))
    impatient.drop_table(Name("t"))


def test_two_swaps_at_once_are_one_after_the_other(postgres_engine, opened):
    postgres_engine.create_table(Name("t"), one(0))
    outcomes = []

    def swap(value):
        engine = opened(lock_timeout=HANGS)
        try:
            with engine.transaction():
                engine.drop_table(Name("t"))
                engine.create_table(Name("t"), one(value))
            outcomes.append(value)
        except EngineError as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=swap, args=(value,)) for value in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ((left,),) = rows(postgres_engine, Name("t"))
    assert left in outcomes
    assert len(outcomes) == 2


def test_a_lost_connection_is_told(postgres_engine, postgres_admin):
    ((pid,),) = postgres_engine.pass_through("SELECT pg_backend_pid() AS p").rows
    postgres_admin.execute("SELECT pg_terminate_backend(%s)", (pid,))
    with pytest.raises(
        DatabaseUnavailable, match=r"the server ended this session|the connection to the server was lost"
    ):
        postgres_engine.fetch(one(1))


def test_a_read_only_database_is_noticed_before_any_work(opened, postgres_url):
    url = psycopg.conninfo.make_conninfo(postgres_url, options="-c default_transaction_read_only=on")
    from ppdm_sql.engines.postgres.engine import PostgresEngine

    with PostgresEngine.open(url) as engine:
        assert engine.read_only
        with pytest.raises(EngineError, match="read-only"):
            engine.check_writable()
        with pytest.raises(DatabaseUnavailable, match="read-only"):
            engine.create_table(Name("t"), one(1))
    assert opened(read_only=True).read_only
    assert not opened().read_only


def test_settings_of_the_session(opened):
    engine = opened(settings={"work_mem": "7MB"})
    assert engine.pass_through("SHOW work_mem").rows == [("7MB",)]
    assert engine.pass_through("SHOW timezone").rows == [("UTC",)]
    with pytest.raises(DatabaseUnavailable, match="setting"):
        opened(settings={"work_mem": "CANARY"})
