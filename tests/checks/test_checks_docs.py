"""docs/checks.md says what happens."""

from __future__ import annotations

import doctest
import re

import pytest

from ppdm_sql import resources

ROOT = resources.folder("sql").parent


@pytest.mark.duckdb
def test_the_examples_of_the_page(monkeypatch):
    monkeypatch.chdir(ROOT)  # the page opens sql/checks/...
    found = doctest.testfile(str(ROOT / "docs" / "checks.md"), module_relative=False)
    assert found.attempted > 15
    assert found.failed == 0


def test_the_page_lists_every_file_with_its_parameters():
    page = (ROOT / "docs" / "checks.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| `(\w+)` \|.*\| (`.*`) \|$", page, re.MULTILINE))
    files = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "sql" / "checks").glob("*.sql")}
    assert listed.keys() == files.keys()
    for name, text in files.items():
        statement = re.sub("--.*", "", text)
        assert set(re.findall(r"\$\w+", statement)) == set(re.findall(r"\$\w+", listed[name])), name
