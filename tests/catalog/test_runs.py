"""Runs leave their record, whatever becomes of their work."""

from __future__ import annotations

import contextlib
from datetime import datetime, timedelta

import pytest

from ppdm_sql import __version__
from ppdm_sql.catalog import ledger, releases, runs
from ppdm_sql.errors import EngineError, PolicyError


def test_a_run_is_there_before_it_ends(catalog):
    run_id = runs.start_run(catalog, "SELECT 1", "open.sql")
    (run,) = runs.recent(catalog)
    assert (run.run_id, run.statement, run.file, run.version) == (run_id, "SELECT 1", "open.sql", __version__)
    assert (run.state, run.exit_code, run.message) == ("started", None, None)


def test_a_run_ends_in_its_last_state(catalog):
    for state, code in [("published", 0), ("done", 0), ("refused", 1), ("failed", 3)]:
        run_id = runs.start_run(catalog, "SELECT 1")
        runs.finish_run(catalog, run_id, state, code, "3 classes below k")
        run = runs.recent(catalog)[0]
        assert (run.state, run.exit_code, run.message, run.file) == (state, code, "3 classes below k", None)


def test_a_run_cannot_end_otherwise(catalog):
    run_id = runs.start_run(catalog, "SELECT 1")
    with pytest.raises(ValueError, match="started"):
        runs.finish_run(catalog, run_id, "started", 0)


@pytest.mark.lacks("spark", reason="Spark holds no foreign keys")
def test_only_a_run_that_started_can_end(catalog):
    with pytest.raises(EngineError):
        runs.finish_run(catalog, "nobody", "failed", 3)


@pytest.mark.lacks("spark", reason="Spark has no transactions")
def test_the_record_outlives_the_work_that_was_rolled_back(catalog, a_release):
    run_id = runs.start_run(catalog, "CREATE TABLE ...")
    with contextlib.suppress(ZeroDivisionError), ledger.lock_ledger(catalog):
        releases.record(catalog, a_release(run_id=run_id))
        raise ZeroDivisionError
    runs.finish_run(catalog, run_id, "refused", 1, "k")
    assert releases.list_releases(catalog, include_gone=True) == []
    assert runs.recent(catalog)[0].state == "refused"


@pytest.mark.lacks("spark", reason="Spark has no transactions")
def test_a_run_is_not_noted_inside_the_work_it_must_outlive(catalog):
    run_id = runs.start_run(catalog, "SELECT 1")
    for call in (lambda: runs.start_run(catalog, "x"), lambda: runs.finish_run(catalog, run_id, "failed", 3)):
        with pytest.raises(EngineError, match="transaction"), catalog.transaction():
            call()


def test_order_does_not_follow_a_clock_that_goes_back(catalog, monkeypatch):
    clock = iter(datetime(2026, 3, 29, 12) - timedelta(hours=hours) for hours in range(100))
    monkeypatch.setattr(runs, "now", lambda: next(clock))
    ids = [runs.start_run(catalog, f"SELECT {number}") for number in range(3)]
    runs.finish_run(catalog, ids[1], "refused", 1)
    runs.finish_run(catalog, ids[1], "published", 0)
    found = runs.recent(catalog)
    assert [run.run_id for run in found] == ids[::-1]
    assert [run.state for run in found] == ["started", "published", "started"]
    assert found[1].changed_at < found[1].started_at  # the clock did go back


def test_recent_is_cut_at_the_limit(catalog):
    ids = [runs.start_run(catalog, "SELECT 1") for _ in range(3)]
    assert [run.run_id for run in runs.recent(catalog, limit=2)] == [ids[2], ids[1]]


def test_text_comes_back_to_the_letter(catalog, hostile):
    for text in hostile:
        run_id = runs.start_run(catalog, text, text)
        runs.finish_run(catalog, run_id, "failed", 3, text)
        run = runs.recent(catalog, limit=1)[0]
        assert (run.run_id, run.statement, run.file, run.message) == (run_id, text, text, text)


def test_text_no_engine_can_store_is_refused_without_showing_it(catalog):
    for text, why in [("secret\0", "NUL"), ("secret\ud83e", "surrogate")]:
        with pytest.raises(PolicyError, match=why) as refusal:
            runs.start_run(catalog, text)
        assert "ppdm.run.statement" in str(refusal.value)
        assert "secret" not in str(refusal.value)
    assert runs.recent(catalog) == []
