from __future__ import annotations

import pytest
from hostile import HOSTILE, PLAIN, written
from pages import COLUMNS, people

from ppdm_sql.report import charts
from ppdm_sql.report.svg import embed_drawing


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
        return embed_drawing(frame, key, title, described)

    monkeypatch.setattr(charts, "_draw", drawn)


@pytest.fixture
def tables(make_table):
    """Table people, by whatever engine."""

    def filled(engine) -> None:
        make_table(engine, "people", COLUMNS, people())

    return filled
