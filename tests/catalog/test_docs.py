"""docs/catalog.md names every column, and its queries answer as it says, on every engine."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import pytest

from ppdm_sql.catalog import releases, runs
from ppdm_sql.catalog.releases import Check
from ppdm_sql.statements.names import SCHEMA, Name

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "catalog.md").read_text(encoding="utf-8")
QUERIES = re.findall(r"```sql\n(.*?)```\n\n((?:\|[^\n]*\n)+)", PAGE, re.DOTALL)


def check(requirement: str, achieved: str, sensitive: str | None = None) -> Check:
    return Check(requirement, sensitive, requirement.split()[-1], achieved, None, 0, 0, True, "5ha")


@pytest.fixture
def clinic(catalog, a_release, monkeypatch):
    """The database the page shows."""
    clock = [datetime(2026, 3, 27, 1, 30)]
    monkeypatch.setattr(runs, "now", lambda: clock[0])
    former, current = a_release(), a_release()
    wards = a_release(relation_name="wards_open", k_promised=5, sources=("clinic.patients", "clinic.wards"))
    gone = a_release(relation_name="gone", sources=("clinic.wards",))
    releases.record(catalog, former, [check("k = 10", "12"), check("simple_l = 2", "7/3", "diagnosis")])
    releases.record(catalog, current, [check("k = 10", "11")])
    releases.add_event(catalog, former.release_id, "replaced")
    releases.record(catalog, wards, [check("k = 5", "5")])
    releases.record(catalog, gone, [check("k = 10", "10")])
    for release, event in [(current, "exported"), (current, "verified"), (wards, "tampered"), (gone, "dropped")]:
        releases.add_event(catalog, release.release_id, event)
    runs.finish_run(catalog, former.run_id, "published", 0)
    clock[0] = datetime(2026, 3, 28, 1, 30)
    refused = runs.start_run(catalog, "CREATE ...", "nightly.sql")
    message = "patients_open: k = 10 fails in 3 classes (41 rows); nothing was published"
    runs.finish_run(catalog, refused, "refused", 1, message)
    clock[0] = datetime(2026, 3, 29, 1, 30)
    runs.start_run(catalog, "CREATE ...", "nightly.sql")
    return catalog


def test_the_page_has_three_queries():
    assert len(QUERIES) == 3


def test_the_queries_of_the_page_answer_as_it_says(clinic):
    for query, shown in QUERIES:
        head, _, *rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in shown.splitlines()]
        found = clinic.pass_through(query)
        assert list(found.columns) == head
        assert [["" if value is None else str(value) for value in row] for row in found.rows] == rows


def test_the_page_names_every_column_of_every_table(catalog):
    sections = dict(re.findall(r"^### ppdm\.(\w+)\n(.*?)(?=^##)", PAGE, re.DOTALL | re.MULTILINE))
    assert sections.keys() == set(catalog.relations(SCHEMA))
    for table, section in sections.items():
        named = re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\|((?: `\w+`)+)", section, re.MULTILINE)))
        assert sorted(named) == sorted(column.name for column in catalog.columns(Name(SCHEMA, table))), table
