"""The mutators change one place, and only where a change can mean something."""

from __future__ import annotations

import pytest
import sqlglot

from tests.mutants import sql
from tests.mutants.targets import ROOT, TARGETS, belonging_tests, files


def test_every_target_has_files_and_tests():
    for target in TARGETS:
        assert target.paths(), target.name
        assert belonging_tests(target) == list(target.tests), target.name
    assert "ppdm_sql/verify/same_model.py" in files()


@pytest.mark.parametrize("path", [path for path in files() if path.endswith(".sql")])
def test_a_changed_statement_still_parses_and_differs(path):
    text = (ROOT / path).read_text(encoding="utf-8")
    for mutant in sql.mutants(ROOT, path):
        assert mutant.code != text
        assert mutant.diff(ROOT).count("\n") == 1  # one line, before and after
        assert sqlglot.parse_one(mutant.code, dialect="duckdb")


def test_python_is_changed_in_one_place():
    pytest.importorskip("cosmic_ray", reason="make mutants installs cosmic-ray")
    from tests.mutants import python

    path = "ppdm_sql/statements/names.py"
    found = list(python.mutants(ROOT, path))
    assert any(mutant.is_comparison for mutant in found)
    for mutant in found[:5]:
        assert python.made(ROOT, mutant).diff(ROOT).count("\n") == 1
