from __future__ import annotations

from pathlib import Path

import pytest
from hostile import HOSTILE, PLAIN, written
from pages import COLUMNS, people

from ppdm_sql.report import charts
from ppdm_sql.report.svg import embedded
from ppdm_sql.session import Session
from ppdm_sql.watching import silent


@pytest.fixture(scope="session")
def both(tmp_path_factory):
    """The pages of harmless releases, and of hostile ones, by kind and readers."""
    folder = tmp_path_factory.mktemp("hostile")
    return written(PLAIN, folder / "plain"), written(HOSTILE, folder / "hostile")


@pytest.fixture
def undrawn(monkeypatch):
    """Reports whose charts are empty frames: for tests of what is written, because drawing takes most of the time."""
    frame = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>'

    def drawn(chart, key, title, described):
        return embedded(frame, key, title, described)

    monkeypatch.setattr(charts, "_drawn", drawn)


@pytest.fixture
def open_session(tmp_path: Path):
    def opened(engine) -> Session:
        return Session(engine, out=tmp_path, show_values=False, progress=silent)

    return opened


@pytest.fixture
def session(engine, make_table, open_session):
    """A session over table people on each engine."""
    make_table(engine, "people", COLUMNS, people())
    return open_session(engine)


@pytest.fixture
def duck(duckdb_engine, make_table, open_session):
    """The same on DuckDB alone."""
    make_table(duckdb_engine, "people", COLUMNS, people())
    return open_session(duckdb_engine)
